//! The trace of an event: ids that follow from the event's identity, so that whoever knows the event knows them. Nothing
//! of them is stored or sent along, and a request, its deliveries and a replay months later are one trace.
//!
//! The forms are those of W3C Trace Context: <https://www.w3.org/TR/trace-context/>

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The ids of an event's trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// 32 hexadecimal digits.
    id: String,
    /// 16: the span of the request that brought the event.
    root: String,
}

impl Trace {
    /// That of an event. Its id cannot be read out of them.
    #[must_use]
    pub fn of(namespace: &str, scope: &str, id: &str) -> Self {
        let mut hash = Sha256::new();
        for part in ["trace", namespace, scope, id] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let hash: [u8; 32] = hash.finalize().into();
        Self {
            id: hex(&hash[..16]),
            root: hex(&hash[16..24]),
        }
    }

    /// The trace's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The id of its first span.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.root
    }

    /// The header `traceparent` of a request that belongs to the span with this id; marked as recorded.
    #[must_use]
    pub fn parent(&self, span: &str) -> String {
        format!("00-{}-{span}-01", self.id)
    }
}

/// Lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_one_trace_and_another_event_another() {
        let trace = Trace::of("stripe", ":live", "evt_1");
        assert_eq!(trace, Trace::of("stripe", ":live", "evt_1"));
        assert_ne!(trace, Trace::of("stripe", ":live", "evt_2"));
        assert_ne!(
            trace,
            Trace::of("stripe:", "live", "evt_1"),
            "parts do not run together"
        );
        let parent = trace.parent("00f067aa0ba902b7");
        assert_eq!(parent.len(), 55);
        assert!(parent.starts_with("00-") && parent.ends_with("-00f067aa0ba902b7-01"));
        assert!(
            trace
                .id()
                .chars()
                .all(|digit| matches!(digit, '0'..='9' | 'a'..='f'))
        );
        assert_eq!((trace.id().len(), trace.root().len()), (32, 16));
    }
}
