//! Wake-ups: messages that say "look at this outbox item again". They carry no truth: losing, repeating or
//! reordering all of them changes nothing but latency.

use std::time::Duration;

use aws_sdk_sqs::{
    error::DisplayErrorContext,
    types::{QueueAttributeName, SendMessageBatchRequestEntry},
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::UnboundedSender;

use crate::keys::OutboxKey;

/// The longest delay that SQS takes.
const LONGEST_DELAY: Duration = Duration::from_secs(15 * 60);

/// One outbox item to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wakeup {
    /// Which item.
    pub key: OutboxKey,
    /// Its destination: the permit to wait for before claiming.
    pub destination: String,
    /// Whose event it was: the group of a fair queue.
    pub tenant: String,
    /// Sent to try a paused destination with one item.
    pub probe: bool,
}

/// Why a message is not a wake-up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WakeupError {
    /// Not this JSON.
    #[error("not a wake-up: {0}")]
    Unreadable(String),
    /// From a newer release.
    #[error("a wake-up of version {0}, which this release does not know")]
    Newer(u32),
}

/// The queue refused or could not be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("waking the outbox: {0}")]
pub struct QueueError(pub String);

#[derive(Serialize, Deserialize)]
struct Message {
    v: u32,
    pk: String,
    sk: String,
    destination: String,
    #[serde(default)]
    tenant: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    probe: bool,
}

/// What every version of a message has.
#[derive(Deserialize)]
struct Version {
    v: u32,
}

const MESSAGE_VERSION: u32 = 1;

impl Wakeup {
    /// The message body.
    #[must_use]
    pub fn to_json(&self) -> String {
        let Self {
            key: OutboxKey { pk, sk },
            destination,
            tenant,
            probe,
        } = self.clone();
        serde_json::json!(Message {
            v: MESSAGE_VERSION,
            pk,
            sk,
            destination,
            tenant,
            probe
        })
        .to_string()
    }

    /// Reads a message body.
    ///
    /// # Errors
    /// When it is not a wake-up that this release understands; such a message can only be counted and dropped.
    pub fn parse(body: &str) -> Result<Self, WakeupError> {
        let unreadable = |error: serde_json::Error| WakeupError::Unreadable(error.to_string());
        let Version { v } = serde_json::from_str(body).map_err(unreadable)?;
        if v > MESSAGE_VERSION {
            return Err(WakeupError::Newer(v));
        }
        let message: Message = serde_json::from_str(body).map_err(unreadable)?;
        let Message {
            pk,
            sk,
            destination,
            tenant,
            probe,
            ..
        } = message;
        Ok(Self {
            key: OutboxKey { pk, sk },
            destination,
            tenant,
            probe,
        })
    }
}

/// Where wake-ups go.
#[derive(Debug, Clone)]
pub enum Queue {
    /// An SQS standard queue.
    Sqs {
        /// The client.
        client: aws_sdk_sqs::Client,
        /// The queue's URL.
        url: String,
    },
    /// This process: each wake-up with its delay. Used by `oncehook dev` and tests.
    Local(UnboundedSender<(Wakeup, Duration)>),
}

impl Queue {
    /// Wakes these items now.
    ///
    /// # Errors
    /// When a message could not be sent; the sweeper will find its item.
    pub async fn wake(&self, wakeups: &[Wakeup]) -> Result<(), QueueError> {
        self.send(wakeups, Duration::ZERO).await
    }

    /// Wakes one item later: up to 15 minutes, rounded up to whole seconds.
    ///
    /// # Errors
    /// As [`wake`](Self::wake).
    pub async fn wake_after(&self, wakeup: &Wakeup, delay: Duration) -> Result<(), QueueError> {
        self.send(std::slice::from_ref(wakeup), delay.min(LONGEST_DELAY))
            .await
    }

    /// About how many messages wait, delayed ones and those being handled included; unknown for a queue in this process.
    ///
    /// # Errors
    /// When SQS does not say.
    pub async fn length(&self) -> Result<Option<u64>, QueueError> {
        let Self::Sqs { client, url } = self else {
            return Ok(None);
        };
        let counts = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
        ];
        let answer = client
            .get_queue_attributes()
            .queue_url(url)
            .set_attribute_names(Some(counts.to_vec()))
            .send()
            .await
            .map_err(|error| QueueError(DisplayErrorContext(&error).to_string()))?;
        let count = |name| answer.attributes()?.get(name)?.parse::<u64>().ok();
        let known: Vec<u64> = counts.iter().filter_map(count).collect();
        Ok((!known.is_empty()).then(|| known.iter().sum()))
    }

    async fn send(&self, wakeups: &[Wakeup], delay: Duration) -> Result<(), QueueError> {
        match self {
            Self::Local(sender) => wakeups
                .iter()
                .try_for_each(|wakeup| sender.send((wakeup.clone(), delay)))
                .map_err(|_| QueueError("the receiving end is gone".to_owned())),
            Self::Sqs { client, url } => {
                for batch in wakeups.chunks(10) {
                    send_batch(client, url, batch, delay).await?;
                }
                Ok(())
            }
        }
    }
}

async fn send_batch(
    client: &aws_sdk_sqs::Client,
    url: &str,
    batch: &[Wakeup],
    delay: Duration,
) -> Result<(), QueueError> {
    let seconds = delay.as_secs() + u64::from(delay.subsec_nanos() > 0);
    let mut request = client.send_message_batch().queue_url(url);
    for (index, wakeup) in batch.iter().enumerate() {
        let entry = SendMessageBatchRequestEntry::builder()
            .id(index.to_string())
            .message_body(wakeup.to_json())
            .delay_seconds(i32::try_from(seconds).unwrap_or(900))
            .set_message_group_id(group(&wakeup.tenant))
            .build()
            .map_err(|error| QueueError(error.to_string()))?;
        request = request.entries(entry);
    }
    let answer = request
        .send()
        .await
        .map_err(|error| QueueError(DisplayErrorContext(&error).to_string()))?;
    match answer.failed() {
        [] => Ok(()),
        [first, ..] => Err(QueueError(format!(
            "{} of {} messages refused: {} {}",
            answer.failed().len(),
            batch.len(),
            first.code(),
            first.message().unwrap_or_default()
        ))),
    }
}

/// The group that makes a standard queue fair between tenants; SQS allows 128 characters of a limited set.
fn group(tenant: &str) -> Option<String> {
    let group: String = tenant
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .take(128)
        .collect();
    (!group.is_empty()).then_some(group)
}
