//! Queues, functions and buses that do not fit the template, or that drain may not call.

use super::{CONFIG, Project, TEMPLATE, err};

const ROLE: &str = "  Sweep:\n    Type: AWS::Serverless::Function\n";

/// A project with this destination, and these resources and statement in its template.
fn project(destination: &str, variable: &str, resources: &str, statement: &str) -> Project {
    let project = Project::new();
    let config = CONFIG
        .replace("destination = \"mail\"\n", "destination = \"jobs\"\n")
        .replace(
            "[outbox]",
            &format!("[destination.jobs]\non_ambiguous = \"park\"\n{destination}\n[outbox]"),
        );
    let mail = "\n[[rule]]\nname = \"mail\"\nsource = \"stripe\"\nevents = [\"x\"]\n[[rule.effect]]\nname = \"m\"\ndestination = \"mail\"\nbody = \"{}\"\n";
    project.write("oncehook.toml", &format!("{config}{mail}"));
    let template = TEMPLATE
        .replace(
            "          ONCEHOOK_TABLE_ACCOUNTS: !Ref AccountsTable\n",
            &format!("          ONCEHOOK_TABLE_ACCOUNTS: !Ref AccountsTable\n{variable}"),
        )
        .replace(ROLE, &format!("      Role: !GetAtt DrainRole.Arn\n  DrainRole:\n    Type: AWS::IAM::Role\n    Properties:\n      Policies:\n        - PolicyDocument:\n            Statement:\n              - {{ Effect: Allow, Action: 'dynamodb:GetItem', Resource: !GetAtt Table.Arn }}\n{statement}{ROLE}{resources}"));
    project.write("template.yaml", &template);
    // Mistakes are looked for later; here the new names are accepted, so that nothing is said of them.
    let _mistakes = project.check(&["--accept"]);
    project
}

fn allow(action: &str, resource: &str) -> String {
    format!("              - {{ Effect: Allow, Action: '{action}', Resource: {resource} }}\n")
}

const JOBS: &str = "  Jobs:\n    Type: AWS::SQS::Queue\n";
const MAPPED: &str = "          ONCEHOOK_TARGET_JOBS: !Ref Jobs\n";

#[track_caller]
fn passes(project: &Project) {
    let output = project.check(&["--strict"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
}

#[test]
fn what_drain_may_call_passes() {
    let sub = "!Sub 'arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:jobs'";
    let url = "queue = \"https://sqs.eu-central-1.amazonaws.com/123456789012/jobs\"";
    let function = "  Work:\n    Type: AWS::Serverless::Function\n    Properties: { Timeout: 10 }\n";
    let bus = "  Bus:\n    Type: AWS::Events::EventBus\n    Properties: { Name: orders }\n";
    let work = "          ONCEHOOK_TARGET_JOBS: !Ref Work\n";
    for (destination, variable, resources, statement) in [
        (
            "kind = \"sqs\"",
            MAPPED,
            JOBS,
            allow("sqs:SendMessage", "!GetAtt Jobs.Arn"),
        ),
        (
            &*format!("kind = \"sqs\"\n{url}"),
            "",
            "",
            allow("sqs:SendMessage", sub),
        ),
        (
            &*format!("kind = \"sqs\"\n{url}"),
            "",
            "",
            allow("sqs:Send*", "'arn:aws:sqs:*:123456789012:jo*'"),
        ),
        (
            "kind = \"lambda\"",
            work,
            function,
            allow("lambda:InvokeFunction", "!GetAtt Work.Arn"),
        ),
        (
            "kind = \"lambda\"\nfunction = \"jobs:live\"",
            "",
            "",
            allow(
                "lambda:InvokeFunction",
                "'arn:aws:lambda:eu-central-1:123456789012:function:jobs:live'",
            ),
        ),
        (
            "kind = \"eventbridge\"",
            "          ONCEHOOK_TARGET_JOBS: !Ref Bus\n",
            bus,
            allow("events:PutEvents", "!GetAtt Bus.Arn"),
        ),
        (
            "kind = \"eventbridge\"",
            "",
            "",
            allow(
                "events:PutEvents",
                "!Sub 'arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:event-bus/default'",
            ),
        ),
    ] {
        passes(&project(destination, variable, resources, &statement));
    }
}

#[test]
fn a_missing_right_is_named_with_the_lines_to_add() {
    let url = "kind = \"sqs\"\nqueue = \"https://sqs.eu-central-1.amazonaws.com/123456789012/jobs\"";
    for (destination, variable, resources, statement, parts) in [
        (
            "kind = \"sqs\"",
            MAPPED,
            JOBS,
            String::new(),
            ["needs sqs:SendMessage on ${Jobs}", "Resource: !GetAtt Jobs.Arn }"],
        ),
        // A right to another queue, to another service, and to the plain function are no rights to this.
        (
            "kind = \"sqs\"",
            MAPPED,
            JOBS,
            allow("sqs:SendMessage", "!GetAtt Queue.Arn"),
            ["needs sqs:SendMessage", "not allowed it"],
        ),
        (
            url,
            "",
            "",
            allow("sqs:SendMessage", "'arn:aws:sns:*:*:jobs'"),
            ["needs sqs:SendMessage", "${AWS::AccountId}:jobs\""],
        ),
        (
            "kind = \"lambda\"\nfunction = \"jobs:live\"",
            "",
            "",
            allow(
                "lambda:InvokeFunction",
                "'arn:aws:lambda:eu-central-1:123456789012:function:jobs'",
            ),
            ["needs lambda:InvokeFunction on jobs:live", "function:jobs:live\""],
        ),
        (
            "kind = \"eventbridge\"\nbus = \"orders\"",
            "",
            "",
            String::new(),
            ["needs events:PutEvents on orders", "event-bus/orders\""],
        ),
    ] {
        let project = project(destination, variable, resources, &statement);
        project.fails(&[], "template.yaml:", &parts);
    }
}

#[test]
fn what_is_not_what_the_configuration_says_is_found() {
    let all = allow("sqs:SendMessage", "'*'");
    project("kind = \"sqs\"", "", "", &all).fails(
        &[],
        "template.yaml:",
        &[
            "Ingest does not know the queue of [destination.jobs]",
            "add ONCEHOOK_TARGET_JOBS: !Ref ITS_ID",
        ],
    );
    let fifo = "  Jobs:\n    Type: AWS::SQS::Queue\n    Properties: { FifoQueue: true }\n";
    project("kind = \"sqs\"", MAPPED, fifo, &all).fails(
        &[],
        "oncehook.toml:",
        &["is a FIFO queue: write fifo = true"],
    );
    project("kind = \"sqs\"\nfifo = true", MAPPED, JOBS, &all).fails(
        &[],
        "oncehook.toml:",
        &["is no FIFO queue"],
    );
    let own = "          ONCEHOOK_TARGET_JOBS: !Ref Queue\n";
    project("kind = \"sqs\"", own, "", &all).fails(&[], "template.yaml:", &["own queue of wake-ups"]);
    let arn = "          ONCEHOOK_TARGET_JOBS: !GetAtt Jobs.Arn\n";
    project("kind = \"sqs\"", arn, JOBS, &all).fails(
        &[],
        "template.yaml:",
        &["an ARN is no queue's URL: write !Ref"],
    );
    let wrong = "          ONCEHOOK_TARGET_JOBS: jobs\n";
    project("kind = \"sqs\"", wrong, "", &all).fails(&[], "template.yaml:", &["https://"]);
    let table = "          ONCEHOOK_TARGET_JOBS: !Ref Table\n";
    project("kind = \"sqs\"", table, "", &all).fails(
        &[],
        "template.yaml:",
        &["`Table` is an AWS::DynamoDB::Table"],
    );
    let url = "          ONCEHOOK_URL_JOBS: https://a.example\n";
    let found = project("kind = \"sqs\"", &format!("{MAPPED}{url}"), JOBS, &all);
    found.remarks(
        &[],
        "template.yaml:",
        &["warning: nobody reads ONCEHOOK_URL_JOBS"],
    );
}

#[test]
fn what_may_go_wrong_later_is_said() {
    let slow = "  Work:\n    Type: AWS::Serverless::Function\n    Properties: { Timeout: 300 }\n";
    let work = "          ONCEHOOK_TARGET_JOBS: !Ref Work\n";
    let allowed = allow("lambda:InvokeFunction", "!GetAtt Work.Arn");
    project("kind = \"lambda\"", work, slow, &allowed).remarks(
        &[],
        "template.yaml:",
        &["may run for 300 s", "waits 10 s"],
    );
    let key = "  Jobs:\n    Type: AWS::SQS::Queue\n    Properties: { KmsMasterKeyId: alias/mine }\n";
    let allowed = allow("sqs:SendMessage", "!GetAtt Jobs.Arn");
    project("kind = \"sqs\"", MAPPED, key, &allowed).remarks(
        &[],
        "template.yaml:",
        &["kms:GenerateDataKey", "alias/mine"],
    );
    let project = project("kind = \"sqs\"", MAPPED, JOBS, &allowed);
    project.change("oncehook.toml", "on_ambiguous = \"park\"\n", "");
    project.remarks(
        &[],
        "oncehook.toml:",
        &["takes a repeated message twice", "idempotency = { retention"],
    );
}
