//! The seven scenes. Each says what happens, does it, and checks what is then true.

use std::time::Duration;

use futures_util::future::join_all;
use oncehook_local::behaviour::Behaviour;
use serde_json::{Value, json};

use super::stage::{Answer, Stage};

/// The invoice that the first three scenes are about.
const INVOICE: &str = "evt_demo_invoice";

/// An `invoice.payment_succeeded` as Stripe sends it, cut to what rules look at.
fn invoice(id: &str, customer: &str, amount: i64) -> Value {
    json!({
        "id": id, "object": "event", "type": "invoice.payment_succeeded", "created": 1_700_000_000, "livemode": false,
        "data": {"object": {
            "id": format!("in_{id}"), "object": "invoice", "customer": customer,
            "customer_email": format!("{customer}@example.com"), "amount_paid": amount, "currency": "usd"
        }}
    })
}

fn subscription(id: &str, created: i64, status: &str) -> Value {
    json!({
        "id": id, "object": "event", "type": "customer.subscription.updated", "created": created, "livemode": false,
        "data": {"object": {
            "id": "sub_demo", "object": "subscription", "status": status,
            "metadata": {"organization_id": "org_demo"}
        }}
    })
}

fn all_accepted(answers: &[Answer]) -> usize {
    answers
        .iter()
        .filter(|answer| (200..300).contains(&answer.status))
        .count()
}

pub(super) async fn concurrent(stage: &mut Stage) -> anyhow::Result<()> {
    stage.scene(1, "Eight deliveries of one payment of 5000, all at once.");
    let request = stage.signed(&invoice(INVOICE, "cus_demo", 5000), 0)?;
    let answers: Vec<Answer> = join_all((0..8).map(|_| stage.post(&request)))
        .await
        .into_iter()
        .collect::<Result<_, _>>()?;
    stage.check("answers 2xx", all_accepted(&answers), 8);
    let fresh = answers.iter().filter(|answer| !answer.replayed).count();
    stage.check("answers that applied it", fresh, 1);
    stage.check(
        "answers that repeat the first",
        answers.iter().filter(|answer| answer.replayed).count(),
        7,
    );
    stage.check("different answer bodies", distinct(&answers), 1);
    stage.check(
        "balance (not 40000)",
        stage.balance("cus_demo").await?,
        "5000".to_owned(),
    );
    stage.settle("the receipt", 1).await?;
    stage.check("receipts at the mail API", stage.mails_to("cus_demo"), 1);
    Ok(())
}

fn distinct(answers: &[Answer]) -> usize {
    answers
        .iter()
        .map(|answer| answer.body.as_str())
        .collect::<std::collections::BTreeSet<_>>()
        .len()
}

pub(super) async fn redelivered(stage: &mut Stage) -> anyhow::Result<()> {
    stage.scene(2, "Later the provider delivers it again, freshly signed.");
    let request = stage.signed(&invoice(INVOICE, "cus_demo", 5000), 2)?;
    let answer = stage.post(&request).await?;
    stage.check("status", answer.status, 200);
    stage.check("Oncehook-Replayed", answer.replayed, true);
    stage.check(
        "balance, unchanged",
        stage.balance("cus_demo").await?,
        "5000".to_owned(),
    );
    stage.check("receipts, unchanged", stage.mails_to("cus_demo"), 1);
    Ok(())
}

pub(super) async fn forged(stage: &mut Stage) -> anyhow::Result<()> {
    stage.scene(
        3,
        "Somebody else's signature, a changed amount, a request of yesterday.",
    );
    let before = stage.stored().await?;
    let payload = invoice("evt_demo_forged", "cus_demo", 999_999);
    let forged = stage.forged(&payload)?;
    stage.check("forged", stage.post(&forged).await?.status, 401);
    let mut tampered = stage.signed(&invoice("evt_demo_tampered", "cus_demo", 5000), 0)?;
    tampered.body = String::from_utf8_lossy(&tampered.body)
        .replace("5000", "9000")
        .into_bytes()
        .into();
    stage.check("tampered", stage.post(&tampered).await?.status, 401);
    let stale = stage.signed(&payload, -24 * 3600)?;
    stage.check("stale", stage.post(&stale).await?.status, 401);
    stage.check("events stored, unchanged", stage.stored().await?, before);
    stage.check(
        "balance, unchanged",
        stage.balance("cus_demo").await?,
        "5000".to_owned(),
    );
    Ok(())
}

pub(super) async fn out_of_order(stage: &mut Stage) -> anyhow::Result<()> {
    stage.scene(
        4,
        "A subscription is cancelled; the older event that it is active arrives afterwards.",
    );
    let newer = stage.signed(&subscription("evt_demo_newer", 1_700_000_200, "canceled"), 0)?;
    stage.check(
        "the newer one",
        stage.post(&newer).await?.outcome,
        "applied".to_owned(),
    );
    let older = stage.signed(&subscription("evt_demo_older", 1_700_000_100, "active"), 0)?;
    stage.check(
        "the older one",
        stage.post(&older).await?.outcome,
        "skipped".to_owned(),
    );
    let status = stage.row("organizations", "organization_id", "org_demo").await?;
    stage.check(
        "status of the organization",
        status["status"].clone(),
        json!("canceled"),
    );
    let why = stage.why_skipped("evt_demo_older").await?;
    stage.say(&format!("it says why: {why}"));
    stage.check("the reason names the newer one", why.contains("newer"), true);
    Ok(())
}

pub(super) async fn lost_answer(stage: &mut Stage) -> anyhow::Result<()> {
    stage.scene(
        5,
        "The mail API sends the mail, then the connection breaks before it answers.",
    );
    stage.mail().next(Behaviour::AcceptAndDrop);
    let request = stage.signed(&invoice("evt_demo_lost", "cus_lost", 700), 0)?;
    stage.check("status", stage.post(&request).await?.status, 200);
    stage.say("waiting for the retry (a few seconds) ...");
    stage.settle("the retry", 2).await?;
    let keys = stage.keys_to("cus_lost");
    stage.check("calls for this receipt", keys.len(), 2);
    stage.check(
        "different idempotency keys",
        keys.iter().collect::<std::collections::BTreeSet<_>>().len(),
        1,
    );
    stage.check("mails sent", stage.mails_to("cus_lost"), 1);
    Ok(())
}

pub(super) async fn killed(stage: &mut Stage) -> anyhow::Result<()> {
    stage.scene(
        6,
        "The process is killed right after the commit, before the wake-up.",
    );
    stage.restart(true).await?;
    let request = stage.signed(&invoice("evt_demo_killed", "cus_killed", 300), 0)?;
    match stage.post(&request).await {
        Ok(answer) => stage.say(&format!("the answer {} still came through", answer.status)),
        Err(_) => stage.say("no answer came"),
    }
    let how = stage.wait_for_death(Duration::from_secs(10)).await?;
    stage.check("ended by", how, "signal 9".to_owned());
    stage.check("receipts so far", stage.mails_to("cus_killed"), 0);
    stage.say("starting it again ...");
    stage.restart(false).await?;
    stage.settle("the receipt", 3).await?;
    stage.check("receipts after the restart", stage.mails_to("cus_killed"), 1);
    stage.check("balance", stage.balance("cus_killed").await?, "300".to_owned());
    let again = stage.post(&request).await?;
    stage.check(
        "the provider's retry",
        (again.status, again.replayed),
        (200, true),
    );
    stage.check(
        "balance, unchanged",
        stage.balance("cus_killed").await?,
        "300".to_owned(),
    );
    Ok(())
}

pub(super) async fn mended(stage: &mut Stage) -> anyhow::Result<()> {
    stage.scene(
        7,
        "A rule looks for a field that is not there. It is mended, and the provider delivers again.",
    );
    stage.configure("/data/object/customer\"", "/data/object/customer_number\"")?;
    stage.restart(false).await?;
    let payload = invoice("evt_demo_broken", "cus_mended", 4200);
    let answer = stage.post(&stage.signed(&payload, 0)?).await?;
    stage.check("status (the event is safe)", answer.status, 200);
    stage.check("outcome", answer.outcome, "failed".to_owned());
    let why = stage.reason("evt_demo_broken").await?;
    stage.say(&format!("it says why: {why}"));
    stage.check(
        "the reason names the field",
        why.contains("customer_number"),
        true,
    );
    stage.configure("/data/object/customer_number\"", "/data/object/customer\"")?;
    stage.restart(false).await?;
    let again = stage.post(&stage.signed(&payload, 0)?).await?;
    stage.check(
        "outcome after the rule was mended",
        again.outcome,
        "applied".to_owned(),
    );
    stage.check("balance", stage.balance("cus_mended").await?, "4200".to_owned());
    stage.settle("the receipt", 4).await?;
    stage.check("receipts", stage.mails_to("cus_mended"), 1);
    Ok(())
}
