"""What watches the stack: its alarms and dashboard, and `oncehook stats` against what the requests were answered.

The emulator does not make metrics of the lines that the functions log for it, so `metered` does what CloudWatch does: it
takes each line's numbers under each of its sets of dimensions.
"""

import json
import urllib.request
from collections import Counter

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from emulator import REGION, ROOT
from steps import check


def cloudwatch(s, operation, **body):
    """In the JSON protocol: boto3 takes CBOR, for which the emulator needs a package of its own."""
    headers = {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"GraniteServiceVersion20100801.{operation}",
    }
    request = AWSRequest("POST", f"{s.emulator.url}/", data=json.dumps(body), headers=headers)
    keys = Credentials(ROOT["AWS_ACCESS_KEY_ID"], ROOT["AWS_SECRET_ACCESS_KEY"])
    SigV4Auth(keys, "monitoring", REGION).add_auth(request)
    plain = urllib.request.Request(request.url, request.body, dict(request.headers), method="POST")
    with urllib.request.urlopen(plain, timeout=30) as answer:
        return json.loads(answer.read() or b"{}")


def alarms(s, template):
    """Those that tell people; the others exist with a gradual roll-out only."""
    alarms = {name: r for name, r in template["Resources"].items() if r["Type"] == "AWS::CloudWatch::Alarm"}
    expected = {name for name, r in alarms.items() if r.get("Condition") in (None, "Archived")}
    found = cloudwatch(s, "DescribeAlarms")["MetricAlarms"]
    names = {alarm["AlarmName"]: alarm for alarm in found}
    missing = [name for name in expected if s.stack.physical(name) not in names]
    check(not missing and len(names) == len(expected), f"missing {missing}, there are {sorted(names)}")
    for alarm in found:
        check("docs/runbook.md#" in alarm["AlarmDescription"], f"{alarm['AlarmName']}: {alarm['AlarmDescription']}")
    own = {alarm["Namespace"] for alarm in found if alarm["Namespace"].startswith("Oncehook")}
    check(own == {f"Oncehook/{s.stack.name}"}, f"{own}")
    dashboard = cloudwatch(s, "GetDashboard", DashboardName=s.stack.physical("Dashboard"))
    widgets = json.loads(dashboard["DashboardBody"])["widgets"]
    check(all(f"Oncehook/{s.stack.name}" in json.dumps(widget) for widget in widgets), f"{widgets}")
    return f"{len(found)} alarms, each with its section of the runbook; a dashboard of {len(widgets)} graphs"


def metered(s):
    """Hands the functions' metrics to CloudWatch; returns how many lines had any."""
    data, lines, namespaces = [], 0, set()
    for line in (line for group in s.logs().values() for line in group if '"_aws"' in line):
        said = json.loads(line)
        lines += 1
        for directive in said["_aws"]["CloudWatchMetrics"]:
            namespaces.add(directive["Namespace"])
            for names in directive["Dimensions"]:
                dimensions = [{"Name": name, "Value": said[name]} for name in names]
                for metric in directive["Metrics"]:
                    data.append(
                        {
                            "MetricName": metric["Name"],
                            "Dimensions": dimensions,
                            "Timestamp": said["_aws"]["Timestamp"] / 1000,
                            "Value": said[metric["Name"]],
                            "Unit": metric["Unit"],
                        }
                    )
    check(namespaces == {f"Oncehook/{s.stack.name}"}, f"{namespaces}")
    for start in range(0, len(data), 500):
        cloudwatch(s, "PutMetricData", Namespace=f"Oncehook/{s.stack.name}", MetricData=data[start : start + 500])
    return lines


def stats(s):
    lines = metered(s)
    said = json.loads(s.run("stats", "--since", "1h", "--json", "--stack", s.stack.name))
    stripe = said["sources"]["stripe"]
    answers = Counter()
    for answer in s.answers:
        taken = "duplicates" if answer.replayed else answer.outcome
        answers[taken if answer.status == 200 else answer.status] += 1
    for name in ("applied", "duplicates", "skipped", "ignored", "failed", "held", "observed"):
        check(stripe[name] == answers[name], f"{name}: {answers} by the answers, {stripe} by the metrics of {lines} lines")
    turned_away = stripe["refused"] + stripe["not_committed"]
    check(turned_away == answers[401] + answers[503], f"{stripe} {answers}")
    done = Counter(item["destination"] for item in s.items() if item.get("state") == "done")
    delivered = {name: counts["delivered"] for name, counts in said["destinations"].items() if counts["delivered"]}
    check(delivered == done, f"{delivered} by the metrics, {done} in the table")
    return (
        f"{lines} lines with metrics; {stripe['received']} received, {stripe['applied']} applied, {stripe['duplicates']} "
        f"duplicates, {stripe['refused']} refused, {sum(done.values())} delivered, as answered and as in the table"
    )
