//! Conditions of rules on the user's rows, and what one transaction can hold.

use oncehook_core::{
    decide::Decision,
    plan::{Attr, OnCondition, Plan, PlanError, Update},
};
use oncehook_store::{CommitError, Outcome};

use crate::{
    builders::{Build, add, add_if, apply, event, n, plan, row, rule, s, set},
    support::World,
};

#[tokio::test]
async fn a_condition_that_holds_lets_the_rule_apply() {
    let world = World::with_account().await;
    let decision = apply([rule("credit").update(add_if(0, OnCondition::Fail))]);
    let record = world.new_record(&event("evt_1"), &decision).await;
    assert_eq!(record.outcome, Outcome::Applied);
    assert_eq!(world.balance().await, 5);
}

#[tokio::test]
async fn fail_keeps_the_event_as_failed_and_applies_no_rule() {
    let world = World::with_account().await;
    let decision = apply([
        rule("credit").update(add_if(1, OnCondition::Fail)),
        rule("mail").effect("mail"),
    ]);
    let record = world.new_record(&event("evt_1"), &decision).await;
    assert_eq!(record.outcome, Outcome::Failed);
    assert!(record.reason.unwrap().contains("customer_id=cus_1"));
    assert_eq!(world.balance().await, 0);
    assert_eq!(world.everything().await.len(), 1);
}

#[tokio::test]
async fn skip_leaves_out_the_rule_and_applies_the_rest() {
    let world = World::with_account().await;
    let decision = apply([
        rule("credit")
            .once("a")
            .update(add_if(1, OnCondition::Skip))
            .effect("app"),
        rule("mail").effect("mail"),
    ]);
    let record = world.new_record(&event("evt_1"), &decision).await;
    assert_eq!(record.outcome, Outcome::Applied);
    assert!(record.rules[0].skipped.is_some());
    assert_eq!(record.wakeups.len(), 1);
    assert_eq!(record.wakeups[0].destination, "mail");
    assert_eq!(world.balance().await, 0);
    assert_eq!(world.find("once#a", "once").await, None);
}

#[tokio::test]
async fn retry_writes_nothing_and_asks_for_another_delivery() {
    let world = World::with_account().await;
    let decision = apply([
        rule("credit").update(add_if(5, OnCondition::Retry)),
        rule("mail").effect("mail"),
    ]);
    let result = world.commit(&event("evt_1"), &decision).await;
    assert!(matches!(result, Err(CommitError::NotNow(_))), "{result:?}");
    assert!(world.everything().await.is_empty());
    let first = apply([rule("first").update(add("cus_1", 5))]);
    world.new_record(&event("evt_0"), &first).await;
    world.new_record(&event("evt_1"), &decision).await;
    assert_eq!(world.balance().await, 10);
}

#[tokio::test]
async fn retry_beats_fail_and_fail_beats_skip() {
    let world = World::with_account().await;
    let unmet = |on_condition| Update {
        on_condition,
        ..add("nobody", 1)
    };
    let skip = || {
        rule("a").update(Update {
            on_condition: OnCondition::Skip,
            ..add("noone", 1)
        })
    };
    let fail = apply([skip(), rule("b").update(unmet(OnCondition::Fail))]);
    let record = world.new_record(&event("evt_1"), &fail).await;
    assert_eq!(record.outcome, Outcome::Failed);
    let missing = |name: &str, on| Update {
        on_condition: on,
        ..add(name, 1)
    };
    let retry = apply([
        skip(),
        rule("b").update(missing("nobody", OnCondition::Fail)),
        rule("c").update(missing("never", OnCondition::Retry)),
    ]);
    let result = world.commit(&event("evt_2"), &retry).await;
    assert!(matches!(result, Err(CommitError::NotNow(_))), "{result:?}");
}

#[tokio::test]
async fn a_row_that_must_exist_is_never_created() {
    let world = World::new().await;
    let decision = apply([rule("credit").update(add("cus_9", 5))]);
    let record = world.new_record(&event("evt_1"), &decision).await;
    assert_eq!(record.outcome, Outcome::Failed);
    assert_eq!(world.account("cus_9").await, None);
    let free = Update {
        must_exist: false,
        ..add("cus_9", 5)
    };
    let record = world
        .new_record(&event("evt_1"), &apply([rule("credit").update(free)]))
        .await;
    assert_eq!(record.outcome, Outcome::Applied);
    assert_eq!(n(&world.account("cus_9").await.unwrap(), "balance"), 5);
}

#[tokio::test]
async fn an_update_sets_adds_and_removes_whatever_the_attributes_are_called() {
    let world = World::with_account().await;
    let first = Update {
        set: [
            ("status".to_owned(), Attr::S("active".to_owned())),
            ("a.b c".to_owned(), Attr::Null),
            ("list".to_owned(), Attr::L(vec![Attr::Bool(true)])),
        ]
        .into(),
        add: [("count".to_owned(), 3.into())].into(),
        ..row("cus_1")
    };
    world
        .new_record(&event("evt_1"), &apply([rule("r").update(first)]))
        .await;
    let account = world.account("cus_1").await.unwrap();
    assert_eq!(
        (s(&account, "status").as_str(), n(&account, "count")),
        ("active", 3)
    );
    assert!(account["a.b c"].is_null());
    let second = Update {
        add: [("count".to_owned(), (-4).into())].into(),
        remove: vec!["status".to_owned(), "a.b c".to_owned()],
        ..row("cus_1")
    };
    world
        .new_record(&event("evt_2"), &apply([rule("r").update(second)]))
        .await;
    let account = world.account("cus_1").await.unwrap();
    assert_eq!(n(&account, "count"), -1);
    assert!(!account.contains_key("status") && !account.contains_key("a.b c"));
}

#[tokio::test]
async fn updates_of_one_row_by_two_rules_are_merged_into_one_action() {
    let world = World::with_account().await;
    let plan = plan([
        rule("credit").update(add("cus_1", 5)),
        rule("note").update(set("cus_1", "note", Attr::S("paid".to_owned()))),
    ]);
    let decision = Decision::Apply(plan.combined().unwrap());
    let record = world.new_record(&event("evt_1"), &decision).await;
    assert_eq!(record.rules.len(), 2);
    let account = world.account("cus_1").await.unwrap();
    assert_eq!(
        (n(&account, "balance"), s(&account, "note").as_str()),
        (5, "paid")
    );
}

#[test]
fn one_row_under_a_guard_and_without_it_is_refused() {
    let refused = |plan: Plan| matches!(plan.combined(), Err(PlanError::SameRow { .. }));
    let note = || rule("note").update(set("cus_1", "note", Attr::Null));
    assert!(refused(plan([
        rule("credit").once("a").update(add("cus_1", 5)),
        note()
    ])));
    assert!(refused(plan([
        note(),
        rule("credit").update(add_if(1, OnCondition::Fail))
    ])));
    assert!(refused(plan([note(), note()])));
    assert!(refused(plan([rule("a").once("k"), rule("b").once("k")])));
}

#[tokio::test]
async fn ninety_actions_fit_and_one_more_is_refused() {
    let world = World::new().await;
    let many = |count: usize| plan((0..count).map(|index| rule(&format!("r{index}")).effect("m")));
    let refused = many(91).combined();
    assert!(matches!(refused, Err(PlanError::TooManyActions { actions: 91 })));
    let decision = Decision::Apply(many(90).combined().unwrap());
    let record = world.new_record(&event("evt_1"), &decision).await;
    assert_eq!(record.wakeups.len(), 90);
}

#[tokio::test]
async fn two_actions_on_one_row_that_nobody_combined_fail_the_event() {
    let world = World::with_account().await;
    let decision = apply([
        rule("a").newer("x", 1).newer("x", 2),
        rule("b").effect("mail").effect("mail"),
    ]);
    let record = world.new_record(&event("evt_1"), &decision).await;
    assert_eq!(record.outcome, Outcome::Failed);
}

#[tokio::test]
async fn an_update_that_changes_nothing_is_a_check() {
    let world = World::with_account().await;
    let check = |least| {
        let mut update = add_if(least, OnCondition::Fail);
        update.add.clear();
        apply([rule("credit").update(update).effect("mail")])
    };
    let met = world.new_record(&event("evt_1"), &check(0)).await;
    assert_eq!((met.outcome, met.wakeups.len()), (Outcome::Applied, 1));
    let unmet = world.new_record(&event("evt_2"), &check(1)).await;
    assert_eq!((unmet.outcome, unmet.wakeups.len()), (Outcome::Failed, 0));
    assert_eq!(world.balance().await, 0);
}

#[tokio::test]
async fn placeholders_of_a_condition_never_meet_ours() {
    let world = World::with_account().await;
    let mut update = add_if(0, OnCondition::Fail);
    let condition = update.condition.as_mut().unwrap();
    condition.expression = "attribute_not_exists(#oh0) AND :oh0 = :oh0".to_owned();
    condition.values = [("oh0".to_owned(), Attr::N(7.into()))].into();
    let record = world
        .new_record(&event("evt_1"), &apply([rule("credit").update(update)]))
        .await;
    assert_eq!(record.outcome, Outcome::Applied, "{:?}", record.reason);
    assert_eq!(world.balance().await, 5);
}
