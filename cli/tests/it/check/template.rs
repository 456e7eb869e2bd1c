//! A configuration and a template that do not fit.

use super::{Project, TEMPLATE, err};

const POLICY: &str = "Action: [dynamodb:UpdateItem, dynamodb:ConditionCheckItem]";

/// The line of the first line of the fixture that has this.
fn line(of: &str) -> usize {
    TEMPLATE.lines().position(|line| line.contains(of)).unwrap() + 1
}

/// Changes the template; the check must fail at this place.
#[track_caller]
fn breaks(change: (&str, &str), place: &str, parts: &[&str]) {
    let project = Project::new();
    project.change("template.yaml", change.0, change.1);
    project.fails(&[], place, parts);
}

#[test]
fn a_table_is_mapped_to_ingest() {
    breaks(
        ("          ONCEHOOK_TABLE_ACCOUNTS: !Ref AccountsTable\n", ""),
        &format!("template.yaml:{}:", line("Ingest:") + 1),
        &[
            "does not know the table `accounts`",
            "ONCEHOOK_TABLE_ACCOUNTS",
            "oncehook.toml:6",
        ],
    );
    // By its own name it is found without a variable.
    let project = Project::new();
    project.change(
        "template.yaml",
        "          ONCEHOOK_TABLE_ACCOUNTS: !Ref AccountsTable\n",
        "",
    );
    project.change(
        "template.yaml",
        "    Properties:\n      AttributeDefinitions",
        "    Properties:\n      TableName: accounts\n      AttributeDefinitions",
    );
    assert_eq!(
        project.check(&["--strict"]).status.code(),
        Some(0),
        "{}",
        err(&project.check(&[]))
    );
}

#[test]
fn ingest_is_allowed_what_the_rules_do() {
    breaks(
        (POLICY, "Action: dynamodb:ConditionCheckItem"),
        &format!("template.yaml:{}:", line("Role: !GetAtt")),
        &[
            "oncehook.toml:16 writes the table `accounts`",
            "needs dynamodb:UpdateItem",
            "!GetAtt AccountsTable.Arn",
        ],
    );
    breaks(
        (POLICY, "Action: dynamodb:UpdateItem"),
        "template.yaml:",
        &["oncehook.toml:21", "needs dynamodb:ConditionCheckItem"],
    );
    breaks(
        (
            "Resource: [!GetAtt AccountsTable.Arn]",
            "Resource: !GetAtt Table.Arn",
        ),
        "template.yaml:",
        &["UpdateItem"],
    );
    breaks(
        (
            "              - Effect: Allow\n",
            "              - { Effect: Deny, Action: 'dynamodb:Update*', Resource: '*' }\n              - Effect: Allow\n",
        ),
        &format!("template.yaml:{}:", line("- Effect: Allow")),
        &["UpdateItem", "denied here"],
    );
}

#[test]
fn policies_are_read_in_every_form() {
    let role = "      Role: !GetAtt IngestRole.Arn\n";
    for policy in [
        "      Policies:\n        - DynamoDBCrudPolicy: { TableName: !Ref AccountsTable }\n",
        "      Policies:\n        Statement:\n          Effect: Allow\n          Action: 'dynamodb:*'\n          Resource: !Sub 'arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${AccountsTable}'\n",
    ] {
        let project = Project::new();
        project.change("template.yaml", role, policy);
        let output = project.check(&["--strict"]);
        assert_eq!(output.status.code(), Some(0), "{policy}{}", err(&output));
    }
    breaks(
        (
            role,
            "      Policies:\n        - DynamoDBWritePolicy: { TableName: !Ref AccountsTable }\n",
        ),
        "template.yaml:",
        &["ConditionCheckItem"],
    );
    // What cannot be read is said, not guessed.
    let project = Project::new();
    project.change(
        "template.yaml",
        role,
        "      Role: arn:aws:iam::123456789012:role/theirs\n",
    );
    project.remarks(
        &[],
        &format!("template.yaml:{}:", line("Role: !GetAtt")),
        &["note: ", "role/theirs` is not in the template"],
    );
    let project = Project::new();
    project.change("template.yaml", "              - Effect: Allow\n                Action: [dynamodb:UpdateItem, dynamodb:ConditionCheckItem]\n                Resource: [!GetAtt AccountsTable.Arn]",
        "              - !If\n                - Other\n                - Effect: Allow\n                  Action: 'dynamodb:*'\n                  Resource: '*'\n                - !Ref AWS::NoValue");
    project.remarks(&[], "template.yaml:", &["note: ", "under a condition"]);
}

#[test]
fn key_schemas_fit() {
    let place = format!("template.yaml:{}:", line("KeySchema") + 1);
    breaks(
        ("AttributeType: S", "AttributeType: N"),
        &place,
        &[
            "`AccountsTable` has the key { customer_id = \"N\" }",
            "oncehook.toml:7",
            "{ customer_id = \"S\" }",
        ],
    );
    breaks(
        (
            "        - { AttributeName: customer_id, KeyType: HASH }",
            "        - { AttributeName: id, KeyType: HASH }",
        ),
        &place,
        &["{ id = \"?\" }"],
    );
}

#[test]
fn tables_of_nested_templates_are_found() {
    let project = Project::new();
    let from = TEMPLATE.find("  AccountsTable:\n").unwrap();
    let table = &TEMPLATE[from..];
    let nested = format!(
        "Resources:\n{table}Outputs:\n  Name: {{ Value: !Ref AccountsTable }}\n  Arn: {{ Value: !GetAtt AccountsTable.Arn }}\n"
    );
    let parent = TEMPLATE[..from]
        .replace("!Ref AccountsTable", "!GetAtt Example.Outputs.Name")
        .replace("!GetAtt AccountsTable.Arn", "!GetAtt Example.Outputs.Arn");
    project.write("template.yaml", &format!("{parent}  Example:\n    Type: AWS::Serverless::Application\n    Properties: {{ Location: infra/tables.yaml }}\n"));
    project.fails(
        &[],
        "template.yaml:",
        &["cannot read the template infra/tables.yaml"],
    );
    std::fs::create_dir(project.0.path().join("infra")).unwrap();
    project.write("infra/tables.yaml", &nested);
    let output = project.check(&["--strict"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    project.change("infra/tables.yaml", "AttributeType: S", "AttributeType: N");
    project.fails(&[], "infra/tables.yaml:8:", &["customer_id = \"N\""]);
}

#[test]
fn time_outs_fit_together() {
    let drain = format!("template.yaml:{}:", line("!Ref LongestCall, Drain"));
    let project = Project::new();
    project.change("oncehook.toml", "timeout = \"10s\"", "timeout = \"15s\"");
    project.fails(
        &[],
        &drain,
        &[
            "30 s (by the parameter LongestCall)",
            "[destination.mail] in oncehook.toml:39",
            "at least 35 s",
        ],
    );
    project.fails(&["--parameter", "LongestCall=15"], &drain, &["at least 35 s"]);
    project.change(
        "template.yaml",
        "\"15\": { Drain: 30, Visibility: 180 }",
        "\"15\": { Drain: 35, Visibility: 180 }",
    );
    project.fails(
        &["--parameter", "LongestCall=15"],
        "template.yaml:",
        &["VisibilityTimeout is 180 s", "at least 210 s"],
    );
    project.fails(
        &["--parameter", "LongestCal=15"],
        "template.yaml:1:1: ",
        &["no parameter `LongestCal`"],
    );
    breaks(
        (
            "      VisibilityTimeout: !FindInMap [Calls, !Ref LongestCall, Visibility]\n",
            "      DelaySeconds: 0\n",
        ),
        "template.yaml:",
        &["VisibilityTimeout is 30 s, the default"],
    );
    breaks(
        (
            "Properties: { Queue: !GetAtt Queue.Arn }",
            "Properties: { Queue: !GetAtt Queue.Arn, MaximumBatchingWindowInSeconds: 5 }",
        ),
        "template.yaml:",
        &["batching window of 5 s", "at least 185 s"],
    );
}

#[test]
fn ingest_answers_before_the_gateway_gives_up_and_after_its_budget() {
    let ingest = format!("template.yaml:{}:", line("!Ref IngestTimeout"));
    breaks(
        ("Default: 15", "Default: 31"),
        &ingest,
        &["31 s (by the parameter IngestTimeout)", "at most 30 s"],
    );
    breaks(
        ("Timeout: !Ref IngestTimeout", "Timeout: !If [Other, 15, 4]"),
        &ingest,
        &[
            "time-out is 4 s",
            "[source.stripe] in oncehook.toml:4",
            "at least 5 s",
        ],
    );
    breaks(
        ("      Timeout: !Ref IngestTimeout\n", ""),
        "template.yaml:",
        &["time-out is 3 s, the default"],
    );
    let project = Project::new();
    project.change(
        "template.yaml",
        "Timeout: !Ref IngestTimeout",
        "Timeout: !ImportValue limit",
    );
    project.remarks(
        &[],
        &ingest,
        &["note: Timeout of Ingest is `${Fn::ImportValue}`", "not checked"],
    );
}

#[test]
fn functions_have_the_variables_that_they_need_and_no_others() {
    breaks(
        ("        ONCEHOOK_QUEUE_URL: !Ref Queue\n", ""),
        "template.yaml:",
        &["Sweep is without ONCEHOOK_QUEUE_URL"],
    );
    let project = Project::new();
    project.change(
        "template.yaml",
        "ONCEHOOK_TABLE_ACCOUNTS:",
        "ONCEHOOK_TABLE_OLD: old\n          ONCEHOOK_TABLE_ACCOUNTS:",
    );
    project.remarks(
        &[],
        "template.yaml:",
        &["warning: nobody reads ONCEHOOK_TABLE_OLD"],
    );
    let project = Project::new();
    project.change(
        "template.yaml",
        "ONCEHOOK_TABLE_ACCOUNTS:",
        "ONCEHOOK_SECRET_STRIPE: whsec_1\n          ONCEHOOK_TABLE_ACCOUNTS:",
    );
    project.remarks(
        &[],
        "template.yaml:",
        &[
            "warning: Ingest has ONCEHOOK_SECRET_STRIPE",
            "oncehook secret set",
        ],
    );
    breaks(
        (
            "        ONCEHOOK_QUEUE_URL: !Ref Queue\n",
            "        ONCEHOOK_QUEUE_URL: !Ref Queue\n        ONCEHOOK_URL_MAIL: http://mail.example.com/\n",
        ),
        "template.yaml:",
        &["[destination.mail]", "https://"],
    );
}

#[test]
fn a_template_is_found_given_or_said_to_be_missing() {
    let project = Project::new();
    std::fs::rename(
        project.0.path().join("template.yaml"),
        project.0.path().join("other.yaml"),
    )
    .unwrap();
    project.remarks(
        &["--strict"],
        "note: ",
        &["no template.yaml beside oncehook.toml"],
    );
    project.change("other.yaml", "Default: 15", "Default: 31");
    project.fails(&["--template", "other.yaml"], "other.yaml:", &["API Gateway"]);
    project.fails(
        &["--template", "none.yaml"],
        "oncehook: ",
        &["no template none.yaml"],
    );
    project.write("template.yaml", "Resources: [");
    project.fails(&[], "template.yaml:2:1: ", &["did not find"]);
    project.write("template.yaml", "Resources: {}");
    project.fails(
        &[],
        "template.yaml:1:1: ",
        &["no resource `Ingest`", "--no-template"],
    );
}

#[test]
fn large_bodies_are_kept_longer_than_the_events() {
    breaks(
        (
            "BodyDays: { Type: Number, Default: 32 }",
            "BodyDays: { Type: Number, Default: 31 }",
        ),
        &format!("template.yaml:{}:", line("ExpirationInDays: !Ref BodyDays")),
        &[
            "after 31 days (by the parameter BodyDays)",
            "keeps its events for 30 days",
            "at least 32",
        ],
    );
    let variable = "        ONCEHOOK_BODIES: !Ref Bodies\n";
    let project = Project::new();
    project.change("template.yaml", variable, "");
    project.remarks(&[], "template.yaml:1:", &["above 64 KiB", "refused with 413"]);
    let ingest = "          ONCEHOOK_TABLE_ACCOUNTS: !Ref AccountsTable\n";
    project.change("template.yaml", ingest, &format!("{ingest}  {variable}"));
    project.fails(&[], "template.yaml:1:", &["Drain is without ONCEHOOK_BODIES"]);
    let project = Project::new();
    project.change("template.yaml", "  Bodies:\n", "  Elsewhere:\n");
    project.change(
        "template.yaml",
        "ONCEHOOK_BODIES: !Ref Bodies",
        "ONCEHOOK_BODIES: somewhere",
    );
    project.remarks(&[], "template.yaml:1:", &["a bucket outside this template"]);
}
