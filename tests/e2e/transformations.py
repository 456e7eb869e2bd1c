"""Everything in which the deployed template differs from template.yaml, each change with its reason.

The only place that changes it. All other properties and resources are deployed as they stand there.
"""

import copy

from template import functions

# A permission that AWS does not know and the emulator asks for.
ONLY_HERE = "sqs:SendMessageBatch"


def variables(function):
    return function["Properties"].setdefault("Environment", {}).setdefault("Variables", {})


def aws_endpoint(template, recorder, **_):
    for name, function in functions(template).items():
        variables(function)["AWS_ENDPOINT_URL"] = recorder.endpoint(name)


def destinations(template, urls, **_):
    variables(template["Resources"]["Ingest"]).update({f"ONCEHOOK_URL_{name}": url for name, url in urls.items()})


def routes(template, **_):
    """The events keep their permission, which SAM makes; the target is the alias, as SAM's route has it."""
    made = {}
    for name, function in functions(template).items():
        for event, source in function["Properties"].get("Events", {}).items():
            if source["Type"] != "HttpApi":
                continue
            properties = source["Properties"]
            made[f"{name}{event}Integration"] = {
                "Type": "AWS::ApiGatewayV2::Integration",
                "Properties": {
                    "ApiId": properties["ApiId"],
                    "IntegrationType": "AWS_PROXY",
                    "IntegrationUri": {"Ref": f"{name}.Alias"},
                    "PayloadFormatVersion": properties["PayloadFormatVersion"],
                },
            }
            made[f"{name}{event}Route"] = {
                "Type": "AWS::ApiGatewayV2::Route",
                "Properties": {
                    "ApiId": properties["ApiId"],
                    "RouteKey": f"{properties['Method']} {properties['Path']}",
                    "Target": {"Fn::Join": ["/", ["integrations", {"Ref": f"{name}{event}Integration"}]]},
                },
            }
    template["Resources"].update(made)


def numbers(template, parameters, **_):
    given = {name: parameters.get(name, known.get("Default")) for name, known in template["Parameters"].items()}
    counts = {name: int(given[name]) for name, known in template["Parameters"].items() if known["Type"] == "Number"}
    for function in functions(template).values():
        for source in function["Properties"].get("Events", {}).values():
            if source["Type"] == "SQS":
                source["Properties"] = filled_in(source["Properties"], counts)


def filled_in(value, counts):
    if isinstance(value, dict):
        if set(value) == {"Ref"} and value["Ref"] in counts:
            return counts[value["Ref"]]
        return {key: filled_in(inner, counts) for key, inner in value.items()}
    return value


def batches(template, **_):
    for role in template["Resources"].values():
        for policy in role["Properties"].get("Policies", []) if role["Type"] == "AWS::IAM::Role" else []:
            for statement in policy["PolicyDocument"]["Statement"]:
                actions = statement.get("Action", [])
                actions = actions if isinstance(actions, list) else [actions]
                if "sqs:SendMessage" in actions:
                    statement["Action"] = [*actions, ONLY_HERE]


def queries(template, **_):
    kept = {name: r for name, r in template["Resources"].items() if r["Type"] != "AWS::Logs::QueryDefinition"}
    template["Resources"] = kept


def plain_http(template, **_):
    for name in ("BodiesPolicy", "ArchiveBucketPolicy"):
        del template["Resources"][name]


TRANSFORMATIONS = [
    (
        aws_endpoint,
        "each function gets AWS_ENDPOINT_URL: as a process of this machine it would call the real AWS; the port tells the "
        "recorder who calls",
    ),
    (
        destinations,
        "Ingest, which writes each call down with its URL, gets ONCEHOOK_URL_MAIL and ONCEHOOK_URL_APP: the destinations "
        "are on this machine",
    ),
    (
        routes,
        "the HttpApi event's route becomes resources of its own: the emulator does not read the API definition into which "
        "SAM writes it",
    ),
    (
        batches,
        "whoever may sqs:SendMessage also gets sqs:SendMessageBatch: on AWS that is no permission of its own, the emulator "
        "asks for it",
    ),
    (
        plain_http,
        "the policies of the buckets, which refuse whoever comes without TLS, are left out: the emulator is reached over plain "
        "HTTP, and obeys them",
    ),
    (
        numbers,
        "the queue's batch size and concurrency are written in: the emulator leaves parameters of type Number as text and "
        "cannot compare them",
    ),
    (
        queries,
        "the saved queries are left out: the emulator knows no AWS::Logs::QueryDefinition",
    ),
]


def transform(template, **given):
    changed = copy.deepcopy(template)
    for transformation, _ in TRANSFORMATIONS:
        transformation(changed, **given)
    return changed
