"""What `sam local` needs on this machine beside the functions. Used by the Makefile; talks to no AWS.

    local.py template BUILD     writes BUILD/local.yaml: the built template, with every variable of local-env.json declared
    local.py tables ENDPOINT    makes the template's tables, the queue and the bucket on a local AWS
"""

import json
import sys
from pathlib import Path

import boto3
import yaml
from botocore.config import Config
from samtranslator.yaml_helper import yaml_parse

ROOT = Path(__file__).resolve().parent.parent
VARIABLES = json.loads((ROOT / "infra/local-env.json").read_text())["Parameters"]


def resources(template, kind):
    return {name: one for name, one in template["Resources"].items() if one["Type"] == kind}


def write_template(build):
    """sam local hands on only variables that the template declares. Declared here, the shell's own still come first."""
    template = yaml_parse((build / "template.yaml").read_text())
    for function in resources(template, "AWS::Serverless::Function").values():
        function["Properties"].setdefault("Environment", {}).setdefault("Variables", {}).update(VARIABLES)
    (build / "local.yaml").write_text(yaml.safe_dump(template, sort_keys=False))


def make_tables(endpoint):
    """Each table takes its keys and indexes from the template and its name from local-env.json."""
    template = yaml_parse((ROOT / "template.yaml").read_text())
    own = {"region_name": "us-east-1", "aws_access_key_id": "local", "aws_secret_access_key": "local"}
    quick = Config(connect_timeout=2, read_timeout=10, retries={"total_max_attempts": 2})
    dynamodb = boto3.client("dynamodb", endpoint_url=endpoint, config=quick, **own)
    there = dynamodb.list_tables()["TableNames"]
    for variable, reference in table_variables(template).items():
        properties = template["Resources"][reference]["Properties"]
        name = VARIABLES[variable]
        if name not in there:
            shape = ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "BillingMode")
            dynamodb.create_table(TableName=name, **{key: properties[key] for key in shape if key in properties})
        print(f"{reference}: {name} at {endpoint}")
    queue = VARIABLES["ONCEHOOK_QUEUE_URL"].rsplit("/", 1)[1]
    boto3.client("sqs", endpoint_url=endpoint, config=quick, **own).create_queue(QueueName=queue)
    print(f"Queue: {queue} at {endpoint}")
    bodies = VARIABLES["ONCEHOOK_BODIES"]
    path_style = quick.merge(Config(s3={"addressing_style": "path"}))
    boto3.client("s3", endpoint_url=endpoint, config=path_style, **own).create_bucket(Bucket=bodies)
    print(f"Bucket: {bodies} at {endpoint}")


def table_variables(template):
    """ONCEHOOK_TABLE and ONCEHOOK_TABLE_{NAME}, each with the resource that it refers to."""
    declared = dict(template["Globals"]["Function"]["Environment"]["Variables"])
    for function in resources(template, "AWS::Serverless::Function").values():
        declared.update(function["Properties"].get("Environment", {}).get("Variables", {}))
    tables = {name: value["Ref"] for name, value in declared.items() if name.startswith("ONCEHOOK_TABLE")}
    missing = sorted(set(tables) - set(VARIABLES))
    if missing:
        sys.exit(f"infra/local-env.json has no name for {', '.join(missing)}: add one for each")
    return tables


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["template", build]:
            write_template(Path(build))
        case ["tables", endpoint]:
            make_tables(endpoint)
        case _:
            sys.exit(__doc__)
