//! Reading templates: what each function of CloudFormation may give, and what only a deployment knows.

use std::collections::BTreeMap;

use oncehook_local::template::{Mistake, Part, Template};

fn read(text: &str) -> Result<Template, Mistake> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("template.yaml");
    std::fs::write(&file, text).unwrap();
    Template::read(&file, &BTreeMap::from([("Given".to_owned(), "given".to_owned())]))
}

const HEAD: &str = "
Parameters:
  Size: { Type: Number, Default: 3 }
  Given: { Type: String, Default: default }
  Open: { Type: String }
Mappings:
  Sizes: { '3': { Name: three } }
Resources:
  Table: { Type: AWS::DynamoDB::Table }
  Thing:
    Type: AWS::SQS::Queue
    Properties:
      Value: ";

/// Every text that a value may be.
fn texts(value: &str) -> Vec<String> {
    let template = read(&format!("{HEAD}{value}\n")).unwrap();
    template
        .resource("Thing")
        .unwrap()
        .property("Value")
        .map(Part::texts)
        .unwrap()
}

#[test]
fn values_are_what_their_functions_give() {
    for (value, expected) in [
        ("plain", vec!["plain"]),
        ("!Ref Size", vec!["3"]),
        ("{ Ref: Size }", vec!["3"]),
        ("!Ref Given", vec!["given"]),
        ("!Ref Open", vec!["${Open}"]),
        ("!Ref Table", vec!["${Table}"]),
        ("!Ref AWS::Region", vec!["${AWS::Region}"]),
        ("!Ref AWS::NoValue", vec![]),
        ("!GetAtt Table.Arn", vec!["${Table.Arn}"]),
        ("{ 'Fn::GetAtt': [Table, Arn] }", vec!["${Table.Arn}"]),
        (
            "!Sub a-${Size}-${Table.Arn}-${!Kept}",
            vec!["a-3-${Table.Arn}-${Kept}"],
        ),
        (
            "!Sub ['${Own}/${Size}', { Own: !If [Big, x, !Ref Table] }]",
            vec!["x/3", "${Table}/3"],
        ),
        ("!If [Big, 1, !If [Small, 2, !Ref AWS::NoValue]]", vec!["1", "2"]),
        (
            "!Join ['-', [a, !Ref Size, !If [Big, b, c]]]",
            vec!["a-3-b", "a-3-c"],
        ),
        ("!FindInMap [Sizes, !Ref Size, Name]", vec!["three"]),
        ("!FindInMap [Sizes, !Ref Open, Name]", vec!["${Fn::FindInMap}"]),
        ("!ImportValue other", vec!["${Fn::ImportValue}"]),
    ] {
        assert_eq!(texts(value), expected, "{value}");
    }
}

#[test]
fn a_number_that_only_a_deployment_knows_is_none() {
    let numbers = |value: &str| {
        let template = read(&format!("{HEAD}{value}\n")).unwrap();
        template
            .resource("Thing")
            .unwrap()
            .property("Value")
            .unwrap()
            .numbers()
    };
    assert_eq!(numbers("!If [Big, !Ref Size, 5]"), Ok(vec![3, 5]));
    assert_eq!(numbers("!Ref Open"), Err("${Open}".to_owned()));
}

#[test]
fn a_value_knows_its_place_and_its_parameters() {
    let template = read(&format!("{HEAD}!Sub ['${{A}}', {{ A: !Ref Size }}]\n")).unwrap();
    let part = template.resource("Thing").unwrap().property("Value").unwrap();
    assert_eq!((part.place().line, part.place().column), (13, 14));
    assert_eq!(part.parameters(), ["Size"]);
}

#[test]
fn globals_hold_for_functions_that_say_nothing_else() {
    let template = read(
        "Globals: { Function: { Timeout: 5, Environment: { Variables: { A: global, B: global } } } }
Resources:
  F:
    Type: AWS::Serverless::Function
    Properties: { Environment: { Variables: { B: own, C: own } } }
  Q: { Type: AWS::SQS::Queue }
",
    )
    .unwrap();
    let function = template.resource("F").unwrap();
    assert_eq!(function.property("Timeout").unwrap().texts(), ["5"]);
    let variables: Vec<_> = function
        .variables()
        .into_iter()
        .map(|(name, part)| (name, part.texts().join("")))
        .collect();
    assert_eq!(
        variables,
        [
            ("A", "global".to_owned()),
            ("B", "own".to_owned()),
            ("C", "own".to_owned())
        ]
    );
    assert!(template.resource("Q").unwrap().property("Timeout").is_none());
}

#[test]
fn json_and_aliases_are_yaml_as_well() {
    let template =
        read(r#"{"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"A": {"Ref": "Q"}}}}}"#)
            .unwrap();
    assert_eq!(
        template.resource("Q").unwrap().property("A").unwrap().texts(),
        ["${Q}"]
    );
    let template = read("Resources:\n  Q: &q { Type: AWS::SQS::Queue }\n  R: *q\n").unwrap();
    assert_eq!(template.resource("R").unwrap().kind, "AWS::SQS::Queue");
}

#[test]
fn what_is_no_template_is_a_mistake_with_its_place() {
    for (text, line, part) in [
        ("", 1, "nothing in this file"),
        ("Resources:\n  A: [\n", 3, ""),
        ("Resources: {}\nResources: {}\n", 2, "`Resources` stands twice"),
        ("a: *b\n", 1, ""),
    ] {
        let mistake = read(text).unwrap_err();
        assert_eq!(mistake.place.line, line, "{mistake}");
        assert!(mistake.message.contains(part), "{mistake}");
    }
}

#[test]
fn nested_templates_that_are_not_files_are_named() {
    let template = read(
        "Resources:
  Far: { Type: AWS::CloudFormation::Stack, Properties: { TemplateURL: 'https://example.com/t.yaml' } }
",
    )
    .unwrap();
    let [(place, why)] = template.unread.as_slice() else {
        panic!("{:?}", template.unread)
    };
    assert_eq!(place.line, 2);
    assert!(why.contains("https://example.com/t.yaml"), "{why}");
}
