//! What Lambda is handed when messages wait in SQS.
//!
//! Keeps no messages: who drains decides which, when and how often.

use aws_lambda_events::event::sqs::{SqsEvent, SqsMessage};

/// An invocation's event with one message for each body.
#[must_use]
pub fn event(bodies: &[String]) -> SqsEvent {
    let message = |(index, body): (usize, &String)| {
        let mut message = SqsMessage::default();
        message.message_id = Some(index.to_string());
        message.body = Some(body.clone());
        message
    };
    let mut event = SqsEvent::default();
    event.records = bodies.iter().enumerate().map(message).collect();
    event
}
