//! Oncehook's table as the store creates and writes it, in the embedded database.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use aws_sdk_dynamodb::types::{AttributeDefinition, KeySchemaElement, TableDescription};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{decide::Decision, event::Event};
use oncehook_local::{
    database::Database,
    template::{Part, Template},
};
use oncehook_store::{Commit, Keep, Ledger};
use tokio::time::Instant;

use super::{maps, resource, same, text};

/// What the code says about the table.
pub(super) struct Facts {
    described: TableDescription,
    expiry: String,
}

impl Facts {
    pub(super) async fn read() -> Self {
        let database = Database::start(None).unwrap();
        let client = oncehook_edge::local_dynamodb(&database.endpoint());
        oncehook_store::create_table(&client, "oncehook").await.unwrap();
        let described = client
            .describe_table()
            .table_name("oncehook")
            .send()
            .await
            .unwrap();
        Self {
            described: described.table.unwrap(),
            expiry: expiry(&client).await,
        }
    }
}

pub(super) fn compare(template: &Template, facts: &Facts, found: &mut Vec<String>) {
    let Facts { described, expiry } = facts;
    let table = resource(template, "Table");
    same(
        found,
        "the key",
        maps(table.property("KeySchema")),
        keys(described.key_schema()),
    );
    let sorted = |mut list: Vec<BTreeMap<String, String>>| {
        list.sort();
        list
    };
    let attributes = described.attribute_definitions().iter().map(attribute).collect();
    same(
        found,
        "the attributes",
        sorted(maps(table.property("AttributeDefinitions"))),
        sorted(attributes),
    );
    let declared = table
        .property("GlobalSecondaryIndexes")
        .map(Part::items)
        .unwrap_or_default();
    let indexes = described.global_secondary_indexes();
    same(found, "the number of indexes", declared.len(), indexes.len());
    for (declared, index) in declared.into_iter().zip(indexes) {
        let texts = |path: &[&str]| {
            let part = path.iter().try_fold(declared, |part, step| part.get(step));
            part.map(|part| part.texts().join(" "))
        };
        same(
            found,
            "the index",
            texts(&["IndexName"]).as_deref(),
            index.index_name(),
        );
        same(
            found,
            "the index's key",
            maps(declared.get("KeySchema")),
            keys(index.key_schema()),
        );
        let projection = index
            .projection()
            .and_then(|projection| projection.projection_type());
        let projection = projection.map(|kind| kind.as_str());
        same(
            found,
            "the projection",
            texts(&["Projection", "ProjectionType"]).as_deref(),
            projection,
        );
    }
    same(
        found,
        "TTL",
        text(&table, &["TimeToLiveSpecification", "AttributeName"]),
        expiry.clone(),
    );
    same(
        found,
        "TTL",
        text(&table, &["TimeToLiveSpecification", "Enabled"]),
        "true".to_owned(),
    );
}

fn keys(schema: &[KeySchemaElement]) -> Vec<BTreeMap<String, String>> {
    let one = |element: &KeySchemaElement| {
        BTreeMap::from([
            ("AttributeName".to_owned(), element.attribute_name().to_owned()),
            ("KeyType".to_owned(), element.key_type().as_str().to_owned()),
        ])
    };
    schema.iter().map(one).collect()
}

fn attribute(definition: &AttributeDefinition) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("AttributeName".to_owned(), definition.attribute_name().to_owned()),
        (
            "AttributeType".to_owned(),
            definition.attribute_type().as_str().to_owned(),
        ),
    ])
}

/// The attribute of a committed event that holds the second of its expiry.
async fn expiry(client: &aws_sdk_dynamodb::Client) -> String {
    let now: Timestamp = "2026-12-01T12:00:00Z".parse().unwrap();
    let kept = SignedDuration::from_hours(24 * 30);
    let event = Event {
        source: "stripe".to_owned(),
        namespace: "stripe".to_owned(),
        scope: String::new(),
        id: "evt_1".to_owned(),
        kind: "ping".to_owned(),
        occurred_at: None,
        tenant: String::new(),
        id_signed: true,
        guard_body: false,
        token: None,
        content_type: None,
        body: "{}".into(),
        data: Arc::new(serde_json::json!({})),
        defect: None,
    };
    let ledger = Ledger::new(client.clone(), "oncehook".to_owned(), BTreeMap::new(), 4);
    let commit = Commit {
        event: &event,
        decision: &Decision::Observe(Vec::new()),
        keep: Keep {
            retention: kept,
            keys_for: kept,
        },
        now,
        deadline: Instant::now() + Duration::from_secs(10),
    };
    ledger.commit(commit).await.unwrap();
    let stored = client.scan().table_name("oncehook").send().await.unwrap();
    let at = (now + kept).as_second().to_string();
    let item = stored.items().first().unwrap();
    let attribute = item
        .iter()
        .find(|(_, value)| value.as_n().is_ok_and(|number| *number == at));
    attribute.map(|(name, _)| name.clone()).unwrap()
}
