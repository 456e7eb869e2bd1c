"""What must hold when something fails, is lost or is changed underneath: each a step that returns what it observed."""

import json

from service import SECOND, invoice, is_200, noise
from steps import check, eventually
from transformations import ONLY_HERE

MINUTE, HOUR = 60, 3600


def retried(s):
    s.destination.answer_next(503)
    s.post(invoice("evt_10", "cus_10"))
    eventually(lambda: s.done("evt_10"), 45, "the second try")
    first, second = s.destination.about("cus_10@")
    check((first.answered, second.answered) == (503, 200), f"{first.answered}, {second.answered}")
    key = "idempotency-key"
    check(first.headers[key] == second.headers[key], "another key")
    return "503, then 200 by a delayed wake-up, under the same key"


def dead_letter(s):
    """The database refuses every claim: the wake-up comes back until SQS puts it away. The item stays."""
    url = s.stack.outputs["DeadLettersUrl"]
    with s.visibility(1), s.forbidden("Drain", "dynamodb:UpdateItem", s.arn("Table")):
        s.post(invoice("evt_11", "cus_11"))
        # A look leaves it there for the next one at once.
        message = eventually(
            lambda: s.sqs.receive_message(QueueUrl=url, VisibilityTimeout=0, AttributeNames=["All"]).get("Messages"),
            60,
            "the message in the dead-letter queue",
        )[0]
    check("evt_11" in message["Body"], message["Body"])
    (item,) = s.outbox("evt_11")
    check(item["state"] == "open" and not s.destination.about("cus_11@"), f"{item}")
    return "refused by the database until it lay there; its item is open, nothing was called"


def forgotten(s):
    """Nobody wakes these: of one the message is dead, of two none was ever sent. The clock does."""
    with s.forbidden("Ingest", ["sqs:SendMessage", ONLY_HERE], s.arn("Queue")):
        answers = [s.post(invoice("evt_12", "cus_12")), s.post(invoice("evt_13", "cus_13", note=noise()))]
    check([answer.status for answer in answers] == [200, 200], f"{answers}")
    check(not s.destination.about("cus_12@"), "somebody woke it")
    s.make_older("evt_11", 10 * MINUTE)
    s.make_older("evt_12", 10 * MINUTE)
    s.make_older("evt_13", 13 * HOUR)
    if not s.done("evt_3"):
        s.make_older("evt_3", 10 * MINUTE)
    ids = ("evt_3", "evt_11", "evt_12", "evt_13")
    eventually(lambda: all(s.done(id) for id in ids), 140, f"the receipts of {ids}")
    calls = [len(s.destination.about(f"cus_{id[4:]}@")) for id in ids]
    check(calls == [1, 1, 1, 1], f"{calls} calls")
    (long_due,) = s.outbox("evt_13")
    check(long_due.get("kept") is True, f"not kept: {long_due}")
    eventually(lambda: "expires_at" in s.record("evt_13"), 10, "the event that expires again")
    check(s.record("evt_13")["body_at"].startswith("bodies/"), "its body does not expire")
    check(s.bodies("evt_13", "kept/") == [True], "the body that was kept meanwhile is not released")
    return (
        "the schedule's own sweep woke all; one call each; the event of the oldest was kept with its large body, and let go "
        "once done"
    )


def operated(s):
    """A person looks and acts, with a body that lies in the bucket."""
    s.destination.answer_next(422)
    note = noise()
    s.post(invoice("evt_34", "cus_34", note=note))
    (dead,) = eventually(lambda: [item for item in s.outbox("evt_34") if item["state"] == "dead"], 30, "the dead item")
    check(s.bodies("evt_34", "kept/") == [False], "its body would expire")
    listed = json.loads(s.operate("outbox", "--state", "dead", "--json"))
    check([item["event"] for item in listed] == ["evt_34"], f"{listed}")
    check(note in s.operate("show", "evt_34", "--body"), "the body is not shown")
    s.operate("outbox", "retry", "--event", "evt_34", "--yes", "--reason", "the address is right now")
    (done,) = eventually(lambda: s.done("evt_34"), 30, "the receipt")
    check("the address is right now" in str(done["acts"]), f"{done}")
    first, second = s.destination.about("cus_34@")
    check(first.headers["idempotency-key"] == second.headers["idempotency-key"] == dead["idempotency_key"], "another key")
    eventually(lambda: s.bodies("evt_34", "kept/") == [True], 10, "its body released")
    check(s.record("evt_7")["outcome"] == "failed", "there is no failed event")
    s.operate("events", "replay", "--failed", "--yes")
    check(s.record("evt_7")["outcome"] == "applied", "the failed event was not applied")
    return "listed, shown, retried under its key with the reason recorded; a failed event replayed"


def rotated(s):
    s.secrets("set", "stripe", given=SECOND)
    check(s.post(invoice("evt_14", "cus_14"), secret=s.secret).status == 200, "the old secret is refused already")
    new = eventually(lambda: is_200(s.post(invoice("evt_15", "cus_15"), secret=SECOND)), 80, "the new secret accepted")
    check(new.outcome == "applied", f"{new}")
    old = s.post(invoice("evt_16", "cus_16"), secret=s.secret)
    check(old.status == 200, f"the old secret beside the new one: {old}")
    s.secret = SECOND
    s.secrets("drop", "stripe", "--older")
    return "new and old accepted side by side, without a deployment; then the old one is dropped"
