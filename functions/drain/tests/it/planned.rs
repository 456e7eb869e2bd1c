//! An event planned by rules, committed and drained: from oncehook.toml to the wire.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::SignedDuration;
use oncehook_core::{
    clock::Clock,
    config::Config,
    decide::Decision,
    plan::{Handler, PlanError},
    rules::Rules,
};
use oncehook_drain::{Drain, handle};
use oncehook_edge::{SecretStore, Secrets, Signer};
use oncehook_local::{clock::ManualClock, database::Database, queue, sample};
use oncehook_store::{Commit, Keep, Ledger, OutboxView, Queue, Wakeup, create_table};
use tokio::{sync::mpsc, time::Instant};

use crate::{drain::PK, world::now};

pub(crate) struct Planned {
    drain: Drain,
    pub(crate) clock: Arc<ManualClock>,
    _woken: mpsc::UnboundedReceiver<(Wakeup, Duration)>,
    database: Database,
}

/// `[destination.to]` with these lines, and one effect to it with these.
pub(crate) fn config(destination: &str, effect: &str) -> Config {
    let text = format!(
        "[source.stripe]\nscheme = \"stripe\"\nsecret = \"s\"\n[destination.to]\n{destination}\n[[rule]]\nname = \"r\"\n\
         source = \"stripe\"\nevents = [\"*\"]\n[[rule.effect]]\nname = \"e\"\ndestination = \"to\"\n{effect}"
    );
    Config::parse(&text, "oncehook.toml").unwrap_or_else(|errors| panic!("{errors}"))
}

impl Planned {
    /// An event with this body, committed.
    pub(crate) async fn commit(
        config: &Config,
        body: &[u8],
        content_type: Option<&str>,
        secrets: Secrets,
        signer: Signer,
    ) -> Result<Self, PlanError> {
        let mut event = sample::event("evt_1");
        event.body = Bytes::copy_from_slice(body);
        event.data = Arc::new(serde_json::from_slice(body).unwrap_or_default());
        event.content_type = content_type.map(str::to_owned);
        let plan = Rules::new(config).unwrap().plan(&event)?;
        let database = Database::start(None).unwrap();
        let client = oncehook_edge::local_dynamodb(&database.endpoint());
        create_table(&client, "oncehook").await.unwrap();
        let ledger = Ledger::new(client, "oncehook".into(), BTreeMap::new(), 4);
        let day = SignedDuration::from_hours(24);
        let commit = Commit {
            event: &event,
            decision: &Decision::Apply(plan),
            keep: Keep {
                retention: day,
                keys_for: day,
            },
            now: now(),
            deadline: Instant::now() + Duration::from_secs(2),
        };
        ledger.commit(commit).await.unwrap();
        let clock = Arc::new(ManualClock::at(now()));
        let (sender, woken) = mpsc::unbounded_channel();
        let (time, secrets) = (
            Arc::<ManualClock>::clone(&clock),
            Arc::new(SecretStore::fixed(secrets)),
        );
        let drain = Drain::new(config, secrets, ledger, Queue::Local(sender), time).unwrap();
        Ok(Self {
            drain: drain.signed_by(&Arc::new(signer)),
            clock,
            _woken: woken,
            database,
        })
    }

    /// Wakes the item once.
    pub(crate) async fn wake(&self) {
        let wakeup = Wakeup {
            key: self.item().await.key,
            destination: "to".into(),
            tenant: String::new(),
            probe: true,
        };
        let event = queue::event(&[wakeup.to_json()]);
        let answer = handle(&self.drain, event, Instant::now() + Duration::from_secs(20)).await;
        assert!(answer.batch_item_failures.is_empty());
    }

    /// Lets the item fall due, and wakes it.
    pub(crate) async fn wake_when_due(&self) {
        let due = self.item().await.at.expect("due");
        let wait = due.duration_since(self.clock.now()).max(SignedDuration::ZERO);
        self.clock.advance(wait + SignedDuration::from_secs(1));
        self.wake().await;
    }

    pub(crate) async fn item(&self) -> OutboxView {
        self.drain.ledger.event(PK).await.unwrap().unwrap().1.remove(0)
    }

    /// Every item of the table, as it is stored.
    pub(crate) async fn stored(&self) -> String {
        let client = oncehook_edge::local_dynamodb(&self.database.endpoint());
        let all = client.scan().table_name("oncehook").send().await.unwrap();
        format!("{:?}", all.items())
    }
}
