//! `oncehook sources`, and the page of the docs that is made of it.

use std::path::Path;

use serde_json::Value;

use super::{err, oncehook, out};

fn run(arguments: &[&str]) -> std::process::Output {
    oncehook(Path::new(env!("CARGO_MANIFEST_DIR")), arguments)
}

#[test]
fn the_page_of_providers_is_what_the_table_says() {
    let output = run(&["sources", "--markdown"]);
    let file = include_str!("../../../docs/providers.md");
    assert!(
        out(&output) == file,
        "docs/providers.md is stale: run `make providers`"
    );
}

#[test]
fn every_provider_says_where_its_facts_are_from_and_how_it_is_set_up() {
    let all: Vec<Value> = serde_json::from_str(&out(&run(&["sources", "--json"]))).unwrap();
    assert!(all.len() >= 30);
    for found in &all {
        let name = found["name"].as_str().unwrap();
        for list in ["documents", "setup"] {
            assert!(!found[list].as_array().unwrap().is_empty(), "{name}: {list}");
        }
        for text in ["title", "signature", "signed", "secret", "id", "kind"] {
            assert!(!found[text].as_str().unwrap().is_empty(), "{name}: {text}");
        }
        let setup = found["setup"].to_string();
        assert!(setup.contains("{url}"), "{name}: where does the URL go?");
    }
}

#[test]
fn one_provider_is_explained_with_what_oncehook_toml_needs() {
    let output = run(&["sources", "twilio"]);
    let text = out(&output);
    for part in [
        "scheme = \"twilio\"",
        "public_url = \"https://YOUR-API/webhooks/twilio\"",
        "X-Twilio-Signature: HMAC-SHA-1, base64",
        "https://github.com/twilio/twilio-node",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let output = run(&["sources", "nobody"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("scheme = \"hmac\""), "{}", err(&output));
}
