"""The deployed service, seen from outside: requests as Stripe signs them, and what lies in the tables."""

import base64
import contextlib
import hashlib
import hmac
import http.client
import json
import os
import subprocess
import time
from dataclasses import dataclass

from emulator import REGION, ROOT

# Stripe's signing secret, and the one that replaces it.
FIRST, SECOND = "whsec_first_of_e2e", "whsec_second_of_e2e"


@dataclass
class Answer:
    status: int
    outcome: str
    replayed: bool
    body: str
    retry_after: str


def event(event_id, kind, /, **data):
    return {
        "id": event_id,
        "object": "event",
        "type": kind,
        "created": int(time.time()),
        "livemode": False,
        "data": {"object": data},
    }


def noise():
    """A text that no compression brings below 64 KiB."""
    return base64.b64encode(os.urandom(100_000)).decode()


def invoice(id, customer, amount=4900, **more):
    return event(
        id,
        "invoice.payment_succeeded",
        id=f"in_{id}",
        customer=customer,
        customer_email=f"{customer}@example.com",
        amount_paid=amount,
        currency="eur",
        **more,
    )


def is_200(answer):
    return answer if answer.status == 200 else None


class Service:
    def __init__(self, stack, emulator, destination, oncehook):
        """`oncehook` is the command line: the words that start it."""
        self.stack, self.emulator, self.destination, self.oncehook = stack, emulator, destination, oncehook
        self.dynamodb, self.sqs, self.iam = (emulator.client(name) for name in ("dynamodb", "sqs", "iam"))
        self.secret = None
        # Every answer of the source `stripe` to a POST request.
        self.answers = []

    def post(self, payload, secret=None, age=0, source="stripe", method="POST", content_type="application/json"):
        """Signs as Stripe documents it, on its own: nothing of Oncehook's code is asked."""
        body = json.dumps(payload).encode()
        at = int(time.time()) - age
        key = (secret or self.secret or "whsec_unknown").encode()
        signature = hmac.new(key, f"{at}.".encode() + body, hashlib.sha256).hexdigest()
        headers = {
            "Host": f"{self.stack.physical('Api')}.execute-api.localhost:{self.emulator.port}",
            "Content-Type": content_type,
            "Stripe-Signature": f"t={at},v1={signature}",
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.emulator.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, f"/webhooks/{source}", body if method == "POST" else None, headers)
            answer = connection.getresponse()
            answer = Answer(
                answer.status,
                answer.getheader("Oncehook-Outcome", ""),
                answer.getheader("Oncehook-Replayed") == "true",
                answer.read().decode(),
                answer.getheader("Retry-After", ""),
            )
            if source == "stripe" and method == "POST":
                self.answers.append(answer)
            return answer

    def secrets(self, *words, given=""):
        """`oncehook secret` as a person runs it for this stack."""
        return self.run("secret", *words, "--stack", self.stack.name, given=given)

    def operate(self, *words):
        """`oncehook` on the events of this stack, as docs/operating.md says it."""
        names = {
            "ONCEHOOK_TABLE": "TableName",
            "ONCEHOOK_QUEUE_URL": "QueueUrl",
            "ONCEHOOK_BODIES": "BodiesBucket",
            "ONCEHOOK_TABLE_ACCOUNTS": "AccountsTableName",
            "ONCEHOOK_TABLE_ORGANIZATIONS": "OrganizationsTableName",
        }
        return self.run(*words, **{name: self.stack.outputs[output] for name, output in names.items()})

    def run(self, *words, given="", **environment):
        ran = subprocess.run(
            [*self.oncehook, *words],
            input=given,
            text=True,
            env={**ROOT, "AWS_REGION": REGION, "AWS_ENDPOINT_URL": self.emulator.url, **environment},
            capture_output=True,
            timeout=30,
        )
        if ran.returncode:
            raise AssertionError(f"oncehook {' '.join(words)}: {ran.stdout} {ran.stderr}")
        return ran.stdout

    def items(self, table="TableName"):
        """All items of a table, by the name of its output, as plain values."""
        pages = self.dynamodb.get_paginator("scan").paginate(TableName=self.stack.outputs[table])
        return [
            {name: next(iter(value.values())) for name, value in item.items()}
            for page in pages
            for item in page["Items"]
        ]

    def balance(self, customer):
        rows = {row["customer_id"]: row["balance"] for row in self.items("AccountsTableName")}
        return int(rows.get(customer, 0))

    def bodies(self, id, prefix):
        """Of each object with the body of an event whether it is released."""
        name, digest = self.stack.outputs["BodiesBucket"], self.record(id)["body_sha256"]
        listed = self.stack.s3.list_objects_v2(Bucket=name, Prefix=f"{prefix}{digest}/").get("Contents", [])
        tags = [self.stack.s3.get_object_tagging(Bucket=name, Key=found["Key"])["TagSet"] for found in listed]
        return [{"Key": "released", "Value": "yes"} in tag for tag in tags]

    def outbox(self, id):
        """The outbox items of one event."""
        return [item for item in self.items() if item.get("event_id") == id and item["sk"].startswith("outbox#")]

    def record(self, id):
        (found,) = [item for item in self.items() if item["pk"].endswith(f"#{id}") and item["sk"] == "event"]
        return found

    def done(self, id):
        """The outbox items of an event, once all are done."""
        items = self.outbox(id)
        return items if items and all(item["state"] == "done" for item in items) else None

    def make_older(self, id, seconds):
        """An open item, as if it had been due for so long."""
        (item,) = self.outbox(id)
        self.dynamodb.update_item(
            TableName=self.stack.outputs["TableName"],
            Key={"pk": {"S": item["pk"]}, "sk": {"S": item["sk"]}},
            UpdateExpression="SET work_at = work_at - :by",
            ExpressionAttributeValues={":by": {"N": str(seconds * 1000)}},
        )

    @contextlib.contextmanager
    def forbidden(self, function, action, resource):
        """Takes a permission from a function for a while."""
        role = self.stack.physical(f"{function}Role")
        statement = {"Effect": "Deny", "Action": action, "Resource": resource}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        self.iam.put_role_policy(RoleName=role, PolicyName="for-a-while", PolicyDocument=policy)
        try:
            yield
        finally:
            self.iam.delete_role_policy(RoleName=role, PolicyName="for-a-while")

    @contextlib.contextmanager
    def visibility(self, seconds):
        """Lets failed wake-ups come back sooner than after three minutes."""
        url = self.stack.outputs["QueueUrl"]
        name = "VisibilityTimeout"
        before = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name]
        self.sqs.set_queue_attributes(QueueUrl=url, Attributes={name: str(seconds)})
        try:
            yield
        finally:
            self.sqs.set_queue_attributes(QueueUrl=url, Attributes={name: before})

    def logs(self):
        """The lines of each function's log group, by the last part of its name."""
        logs = self.emulator.client("logs")
        found = {}
        for name in ("ingest", "drain", "sweep"):
            group = f"/oncehook/{self.stack.name}/{name}"
            pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group)
            found[name] = [line["message"] for page in pages for line in page["events"]]
        return found

    def arn(self, logical):
        if logical == "Queue":
            url = self.stack.outputs["QueueUrl"]
            return self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        return self.dynamodb.describe_table(TableName=self.stack.physical(logical))["Table"]["TableArn"]
