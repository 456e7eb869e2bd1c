//! The events of one request: elements of a list, cut out of the body byte for byte where that is possible.
//!
//! An element of a list has exactly the bytes that it has in the body. A part of Meta's delivery has the delivery
//! around it, reduced to that part and written anew with sorted keys, since it means little alone.

use std::collections::HashMap;

use bytes::Bytes;
use serde_json::{Value, json, value::RawValue};

use super::facts::Batch;

/// One event of a request.
#[derive(Debug)]
pub(super) struct Element {
    /// Its bytes.
    pub(super) body: Bytes,
    /// Its content.
    pub(super) data: Value,
}

/// The elements of a body whose content is known; none if it is not a batch, and the body is the event.
pub(super) fn elements(batch: Batch, body: &Bytes, data: &Value) -> Option<Vec<Element>> {
    match batch {
        Batch::No => None,
        Batch::List { at, within } => {
            let wanted = data.pointer(at)?.as_array()?;
            let cut = cut(body, at, within).filter(|cut| cut.len() == wanted.len());
            let element = |(index, item): (usize, &Value)| {
                let data = item.pointer(within).unwrap_or(item).clone();
                let body = match &cut {
                    Some(cut) => body.slice_ref(cut[index]),
                    None => Bytes::from(data.to_string()),
                };
                Element { body, data }
            };
            Some(wanted.iter().enumerate().map(element).collect())
        }
        Batch::Meta => meta(data).map(|parts| {
            let element = |data: Value| Element {
                body: Bytes::from(data.to_string()),
                data,
            };
            parts.into_iter().map(element).collect()
        }),
    }
}

/// The elements alone; the body itself if it is not a batch.
pub(super) fn values(batch: Batch, data: &Value) -> Vec<&Value> {
    match batch {
        Batch::List { at, within } => match data.pointer(at).and_then(Value::as_array) {
            Some(items) => items
                .iter()
                .map(|item| item.pointer(within).unwrap_or(item))
                .collect(),
            None => vec![data],
        },
        Batch::No | Batch::Meta => vec![data],
    }
}

/// The bytes of each element. Nothing if the way there has anything but plain names.
fn cut<'a>(body: &'a [u8], at: &str, within: &str) -> Option<Vec<&'a [u8]>> {
    let text = std::str::from_utf8(body).ok()?.trim_start_matches('\u{feff}');
    let list = inside(serde_json::from_str(text).ok()?, at)?;
    let items: Vec<&RawValue> = serde_json::from_str(list.get()).ok()?;
    items
        .into_iter()
        .map(|item| Some(inside(item, within).unwrap_or(item).get().as_bytes()))
        .collect()
}

fn inside<'a>(raw: &'a RawValue, pointer: &str) -> Option<&'a RawValue> {
    pointer.split('/').skip(1).try_fold(raw, |raw, name| {
        let mut fields: HashMap<String, &RawValue> = serde_json::from_str(raw.get()).ok()?;
        fields.remove(name)
    })
}

/// Every message, status, change and messaging event of a delivery, each as a delivery of its own.
fn meta(data: &Value) -> Option<Vec<Value>> {
    let mut parts = Vec::new();
    for entry in data.get("entry")?.as_array()? {
        let alone = |list: &str, item: Value| {
            let mut entry = entry.clone();
            if let Some(fields) = entry.as_object_mut() {
                fields.retain(|name, _| !["changes", "messaging", "standby"].contains(&name.as_str()));
                fields.insert(list.to_owned(), json!([item]));
            }
            let mut whole = data.clone();
            if let Some(fields) = whole.as_object_mut() {
                fields.insert("entry".to_owned(), json!([entry]));
            }
            whole
        };
        for list in ["messaging", "standby"] {
            let items = entry.get(list).and_then(Value::as_array);
            parts.extend(items.into_iter().flatten().map(|item| alone(list, item.clone())));
        }
        let changes = entry.get("changes").and_then(Value::as_array);
        for change in changes.into_iter().flatten() {
            parts.extend(
                split_change(change)
                    .into_iter()
                    .map(|change| alone("changes", change)),
            );
        }
    }
    Some(parts)
}

/// WhatsApp puts several messages and statuses into one change.
fn split_change(change: &Value) -> Vec<Value> {
    const LISTS: [&str; 2] = ["messages", "statuses"];
    let value = change.get("value").and_then(Value::as_object);
    let mut parts = Vec::new();
    for (list, value) in LISTS.iter().filter_map(|list| Some((*list, value?))) {
        for item in value.get(list).and_then(Value::as_array).into_iter().flatten() {
            let mut alone = value.clone();
            alone.retain(|name, _| !LISTS.contains(&name.as_str()));
            alone.insert(list.to_owned(), json!([item]));
            let mut change = change.clone();
            change["value"] = Value::Object(alone);
            parts.push(change);
        }
    }
    if parts.is_empty() {
        parts.push(change.clone());
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_bytes() {
        const LIST: Batch = Batch::List {
            at: "/items",
            within: "/it",
        };
        let body = Bytes::from_static(
            b"\xef\xbb\xbf{\"x\":1,\"items\" : [ {\"it\":{ \"a\" :1.0}}, {\"b\":[2 ]}]}\r\n",
        );
        let data = serde_json::from_slice(&body[3..]).unwrap();
        let elements = elements(LIST, &body, &data).unwrap();
        let bodies: Vec<&[u8]> = elements.iter().map(|element| &*element.body).collect();
        assert_eq!(bodies, [&b"{ \"a\" :1.0}"[..], b"{\"b\":[2 ]}"]);
        assert_eq!(elements[0].data["a"].to_string(), "1.0");
        assert_eq!(values(LIST, &data).len(), 2);
        assert_eq!(values(LIST, &Value::Null), [&Value::Null]);
    }

    #[test]
    fn deliveries_of_meta_fall_into_messages_with_their_surroundings() {
        let data = json!({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [
            {"field": "messages", "value": {"metadata": {"phone_number_id": "9"},
                "messages": [{"id": "wamid.1"}, {"id": "wamid.2"}], "statuses": [{"id": "wamid.0", "status": "read"}]}},
            {"field": "account_update", "value": {"event": "x"}},
        ]}, {"id": "2", "messaging": [{"message": {"mid": "m1"}}]}]});
        let parts = meta(&data).unwrap();
        assert_eq!(parts.len(), 5);
        let value = |index: usize| &parts[index]["entry"][0]["changes"][0]["value"];
        assert_eq!(value(1)["messages"], json!([{"id": "wamid.2"}]));
        assert_eq!(value(1)["metadata"]["phone_number_id"], "9");
        assert!(value(1).get("statuses").is_none() && value(2).get("messages").is_none());
        assert_eq!(parts[3]["entry"][0]["changes"][0]["field"], "account_update");
        assert_eq!(parts[4]["entry"][0]["messaging"][0]["message"]["mid"], "m1");
        assert_eq!(parts[4]["object"], "whatsapp_business_account");
    }
}
