//! What some providers sign in place of the body: its fields in an order and a form of their own, or a checksum.
//!
//! Compares nothing.

use serde_json::Value;

use super::{VerifyError, form};

/// The fields of a message of AWS SNS that are signed, in their order, each with a line feed after its name and its value.
///
/// <https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html>
pub(super) fn sns(message: &Value) -> Vec<u8> {
    let names: &[&str] = match message["Type"].as_str() {
        Some("Notification") => &["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
        _ => &[
            "Message",
            "MessageId",
            "SubscribeURL",
            "Timestamp",
            "Token",
            "TopicArn",
            "Type",
        ],
    };
    let lines = names
        .iter()
        .filter_map(|name| message[*name].as_str().map(|value| format!("{name}\n{value}\n")));
    lines.collect::<String>().into_bytes()
}

/// The fields of a form but `p_signature`, by name, as PHP's `serialize` writes an array of strings: Paddle Classic.
///
/// # Errors
/// When the body is no form of plain fields: how lists are signed is documented nowhere.
pub(super) fn php(body: &[u8]) -> Result<Vec<u8>, VerifyError> {
    let Some(Value::Object(fields)) = form::fields(body) else {
        return Err(VerifyError::MalformedPayload);
    };
    if fields.keys().any(|name| name.contains('[')) {
        return Err(VerifyError::MalformedPayload);
    }
    let string = |text: &str| format!("s:{}:\"{text}\";", text.len());
    let signed = fields.iter().filter(|(name, _)| *name != "p_signature");
    let pairs: Vec<String> = signed
        .map(|(name, value)| string(name) + &string(value.as_str().unwrap_or_default()))
        .collect();
    Ok(format!("a:{}:{{{}}}", pairs.len(), pairs.concat()).into_bytes())
}

/// The body's CRC-32 (IEEE 802.3) in decimal: PayPal.
pub(super) fn crc32(body: &[u8]) -> String {
    let mut crc = flate2::Crc::new();
    crc.update(body);
    crc.sum().to_string()
}
