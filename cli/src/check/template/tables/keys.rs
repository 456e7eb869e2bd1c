//! Whether the key of a declared table is the one that oncehook.toml says.

use std::collections::BTreeMap;

use oncehook_core::config::KeyType;
use oncehook_local::template::{Part, Place, Resource};

use super::Written;
use crate::check::{
    finding::Findings,
    template::{Context, at},
};

/// The key that the template declares must be the one of the configuration.
pub(super) fn check(
    context: &Context<'_>,
    table: &Written<'_>,
    declared: &Resource<'_>,
    findings: &mut Findings,
) {
    let expected: BTreeMap<&str, &str> = table
        .key
        .key
        .iter()
        .map(|(name, kind)| (name.as_str(), if *kind == KeyType::S { "S" } else { "N" }))
        .collect();
    let (found, place) = declared_key(declared);
    let found: BTreeMap<&str, &str> = found
        .iter()
        .map(|(name, kind)| (name.as_str(), kind.as_str()))
        .collect();
    if found.values().any(|kind| kind.contains("${")) || found.keys().any(|name| name.contains("${")) {
        findings.note(
            Some(place),
            format!("the key of `{}` is known only when it is deployed", declared.id),
        );
    } else if found != expected {
        findings.error(
            place,
            format!(
                "`{}` has the key {}, but [table.{}] in {} says {}: make them the same",
                declared.id,
                show(&found),
                table.name,
                at(&context.places.of(&["table", table.name, "key"])),
                show(&expected),
            ),
        );
    }
}

fn show(key: &BTreeMap<&str, &str>) -> String {
    let parts: Vec<String> = key
        .iter()
        .map(|(name, kind)| format!("{name} = \"{kind}\""))
        .collect();
    format!("{{ {} }}", parts.join(", "))
}

fn declared_key(table: &Resource<'_>) -> (BTreeMap<String, String>, Place) {
    let text = |part: Option<Part<'_>>| part.map(Part::texts).unwrap_or_default().into_iter().next();
    if table.kind == "AWS::Serverless::SimpleTable" {
        let key = table.property("PrimaryKey");
        let name = text(key.and_then(|key| key.get("Name"))).unwrap_or_else(|| "id".to_owned());
        let kind = match text(key.and_then(|key| key.get("Type"))).as_deref() {
            None | Some("String") => "S",
            Some("Number") => "N",
            Some(_) => "B",
        };
        let place = key.map_or_else(|| table.part.place(), |key| key.place());
        return (BTreeMap::from([(name, kind.to_owned())]), place);
    }
    let list = |name| table.property(name).map(Part::items).unwrap_or_default();
    let types: BTreeMap<String, String> = list("AttributeDefinitions")
        .into_iter()
        .filter_map(|part| Some((text(part.get("AttributeName"))?, text(part.get("AttributeType"))?)))
        .collect();
    let names = list("KeySchema")
        .into_iter()
        .filter_map(|part| text(part.get("AttributeName")));
    let key = names.map(|name| {
        let kind = types.get(&name).cloned().unwrap_or_else(|| "?".to_owned());
        (name, kind)
    });
    let place = table
        .property("KeySchema")
        .map_or_else(|| table.part.place(), |part| part.place());
    (key.collect(), place)
}
