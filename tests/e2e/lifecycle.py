"""The stack's own life: created, updated, checked against its policies, deleted."""

import json

import policies
from service import FIRST, invoice
from steps import check, eventually
from transformations import transform


class Lifecycle:
    def __init__(self, stack, template, service, recorder, architecture):
        self.stack, self.template, self.service, self.recorder = stack, template, service, recorder
        self.functions = stack.emulator.client("lambda")
        self.parameters = {"Architecture": architecture}

    def deploy(self):
        destination = self.service.destination
        template = transform(
            self.template,
            parameters=self.parameters,
            recorder=self.recorder,
            urls={"MAIL": destination.url("/emails"), "APP": destination.url("/events")},
        )
        return self.stack.deploy(template, self.parameters)

    def created(self):
        changes = self.deploy()
        check(set(changes.values()) == {"Add"}, f"{changes}")
        return f"CREATE_COMPLETE, {len(self.stack.resources)} resources"

    def version(self, function):
        return self.functions.get_alias(FunctionName=self.stack.physical(function), Name="live")["FunctionVersion"]

    def updated(self):
        """Other sizes: a new version of every function, the same tables with what is in them."""
        s = self.service
        tables = {name for name, r in self.stack.resources.items() if r["ResourceType"] == "AWS::DynamoDB::Table"}
        before = {name: self.stack.physical(name) for name in tables}
        items = {(item["pk"], item["sk"]) for item in s.items()}
        versions = {name: self.version(name) for name in self.recorder.calls}
        self.parameters |= {"IngestMemory": "512", "LogLevel": "debug", "LongestCall": "15", "Tracing": "spans"}
        changes = self.deploy()
        check(not tables & set(changes), f"a table changes: {changes}")
        check({name: self.stack.physical(name) for name in tables} == before, "another table")
        check(items <= {(item["pk"], item["sk"]) for item in s.items()}, "items are missing")
        same = [name for name, version in versions.items() if self.version(name) == version]
        check(not same, f"no new version: {same}")
        answer = s.post(invoice("evt_2", "cus_2"))
        check((answer.status, answer.replayed) == (200, True), f"{answer}")
        check(s.post(invoice("evt_17", "cus_17")).outcome == "applied", "the new version applies nothing")
        check(s.post(invoice("evt_18", "cus_18"), secret=FIRST).status == 401, "the secret that was dropped is accepted")
        (call,) = eventually(lambda: s.destination.about("cus_17@"), 20, "the receipt of the new version")
        trace = call.headers.get("traceparent", "-").split("-")[1]
        spans = {group: [line for line in lines if trace in line] for group, lines in s.logs().items()}
        check(spans["ingest"] and spans["drain"], f"no trace {trace} from the request to the call: {spans}")
        return (
            f"UPDATE_COMPLETE, {len(changes)} changes, new versions of {', '.join(sorted(versions))}; "
            f"{len(items)} items still there, an old event still a duplicate, the dropped secret refused"
        )

    def archived(self):
        """With the archive switched on, later: the same table, now with a stream, and everything behind it."""
        s, stack = self.service, self.stack
        table, items = stack.physical("Table"), len(s.items())
        self.parameters |= {"Archive": "true"}
        changes = self.deploy()
        check((stack.physical("Table"), len(s.items())) == (table, items), "another table")
        stream = s.dynamodb.describe_table(TableName=table)["Table"]
        check(stream["StreamSpecification"]["StreamViewType"] == "OLD_IMAGE", f"{stream}")
        pipe = stack.emulator.client("pipes").describe_pipe(Name=stack.physical("ArchivePipe"))
        check(pipe["Source"] == stream["LatestStreamArn"], f"{pipe}")
        delivery = stack.physical("ArchiveDelivery")
        check(pipe["Target"].endswith(f"deliverystream/{delivery}"), f"{pipe}")
        # The emulator's pipes keep no filter and do not lead to Firehose: what is before and after is looked at.
        source = self.template["Resources"]["ArchivePipe"]["Properties"]["SourceParameters"]
        (pattern,) = [one["Pattern"] for one in source["FilterCriteria"]["Filters"]]
        self.filtered(pattern)
        record = {"Data": json.dumps({"eventName": "REMOVE"}).encode()}
        stack.emulator.client("firehose").put_record(DeliveryStreamName=delivery, Record=record)
        bucket = stack.outputs["ArchiveBucket"]
        objects = stack.s3.list_objects_v2(Bucket=bucket, Prefix="events/").get("Contents", [])
        check(len(objects) == 1, f"{objects}")
        return f"{len(changes)} changes, the same table with {items} items; a stream, its pipe, and {objects[0]['Key'][:18]}.. in the archive"

    def filtered(self, pattern):
        """What the pipe takes, by EventBridge's own matching: deletions by TTL of what belongs to an event."""
        events = self.stack.emulator.client("events")
        ttl = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
        cases = [
            ("expired", "REMOVE", ttl, "event#stripe##evt_1", True),
            ("deleted by somebody", "REMOVE", None, "event#stripe##evt_1", False),
            ("changed", "MODIFY", ttl, "event#stripe##evt_1", False),
            ("a guard", "REMOVE", ttl, "once#invoice:in_1", False),
        ]
        for what, name, identity, key, taken in cases:
            record = {
                "id": "1", "account": "1", "source": "x", "time": "2026-12-01T00:00:00Z", "region": "x", "resources": [],
                "detail-type": "x", "eventName": name, "dynamodb": {"Keys": {"pk": {"S": key}, "sk": {"S": "event"}}},
            }
            record |= {"userIdentity": identity} if identity else {}
            found = events.test_event_pattern(EventPattern=pattern, Event=json.dumps(record))["Result"]
            check(found == taken, f"{what}: {found}")

    def clock_target(self):
        schedule = self.stack.emulator.client("scheduler").get_schedule(Name=self.stack.physical("SweepClock"))
        return schedule["Target"]["Arn"]

    def policies(self):
        check(not self.recorder.unreadable, f"calls nobody understands: {self.recorder.unreadable}")
        found, tried, lines = [], 0, []
        for function, did in self.recorder.calls.items():
            role = self.functions.get_function_configuration(FunctionName=self.stack.physical(function))["Role"]
            may = policies.allowed(self.service.iam, role.rsplit("/", 1)[-1])
            found += policies.mistakes(function, may, did)
            lines += policies.table(function, did, may)
            if not found:
                tried += policies.would_notice(function, may, did)
        clock = policies.allowed(self.service.iam, self.stack.physical("ClockRole"))
        if clock != {("lambda:InvokeFunction", self.clock_target())}:
            found.append(f"the clock may {clock}")
        print("\n".join(lines), flush=True)
        check(not found, "; ".join(found))
        return f"{len(lines)} permissions, each used; {tried} wrong policies would have been noticed"

    def deleted(self):
        s = self.service
        tables = [s.stack.outputs[name] for name in ("TableName", "AccountsTableName", "OrganizationsTableName")]
        queues = [s.stack.outputs[name] for name in ("QueueUrl", "DeadLettersUrl")]
        items = len(s.items())
        self.stack.delete()
        functions = self.functions.list_functions()["Functions"]
        check(not functions, f"left: {[function['FunctionName'] for function in functions]}")
        left = set(s.sqs.list_queues().get("QueueUrls", [])) & set(queues)
        check(not left, f"left: {left}")
        kept = s.dynamodb.list_tables()["TableNames"]
        check(set(tables) <= set(kept), f"{kept}")
        check(len(s.items()) == items, "items are missing")
        bodies = self.stack.s3.list_objects_v2(Bucket=s.stack.outputs["BodiesBucket"])["KeyCount"]
        check(bodies, "the large bodies are gone")
        name = s.stack.outputs["SecretsParameter"]
        value = self.stack.emulator.client("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"]
        check("stripe" in json.loads(value), "the secrets are gone")
        return f"functions and queues are gone; 3 tables with {items} items, a bucket with {bodies} and the secrets stay"
