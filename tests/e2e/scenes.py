"""What must hold of the deployed service, each as a step that returns what it observed.

The order matters: later steps look at what earlier ones left.
"""

import json
from concurrent.futures import ThreadPoolExecutor

import trouble
from service import FIRST, SECOND, event, invoice, is_200, noise
from steps import check, eventually

MAIL, APP = "re_of_e2e", "whsec_dGhlIHNlY3JldCBvZiB0aGUgdGVzdA=="
# Parts of what no log may hold: the secrets, a signature, a body.
HIDDEN = (FIRST, SECOND, MAIL, APP.removeprefix("whsec_"), ",v1=", "@example.com")


def without_secrets(s):
    answer = s.post(invoice("evt_early", "cus_early"), secret=FIRST)
    check(answer.status == 503 and answer.retry_after, f"{answer}")
    check(not s.items(), "something was written")
    return f"503 with Retry-After {answer.retry_after}, nothing written"


def first_secrets(s):
    for name, value in (("mail", MAIL), ("app", APP), ("stripe", FIRST)):
        said = s.secrets("set", name, given=value)
        check(value not in said, "it shows the secret")
    s.secret = FIRST
    answer = eventually(lambda: is_200(s.post(invoice("evt_1", "cus_1"))), 20, "a request that is verified")
    check(answer.outcome == "applied", f"{answer}")
    return "the running functions read them; the first event is applied"


def applied(s):
    answer = s.post(invoice("evt_2", "cus_2"))
    check((answer.status, answer.outcome, answer.replayed) == (200, "applied", False), f"{answer}")
    check(json.loads(answer.body) == {"credited": 4900}, answer.body)
    check(s.balance("cus_2") == 4900, f"balance {s.balance('cus_2')}")
    return f"200 {answer.body}, balance {s.balance('cus_2')}"


def delivered(s):
    eventually(lambda: s.destination.about("cus_2@"), 20, "the receipt")
    (call,) = s.destination.about("cus_2@")
    key = call.headers.get("idempotency-key", "")
    check(key, f"no key: {call.headers}")
    check(call.headers.get("authorization") == f"Bearer {MAIL}", "not the secret of the parameter")
    (item,) = eventually(lambda: s.done("evt_2"), 10, "the outbox item done")
    check(item["idempotency_key"] == key, f"{item}")
    return f"one call with key {key[:12]}.. and the secret of the parameter; its item is done"


def duplicate(s):
    answer = s.post(invoice("evt_2", "cus_2"))
    check((answer.status, answer.replayed) == (200, True), f"{answer}")
    check(json.loads(answer.body) == {"credited": 4900}, answer.body)
    check(s.balance("cus_2") == 4900, f"balance {s.balance('cus_2')}")
    return f"200 {answer.body} replayed, balance still {s.balance('cus_2')}"


def race(s):
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: s.post(invoice("evt_3", "cus_3")), range(6)))
    check(all(answer.status == 200 for answer in answers), f"{answers}")
    fresh = sum(not answer.replayed for answer in answers)
    check((fresh, s.balance("cus_3")) == (1, 4900), f"{fresh} fresh, balance {s.balance('cus_3')}")
    # Six cold starts at once may take longer than ingest has for its wake-up: then the sweep delivers.
    check(len(s.destination.about("cus_3@")) <= 1, "more than one receipt")
    return "1 applied, 5 replayed, balance 4900"


def refused(s):
    before = len(s.items())
    statuses = {
        "wrong secret": s.post(invoice("evt_forged", "cus_2"), secret="whsec_of_somebody").status,
        "stale": s.post(invoice("evt_stale", "cus_2"), age=600).status,
        "unknown source": s.post(invoice("evt_lost", "cus_2"), source="nobody").status,
        "GET": s.post(invoice("evt_get", "cus_2"), method="GET").status,
    }
    expected = {"wrong secret": 401, "stale": 401, "unknown source": 404, "GET": 405}
    check(statuses == expected, f"{statuses}")
    check(len(s.items()) == before, "something was written")
    return ", ".join(f"{what} {status}" for what, status in statuses.items()) + ", nothing written"


def encoded(s):
    answer = s.post(invoice("evt_4", "cus_4"), content_type="application/octet-stream")
    check((answer.status, answer.outcome) == (200, "applied"), f"{answer}")
    eventually(lambda: s.done("evt_4"), 20, "the receipt")
    return "a body that the gateway hands over in base64 is applied"


def other_rules(s):
    subscription = event(
        "evt_5",
        "customer.subscription.updated",
        id="sub_1",
        status="active",
        metadata={"organization_id": "org_1"},
        items={"data": [{"price": {"id": "price_pro"}}]},
    )
    refund = {"customer": "cus_2", "metadata": {"organization_id": "org_1"}}
    fits = event("evt_6", "charge.refunded", id="ch_1", amount_refunded=100, **refund)
    too_much = event("evt_7", "charge.refunded", id="ch_2", amount_refunded=10_000, **refund)
    nobodys = event("evt_8", "product.created", id="prod_1")
    outcomes = [s.post(payload).outcome for payload in (subscription, fits, too_much, nobodys)]
    check(outcomes == ["applied", "applied", "failed", "ignored"], f"{outcomes}")
    (row,) = s.items("OrganizationsTableName")
    check((row["status"], row["plan"]) == ("active", "price_pro"), f"{row}")
    return "subscription applied, condition held, condition failed (kept as failed), no rule (ignored)"


def forwarded(s):
    payload = event("evt_9", "customer.created", id="cus_9", email="nine@example.com")
    check(s.post(payload).outcome == "applied", "not applied")
    (call,) = eventually(lambda: s.destination.about("nine@example.com"), 20, "the forwarded event")
    check(call.body == json.dumps(payload).encode(), "other bytes than those received")
    check(call.path == "/events" and call.headers.get("webhook-signature"), f"{call.path} {call.headers}")
    return f"the exact {len(call.body)} bytes, signed, at its own endpoint"


def large(s):
    """Bodies that no item of the table could hold: forwarded, and failed until the row is as the rule wants it."""
    payload = event("evt_31", "customer.created", id="cus_31", email="thirtyone@example.com", note=noise())
    check([s.post(payload).outcome for _ in range(2)] == ["applied", "applied"], "not applied")
    (call,) = eventually(lambda: s.destination.about("thirtyone@example.com"), 20, "the forwarded event")
    check(call.body == json.dumps(payload).encode(), "other bytes than those received")
    check(s.bodies("evt_31", "bodies/") == [False], "not one object")
    refund = {"amount_refunded": 10_000, "customer": "cus_2", "metadata": {"organization_id": "org_1"}, "note": noise()}
    refunded = event("evt_32", "charge.refunded", id="ch_3", **refund)
    check(s.post(refunded).outcome == "failed", "the condition held")
    check(s.bodies("evt_32", "kept/") == [False], "its body would expire")
    s.post(invoice("evt_33", "cus_2", 10_000))
    check(s.post(refunded).outcome == "applied", "not applied once the condition holds")
    check(s.bodies("evt_32", "kept/") == [True], "the body of the failed event is kept for ever")
    return f"{len(call.body)} bytes forwarded from the bucket, one object for two deliveries; a failed event's is released once it is applied"


def logged(s):
    """Everything that the functions wrote: what happened, and nothing that is secret or somebody's."""
    logs = s.logs()
    for group, said in (("ingest", '"message":"event"'), ("drain", '"message":"attempt"'), ("sweep", '"message":"sweep"')):
        check(any(said in line for line in logs[group]), f"{group} logged no {said}")
    found = [(text, line) for lines in logs.values() for line in lines for text in HIDDEN if text in line]
    check(not found, f"{len(found)} lines with what must not be there, such as {found[:1]}")
    return f"{sum(map(len, logs.values()))} lines in 3 log groups, none with a secret, a signature or a body"


# Title, seconds, step.
SCENES = [
    ("no secrets yet", 30, without_secrets),
    ("first secrets set", 60, first_secrets),
    ("event applied", 30, applied),
    ("effect delivered", 40, delivered),
    ("duplicate", 30, duplicate),
    ("six at once", 60, race),
    ("refused requests", 30, refused),
    ("base64 body", 40, encoded),
    ("the other rules", 40, other_rules),
    ("event forwarded", 40, forwarded),
    ("large bodies", 60, large),
    ("effect tried again", 60, trouble.retried),
    ("dead-letter queue", 90, trouble.dead_letter),
    ("forgotten items swept", 170, trouble.forgotten),
    ("a person acts", 90, trouble.operated),
    ("secret rotated", 120, trouble.rotated),
]
