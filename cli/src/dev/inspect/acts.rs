//! Retry, resend, discard, replay: asked of the same desks as on the command line, first what it would be, then doing it.

use http::StatusCode;
use oncehook_store::{EventView, OutboxKey};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Inspect, Told, refused, rules};
use crate::{events, operate::How, outbox};

/// An act, or the question what it would be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Act {
    act: Verb,
    /// Of an event or an outbox item.
    key: String,
    /// Why, as recorded.
    #[serde(default)]
    reason: Option<String>,
    /// Resend: what the rule makes of the event now.
    #[serde(default)]
    render: bool,
    /// Replay: held events as well.
    #[serde(default)]
    release: bool,
    /// Do it; otherwise it is only told what would be done.
    #[serde(default)]
    yes: bool,
}

#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Verb {
    Retry,
    Resend,
    Discard,
    Replay,
}

impl Inspect {
    /// `{possible, told}` of a question, `{done, told}` of an act.
    pub(super) async fn act(&self, asked: Act) -> Told {
        let reason = asked.reason.clone().filter(|reason| !reason.trim().is_empty());
        if asked.yes && asked.act == Verb::Discard && reason.is_none() {
            return Err((
                StatusCode::BAD_REQUEST,
                "say why it is discarded: the reason is recorded".to_owned(),
            ));
        }
        let how = How::confirmed(reason);
        let end = if asked.act == Verb::Replay {
            let desk = self.events_desk(asked.release)?;
            match asked.yes {
                true => desk.act(&how, &asked.key).await,
                false => desk
                    .read(&asked.key)
                    .await
                    .and_then(|event| Ok(desk.plan(&event)?.told)),
            }
        } else if let Some(key) = OutboxKey::parse(&asked.key) {
            self.of_item(&asked, &how, &key).await?
        } else if asked.act == Verb::Discard {
            let desk = self.events_desk(false)?;
            match asked.yes {
                true => desk.dismiss(&how, &asked.key).await,
                false => desk
                    .read(&asked.key)
                    .await
                    .and_then(|event| events::desk::may_dismiss(&event)),
            }
        } else {
            return Err((StatusCode::BAD_REQUEST, "no key of an outbox item".to_owned()));
        };
        if asked.yes {
            self.watch.rings().version += 1;
        }
        let (ok, told) = match end {
            Ok(told) => (true, told),
            Err(why) => (false, words(&why)),
        };
        Ok(json!({ (if asked.yes { "done" } else { "possible" }): ok, "told": told }))
    }

    async fn of_item(
        &self,
        asked: &Act,
        how: &How,
        key: &OutboxKey,
    ) -> Result<Result<String, String>, (StatusCode, String)> {
        let verb = match asked.act {
            Verb::Resend => outbox::desk::Verb::Resend { render: asked.render },
            Verb::Discard => outbox::desk::Verb::Discard,
            Verb::Retry | Verb::Replay => outbox::desk::Verb::Retry,
        };
        let desk = self.outbox_desk()?;
        if asked.yes {
            return Ok(desk.act(verb, how, key).await);
        }
        let item = desk.ledger.item(key).await.map_err(refused)?;
        let item = item.ok_or((StatusCode::NOT_FOUND, "it is gone".to_owned()))?;
        desk.would(verb, &item).await.map_err(refused)
    }

    /// What can be done about an outbox item.
    pub(super) async fn may_effect(&self, key: &OutboxKey) -> Value {
        use outbox::desk::Verb::{Discard, Resend, Retry};
        let Ok(desk) = self.outbox_desk() else {
            return Value::Null;
        };
        let Ok(Some(item)) = desk.ledger.item(key).await else {
            return Value::Null;
        };
        let mut may = json!({});
        for verb in [Retry, Resend { render: false }, Discard] {
            may[verb.word()] = match desk.would(verb, &item).await {
                Ok(would) => possible(would),
                Err(error) => possible(Err(format!("{error:#}"))),
            };
        }
        may
    }

    /// What can be done about an event.
    pub(super) fn may_event(&self, event: &EventView) -> Value {
        let replay = |release| match self.events_desk(release) {
            Ok(desk) => desk.plan(event).map(|planned| planned.told),
            Err((_, why)) => Err(why),
        };
        json!({
            "replay": possible(replay(false)),
            "release": possible(replay(true)),
            "discard": possible(events::desk::may_dismiss(event)),
        })
    }

    fn events_desk(&self, release: bool) -> Result<events::desk::Desk, (StatusCode, String)> {
        let (place, config) = (self.place(), self.config()?);
        Ok(events::desk::Desk {
            ledger: place.ledger(Some(&config)),
            rules: rules(&config)?,
            queue: Some(self.queue.clone()),
            place,
            config,
            release,
        })
    }

    fn outbox_desk(&self) -> Result<outbox::desk::Desk, (StatusCode, String)> {
        let (place, config) = (self.place(), self.config()?);
        Ok(outbox::desk::Desk {
            ledger: place.ledger(Some(&config)),
            rules: Some(rules(&config)?),
            queue: Some(self.queue.clone()),
            client: self.client.clone(),
            place,
            config: Some(config),
        })
    }
}

fn possible(would: Result<String, String>) -> Value {
    match would {
        Ok(told) => json!({ "possible": true, "told": told }),
        Err(why) => json!({ "possible": false, "told": words(&why) }),
    }
}

/// Reasons name options of the command line; here they are buttons.
fn words(why: &str) -> String {
    why.replace("--release", "\"release\"")
}
