"""What the Makefile asks about an environment of samconfig.toml.

    stage.py check STAGE COMMAND..   runs `oncehook check` with its parameters
    stage.py architecture STAGE      prints what it is built for
    stage.py sizes BUILD             prints how large the built functions are
    stage.py account STAGE           prints the account and Region it would meet, or what is missing and what to do
    stage.py kept STAGE              prints what `sam delete` leaves, with the commands that would remove it
"""

import shlex
import subprocess
import sys
import zlib
from pathlib import Path

import boto3
import tomlkit
from botocore.exceptions import BotoCoreError, ClientError

CONFIGURATION = Path(__file__).resolve().parent.parent / "samconfig.toml"

NO_CREDENTIALS = """\
No AWS credentials that work: {why}
Log in with one of
  aws sso login --profile NAME, then export AWS_PROFILE=NAME
  aws configure
  export AWS_ACCESS_KEY_ID=.. AWS_SECRET_ACCESS_KEY=.. (and AWS_SESSION_TOKEN if they are temporary)
and try again."""
NO_REGION = "No AWS Region is set: export AWS_DEFAULT_REGION=eu-central-1, say, or give your profile one, and try again."


def settings(stage):
    environments = tomlkit.parse(CONFIGURATION.read_text()).unwrap()
    if stage not in environments:
        names = ", ".join(name for name, value in environments.items() if isinstance(value, dict))
        sys.exit(f"samconfig.toml has no environment `{stage}`, only {names}: choose one with STAGE=..")
    # As SAM reads it: what is said for the deployment, such as the answers to --guided, comes before what is said for all.
    sections = environments[stage]
    return {**sections.get("global", {}).get("parameters", {}), **sections.get("deploy", {}).get("parameters", {})}


def overrides(stage):
    given = settings(stage).get("parameter_overrides", [])
    words = shlex.split(given if isinstance(given, str) else shlex.join(given))
    return dict(word.split("=", 1) for word in words)


def check(stage, command):
    parameters = [f"--parameter={name}={value}" for name, value in overrides(stage).items()]
    sys.exit(subprocess.run([*command, *parameters], check=False).returncode)


def sizes(build):
    for binary in sorted(Path(build).glob("*/bootstrap")):
        content = binary.read_bytes()
        # The machine of an ELF file: two bytes, least significant first.
        machine = {0xB7: "arm64", 0x3E: "x86_64"}.get(int.from_bytes(content[18:20], "little"), "unknown")
        zipped = len(zlib.compress(content))
        print(f"{binary.parent.name:8} {machine:8} {len(content) / 1e6:.1f} MB, zipped {zipped / 1e6:.1f} MB")


def account(stage):
    wanted = settings(stage)
    try:
        session = boto3.Session(profile_name=wanted.get("profile"), region_name=wanted.get("region"))
        if not session.region_name:
            sys.exit(NO_REGION)
        number = session.client("sts").get_caller_identity()["Account"]
    except (BotoCoreError, ClientError) as error:
        sys.exit(NO_CREDENTIALS.format(why=error))
    print(f"Stack {wanted['stack_name']}, account {number}, Region {session.region_name}")
    return session, wanted["stack_name"]


def kept(stage):
    session, stack = account(stage)
    try:
        resources = session.client("cloudformation").describe_stack_resources(StackName=stack)["StackResources"]
    except ClientError as error:
        sys.exit(f"Nothing to delete: {error.response['Error']['Message']}")
    named = [(one["ResourceType"], one["PhysicalResourceId"]) for one in resources]
    tables = [name for kind, name in named if kind == "AWS::DynamoDB::Table"]
    buckets = [name for kind, name in named if kind == "AWS::S3::Bucket"]
    print(f"These stay when {stack} is deleted. When nobody needs them any more, remove them by hand:")
    region = f"--region {session.region_name}"
    for table in tables:
        print(f"  aws dynamodb update-table {region} --table-name {table} --no-deletion-protection-enabled")
        print(f"  aws dynamodb delete-table {region} --table-name {table}")
    for bucket in buckets:
        print(f"  aws s3 rb {region} s3://{bucket} --force")
    print(f"  aws ssm delete-parameter {region} --name /oncehook/{stack}/secrets")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["check", stage, *command]:
            check(stage, command)
        case ["architecture", stage]:
            print(overrides(stage).get("Architecture", "arm64"))
        case ["sizes", build]:
            sizes(build)
        case ["account", stage]:
            account(stage)
        case ["kept", stage]:
            kept(stage)
        case _:
            sys.exit(__doc__)
