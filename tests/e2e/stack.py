"""A stack: deployed as `sam deploy` does it, by a change set from a template in S3; looked at; deleted."""

import secrets
import time

import template as templates

BUCKET = "oncehook-artifacts"
DONE_WITHIN = 120


class Stack:
    def __init__(self, name, emulator):
        self.name = name
        self.emulator = emulator
        self.cloudformation = emulator.client("cloudformation")
        self.s3 = emulator.client("s3")
        self.resources = {}
        self.outputs = {}

    def upload(self, key, content):
        # A second time changes nothing.
        self.s3.create_bucket(Bucket=BUCKET)
        self.s3.put_object(Bucket=BUCKET, Key=key, Body=content)
        return f"s3://{BUCKET}/{key}"

    def deploy(self, template, parameters):
        """Creates or updates. Returns what the change set said it would do: logical id and action."""
        key = f"{self.name}/{secrets.token_hex(8)}.template"
        self.upload(key, templates.render(template))
        change = f"deploy-{secrets.token_hex(4)}"
        self.cloudformation.create_change_set(
            StackName=self.name,
            ChangeSetName=change,
            ChangeSetType="UPDATE" if self.status() else "CREATE",
            TemplateURL=f"{self.emulator.url}/{BUCKET}/{key}",
            Parameters=[{"ParameterKey": k, "ParameterValue": v} for k, v in parameters.items()],
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        )
        described = self.until(
            lambda: self.cloudformation.describe_change_set(StackName=self.name, ChangeSetName=change),
            lambda answer: answer["Status"] in ("CREATE_COMPLETE", "FAILED"),
        )
        if described["Status"] == "FAILED":
            raise AssertionError(f"no change set: {described.get('StatusReason')}")
        self.cloudformation.execute_change_set(StackName=self.name, ChangeSetName=change)
        status = self.until(self.status, lambda status: status.endswith(("_COMPLETE", "_FAILED")))
        if status not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            raise AssertionError(f"{status}: {self.reasons()}")
        self.look()
        changes = [change["ResourceChange"] for change in described["Changes"]]
        return {change["LogicalResourceId"]: change["Action"] for change in changes}

    def look(self):
        pages = self.cloudformation.get_paginator("list_stack_resources").paginate(StackName=self.name)
        self.resources = {
            resource["LogicalResourceId"]: resource
            for page in pages
            for resource in page["StackResourceSummaries"]
        }
        (stack,) = self.cloudformation.describe_stacks(StackName=self.name)["Stacks"]
        self.outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

    def physical(self, logical):
        return self.resources[logical]["PhysicalResourceId"]

    def status(self):
        """Nothing if there is no such stack, or only a change set of one."""
        try:
            (stack,) = self.cloudformation.describe_stacks(StackName=self.name)["Stacks"]
        except self.cloudformation.exceptions.ClientError:
            return None
        return stack["StackStatus"] if stack["StackStatus"] != "REVIEW_IN_PROGRESS" else None

    def reasons(self):
        events = self.cloudformation.describe_stack_events(StackName=self.name)["StackEvents"]
        failed = [event for event in events if "FAILED" in event["ResourceStatus"]]
        return "; ".join(f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason')}" for event in failed)

    def delete(self):
        self.cloudformation.delete_stack(StackName=self.name)
        status = self.until(self.status, lambda status: status in (None, "DELETE_COMPLETE", "DELETE_FAILED"))
        if status == "DELETE_FAILED":
            raise AssertionError(self.reasons())

    @staticmethod
    def until(look, enough):
        end = time.monotonic() + DONE_WITHIN
        while True:
            seen = look()
            if enough(seen):
                return seen
            if time.monotonic() > end:
                raise AssertionError(f"not within {DONE_WITHIN} s; last: {seen}")
            time.sleep(0.2)
