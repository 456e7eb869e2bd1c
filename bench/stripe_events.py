"""Signed requests as Stripe and the gateway would hand them over, from the project's own fixture. Every event is new."""
import copy
import hashlib
import hmac
import itertools
import json
import pathlib
import time

SECRET = "whsec_for_the_bench"
FIXTURE = json.loads((pathlib.Path(__file__).parent.parent / "events/applied.json").read_text())
COUNT = itertools.count(1)
RUN = time.time_ns()


def signature(body):
    at = int(time.time())
    digest = hmac.new(SECRET.encode(), f"{at}.{body}".encode(), hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def request(body, tampered=False):
    event = copy.deepcopy(FIXTURE)
    event["body"] = body
    event["headers"]["stripe-signature"] = signature(body + " " if tampered else body)
    event["headers"]["content-length"] = str(len(body))
    return event


def payment(padding=0):
    """A payment: one update, one effect, `once_per`."""
    body = json.loads(FIXTURE["body"])
    one = f"{RUN}_{next(COUNT)}"
    body["id"] = f"evt_{one}"
    body["data"]["object"].update(id=f"in_{one}", customer=f"cus_{one}")
    if padding:
        lines = [{"id": f"il_{n}", "amount": n, "description": f"Line {n} of the invoice", "metadata": {"n": str(n)}}
                 for n in range(padding // 110)]
        body["data"]["object"]["lines"] = {"data": lines}
    return json.dumps(body)


def subscription():
    """A subscription's change: one update, `newer_by`, no effect and so no wake-up."""
    one, at = f"{RUN}_{next(COUNT)}", int(time.time())
    item = {"id": f"sub_{one}", "status": "active", "metadata": {"organization_id": f"org_{one}"},
            "items": {"data": [{"price": {"id": "price_1"}}]}}
    return json.dumps({"id": f"evt_{one}", "object": "event", "type": "customer.subscription.updated", "created": at,
                       "livemode": False, "data": {"object": item}})
