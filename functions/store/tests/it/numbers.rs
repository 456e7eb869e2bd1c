//! Numbers: exact to 38 digits on their way through the table.

use oncehook_core::{decimal::Decimal, plan::Attr};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};

use crate::{
    builders::{Build, apply, event, rule, set},
    support::World,
};

/// JSON numbers that DynamoDB can hold, in many notations.
fn numbers() -> impl Strategy<Value = String> {
    let digits = prop_oneof!["[1-9][0-9]{0,37}", "0", "[1-9][0-9]{0,9}0{0,20}"];
    (any::<bool>(), digits, 0_usize..=38, -90_i32..=80).prop_map(|(negative, digits, point, exponent)| {
        let sign = if negative { "-" } else { "" };
        match digits.split_at_checked(point) {
            Some((whole, fraction)) if !whole.is_empty() && !fraction.is_empty() => {
                format!("{sign}{whole}.{fraction}e{exponent}")
            }
            _ => format!("{sign}{digits}E{exponent}"),
        }
    })
}

#[tokio::test]
async fn a_number_that_is_set_comes_back_with_its_exact_value() {
    let world = World::with_account().await;
    let mut runner = TestRunner::default();
    let mut texts: Vec<String> = (0..60)
        .map(|_| numbers().new_tree(&mut runner).unwrap().current())
        .collect();
    texts.extend(
        [
            "9007199254740993",
            "-0",
            "99999999999999999999999999999999999999",
            "1e125",
            "-1e-130",
            "0.1",
        ]
        .map(str::to_owned),
    );
    for (index, text) in texts.iter().enumerate() {
        let number = Decimal::parse(text).unwrap();
        let update = set("cus_1", "number", Attr::N(number.clone()));
        let event = event(&format!("evt_{index}"));
        world.new_record(&event, &apply([rule("r").update(update)])).await;
        let account = world.account("cus_1").await.unwrap();
        let stored = account["number"].as_n().unwrap();
        assert_eq!(Decimal::parse(stored).unwrap(), number, "{text} as {stored}");
    }
}
