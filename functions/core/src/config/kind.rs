//! What a destination is: an HTTP API, or one of three services of AWS that take a message. And which names those may
//! have. Knows no request and no answer.

use jiff::SignedDuration;

/// What a destination is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Kind {
    /// An HTTP API.
    #[default]
    Http,
    /// An SQS queue.
    Sqs {
        /// Whether it is a FIFO queue, whose name ends with `.fifo`.
        fifo: bool,
    },
    /// A Lambda function, invoked and waited for.
    Lambda,
    /// An EventBridge bus.
    EventBridge {
        /// The `source` of its events.
        source: String,
    },
}

/// How long a FIFO queue recognises a `MessageDeduplicationId`, received and deleted messages included.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>
pub const FIFO_RETENTION: SignedDuration = SignedDuration::from_mins(5);

impl Kind {
    /// As oncehook.toml names it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Sqs { .. } => "sqs",
            Self::Lambda => "lambda",
            Self::EventBridge { .. } => "eventbridge",
        }
    }

    /// The key in oncehook.toml that says which one: also what it is called in messages.
    #[must_use]
    pub fn target(&self) -> &'static str {
        match self {
            Self::Http => "url",
            Self::Sqs { .. } => "queue",
            Self::Lambda => "function",
            Self::EventBridge { .. } => "bus",
        }
    }

    /// What IAM calls the call that a delivery makes; none for HTTP.
    #[must_use]
    pub fn action(&self) -> Option<&'static str> {
        match self {
            Self::Http => None,
            Self::Sqs { .. } => Some("sqs:SendMessage"),
            Self::Lambda => Some("lambda:InvokeFunction"),
            Self::EventBridge { .. } => Some("events:PutEvents"),
        }
    }

    /// Whether it is a service of AWS.
    #[must_use]
    pub fn is_aws(&self) -> bool {
        *self != Self::Http
    }

    /// The queue's URL, the function's name or ARN, the bus's name or ARN, if it can be one.
    pub(super) fn check(&self, text: &str) -> Result<String, String> {
        match self {
            Self::Http => super::url::check(text),
            Self::Sqs { fifo } => queue(text, *fifo),
            Self::Lambda => function(text),
            Self::EventBridge { .. } => bus(text),
        }
    }
}

/// `https://sqs.REGION.amazonaws.com/ACCOUNT/NAME`; an emulator's may be on this machine.
fn queue(text: &str, fifo: bool) -> Result<String, String> {
    if text.starts_with("arn:") {
        return Err(format!("`{text}` is an ARN: give the queue's URL"));
    }
    let url = super::url::check(text)?;
    let mut parts = url.split("://").last().unwrap_or_default().split('/').skip(1);
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(account), Some(name), None) if !account.is_empty() && !url.contains('?') => name,
        _ => "",
    };
    let plain = name.strip_suffix(".fifo").unwrap_or(name);
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if plain.is_empty() || name.len() > 80 || !plain.chars().all(fits) {
        return Err(format!(
            "`{text}` is not the URL of a queue, such as https://sqs.eu-central-1.amazonaws.com/123456789012/orders"
        ));
    }
    match (fifo, name.ends_with(".fifo")) {
        (false, true) => Err(format!("`{text}` is a FIFO queue: write fifo = true")),
        (true, false) => Err(format!(
            "`{text}` is no FIFO queue, whose names end with .fifo: remove `fifo`"
        )),
        _ => Ok(url),
    }
}

/// A function's name, `NAME:ALIAS`, or its ARN.
fn function(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.:$".contains(c);
    let arn = !text.starts_with("arn:") || (text.contains(":lambda:") && text.contains(":function:"));
    if text.is_empty() || text.len() > 200 || !text.chars().all(fits) || !arn {
        return Err(format!(
            "`{text}` is not a function: give its name, NAME:ALIAS, or its ARN"
        ));
    }
    Ok(text.to_owned())
}

/// A bus's name or its ARN.
fn bus(text: &str) -> Result<String, String> {
    let arn = text.starts_with("arn:") && text.contains(":events:") && text.contains(":event-bus/");
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c) || (arn && c == ':');
    if text.is_empty() || text.len() > 1600 || !text.chars().all(fits) {
        return Err(format!("`{text}` is not an event bus: give its name or its ARN"));
    }
    Ok(text.to_owned())
}

/// The `source` of events: AWS keeps `aws.` for itself.
pub(super) fn event_source(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if text.is_empty() || text.len() > 256 || !text.chars().all(fits) || text.starts_with("aws.") {
        return Err(format!(
            "`{text}` cannot be the source of events: letters, digits and `-_./`, not beginning with `aws.`"
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_queue_a_function_or_a_bus() {
        let (plain, fifo) = (Kind::Sqs { fifo: false }, Kind::Sqs { fifo: true });
        let bus = Kind::EventBridge {
            source: "oncehook".into(),
        };
        for (kind, good) in [
            (
                &plain,
                "https://sqs.eu-central-1.amazonaws.com/123456789012/orders",
            ),
            (&plain, "http://127.0.0.1:4566/000000000000/orders-2_b"),
            (
                &fifo,
                "https://sqs.eu-central-1.amazonaws.com/123456789012/orders.fifo",
            ),
            (&Kind::Lambda, "orders"),
            (&Kind::Lambda, "orders:live"),
            (
                &Kind::Lambda,
                "arn:aws:lambda:eu-central-1:123456789012:function:orders:live",
            ),
            (&bus, "default"),
            (&bus, "arn:aws:events:eu-central-1:123456789012:event-bus/orders"),
        ] {
            assert_eq!(kind.check(good).as_deref(), Ok(good));
        }
        for (kind, bad, word) in [
            (&plain, "orders", "https://"),
            (&plain, "arn:aws:sqs:eu-central-1:123456789012:orders", "URL"),
            (
                &plain,
                "https://sqs.eu-central-1.amazonaws.com/orders",
                "not the URL",
            ),
            (
                &plain,
                "https://sqs.eu-central-1.amazonaws.com/1/orders?x=1",
                "not the URL",
            ),
            (
                &plain,
                "https://sqs.eu-central-1.amazonaws.com/1/a/b",
                "not the URL",
            ),
            (
                &plain,
                "https://sqs.eu-central-1.amazonaws.com/1/orders.fifo",
                "fifo = true",
            ),
            (&fifo, "https://sqs.eu-central-1.amazonaws.com/1/orders", "remove"),
            (
                &plain,
                "https://user:password@sqs.example/1/orders",
                "user or password",
            ),
            (&Kind::Lambda, "orders/../secrets", "not a function"),
            (
                &Kind::Lambda,
                "arn:aws:sqs:eu-central-1:1:orders",
                "not a function",
            ),
            (&Kind::Lambda, "a\r\nx: y", "not a function"),
            (&bus, "", "not an event bus"),
            (&bus, "a:b", "not an event bus"),
        ] {
            let error = kind.check(bad).unwrap_err();
            assert!(error.contains(word), "{bad}: {error}");
        }
        assert!(event_source("aws.lambda").is_err());
        assert!(event_source("com.example.webhooks").is_ok());
    }
}
