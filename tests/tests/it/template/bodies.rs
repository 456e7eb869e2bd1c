//! The bucket of large bodies: the lifecycle says what the store and the bucket's module write.

use std::{collections::BTreeMap, path::Path};

use oncehook_local::template::{Part, Template};

use super::{ROOT, resource, same};

pub(super) fn compare(template: &Template, found: &mut Vec<String>) {
    let code = |file: &str| std::fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
    let store = code("functions/store/src/large.rs");
    let edge = code("functions/edge/src/bucket.rs");
    let rules = resource(template, "Bodies")
        .property("LifecycleConfiguration")
        .and_then(|part| part.get("Rules"))
        .map(Part::items)
        .unwrap_or_default();
    let text = |part: Option<Part<'_>>| part.map(Part::texts).unwrap_or_default().join(" ");
    let tags = |rule: Part<'_>| -> BTreeMap<String, String> {
        let tags = rule.get("TagFilters").map(Part::items).unwrap_or_default();
        tags.into_iter()
            .map(|tag| (text(tag.get("Key")), text(tag.get("Value"))))
            .collect()
    };
    let seen: Vec<(String, usize)> = rules
        .iter()
        .map(|rule| (text(rule.get("Prefix")), tags(*rule).len()))
        .collect();
    // What is kept expires with a tag only.
    let expected = vec![("bodies/".to_owned(), 0), ("kept/".to_owned(), 1)];
    same(found, "what expires", seen, expected);
    for prefix in ["bodies", "kept"] {
        let named = store.contains(&format!("\"{prefix}\""));
        same(found, "the folders of the store", named, true);
    }
    for (key, value) in rules.iter().flat_map(|rule| tags(*rule)) {
        let written = edge.contains(&format!("<Key>{key}</Key><Value>{value}</Value>"));
        same(found, "the tag of what is released", written, true);
    }
}
