"""What every function may do against what it did.

`allowed` reads the policies of the deployed roles, names and numbers filled in. A call that they lack, and a permission
that no call needed, are both mistakes. So is a wildcard.
"""

from transformations import ONLY_HERE

LOGS = {"logs:CreateLogStream", "logs:PutLogEvents"}
# With it S3 says of an object that is not there that it is not there. No call of its own.
GONE = {"s3:ListBucket"}
# Permissions that are used for a function, not by it: the recorder does not see those calls.
BY_AWS = {
    "Ingest": LOGS,
    # The event source mapping takes the messages and deletes them, under the function's role.
    "Drain": LOGS | GONE | {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"},
    # A sweep releases only a copy of a body that it made in vain, since another was faster.
    "Sweep": LOGS | GONE | {"s3:PutObjectTagging"},
}


def listed(value):
    return value if isinstance(value, list) else [value]


def allowed(iam, role):
    """Pairs of action and resource, of all policies of a role."""
    if iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
        raise AssertionError(f"{role} has attached policies; the template writes its own")
    pairs = set()
    for name in iam.list_role_policies(RoleName=role)["PolicyNames"]:
        document = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
        for statement in document["Statement"]:
            if statement["Effect"] != "Allow":
                continue
            for action in listed(statement["Action"]):
                pairs |= {(action, resource) for resource in listed(statement["Resource"])}
    return {(action, resource) for action, resource in pairs if action != ONLY_HERE}


def mistakes(function, may, did):
    """What is wrong with the policy of one function, in words."""
    found = [f"{function} lacks {action} on {resource}" for action, resource in sorted(set(did) - may)]
    for action, resource in sorted(may - set(did)):
        # A log group's streams have names that only Lambda knows, and a bucket's objects such that only a run knows.
        end = "/*" if action.startswith("s3:") else ":*"
        if "*" in action or "*" in resource.removesuffix(end):
            found.append(f"{function} is allowed a wildcard: {action} on {resource}")
        elif action not in BY_AWS[function]:
            found.append(f"{function} is allowed {action} on {resource}, and never does it")
    return found


def would_notice(function, may, did):
    """The test of the test: each single permission taken away, or one more, must be found. Returns how many were tried."""
    for pair in did:
        if not mistakes(function, may - {pair}, did):
            raise AssertionError(f"nobody would notice that {function} lacks {pair}")
    for pair in [("dynamodb:DeleteItem", "arn:aws:dynamodb:us-east-1:0:table/x"), ("sqs:*", "*")]:
        if not mistakes(function, may | {pair}, did):
            raise AssertionError(f"nobody would notice that {function} may {pair}")
    return len(did) + 2


def table(function, did, may):
    """Lines for people: every permission, and how often it was used."""
    for action, resource in sorted(may | set(did)):
        count = did.get((action, resource), 0)
        used = f"{count:>4}" if count else "AWS" if action in BY_AWS[function] else "none"
        yield f"    {function:<7} {used:>4}  {action:<28} {resource.split(':', 5)[-1]}"
