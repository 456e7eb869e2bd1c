//! XML of notifications as JSON, so that rules can name places in it: elements by name, their text as strings.
//!
//! Attributes are left out, except that `type="array"` makes a list and `nil="true"` null. No entities beyond the
//! five of XML itself, no document type declarations, no namespaces.

use roxmltree::{Document, Node};
use serde_json::{Map, Value};

/// Deeper than any notification; the parser's own nesting is bounded as well.
const MAX_DEPTH: usize = 64;

/// The content of the root element.
pub(super) fn parse(text: &str) -> Option<Value> {
    let document = Document::parse(text).ok()?;
    value(document.root_element(), MAX_DEPTH)
}

fn value(node: Node<'_, '_>, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    if node.attribute("nil") == Some("true") {
        return Some(Value::Null);
    }
    let mut elements = node.children().filter(Node::is_element).peekable();
    if node.attribute("type") == Some("array") {
        return elements
            .map(|element| value(element, depth))
            .collect::<Option<_>>()
            .map(Value::Array);
    }
    if elements.peek().is_none() {
        let text: String = node.children().filter_map(|child| child.text()).collect();
        return Some(Value::String(text));
    }
    let mut fields = Map::new();
    for element in elements {
        fields.insert(element.tag_name().name().to_owned(), value(element, depth)?);
    }
    Some(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_become_fields() {
        let xml = "<n><kind>a &amp; b</kind><at type=\"datetime\">2023</at><none nil=\"true\"/>\
                   <list type=\"array\"><x><id>1</id></x></list><empty/></n>";
        let json = serde_json::json!({
            "kind": "a & b", "at": "2023", "none": null, "list": [{"id": "1"}], "empty": ""
        });
        assert_eq!(parse(xml), Some(json));
    }

    #[test]
    fn declarations_and_depth_are_refused() {
        assert_eq!(parse("<!DOCTYPE n [<!ENTITY e \"x\">]><n>&e;</n>"), None);
        assert_eq!(parse("<n>&e;</n>"), None);
        let deep = format!("{}{}", "<a>".repeat(80), "</a>".repeat(80));
        assert_eq!(parse(&deep), None);
    }
}
