//! What an answer says about the effect: by what the preset knows of the API, else by the status alone. Reads nothing
//! from the network and decides nothing about the item.

use http::{StatusCode, response::Parts};
use jiff::{SignedDuration, Timestamp};
use oncehook_core::{
    preset::{Means, Preset, replayed},
    settle::{Attempt, Stuck},
};

use crate::retry_after::{retry_after, told};

/// An answer as far as it was read.
pub(crate) struct Read<'a> {
    pub(crate) preset: Option<&'static Preset>,
    pub(crate) head: &'a Parts,
    pub(crate) text: &'a [u8],
    pub(crate) now: Timestamp,
}

impl Read<'_> {
    /// What it means; `detail` gives the answer in short.
    pub(crate) fn attempt(&self, detail: impl Fn() -> String) -> Attempt {
        let status = self.head.status.as_u16();
        let retry_after = retry_after(&self.head.headers, self.now);
        let stuck = |why| Attempt::Stuck {
            status,
            why,
            detail: detail(),
        };
        match self.means() {
            Some(Means::Duplicate) => Attempt::Duplicate {
                status,
                detail: detail(),
            },
            Some(Means::Later) => Attempt::Later { status, retry_after },
            Some(Means::Throttled) => Attempt::Throttled {
                retry_after: self.wait(),
            },
            Some(Means::Refused) => Attempt::Refused {
                status,
                detail: detail(),
            },
            Some(Means::Uncertain) => Attempt::Ambiguous {
                status: Some(status),
                retry_after,
                detail: detail(),
            },
            Some(Means::OtherBody) => stuck(Stuck::OtherBody),
            Some(Means::Unprotected) => stuck(Stuck::Unprotected),
            None => self.by_status(retry_after, detail),
        }
    }

    fn means(&self) -> Option<Means> {
        let preset = self.preset?;
        let body = if preset.needs_body() {
            serde_json::from_slice(self.text).ok()
        } else {
            None
        };
        preset.means(self.head.status.as_u16(), &self.head.headers, body.as_ref())
    }

    fn by_status(&self, retry_after: Option<SignedDuration>, detail: impl Fn() -> String) -> Attempt {
        let status = self.head.status.as_u16();
        match self.head.status {
            code if code.is_success() && replayed(&self.head.headers) => Attempt::Recognised { status },
            code if code.is_success() => Attempt::Delivered { status },
            code if code.is_server_error() && replayed(&self.head.headers) => Attempt::Stuck {
                status,
                why: Stuck::StoredError,
                detail: detail(),
            },
            StatusCode::TOO_MANY_REQUESTS => Attempt::Throttled {
                retry_after: self.wait(),
            },
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Attempt::Unauthorized { status },
            StatusCode::REQUEST_TIMEOUT
            | StatusCode::CONFLICT
            | StatusCode::LOCKED
            | StatusCode::TOO_EARLY => Attempt::Later { status, retry_after },
            code if code.is_client_error() => Attempt::Refused {
                status,
                detail: detail(),
            },
            _ => Attempt::Ambiguous {
                status: Some(status),
                retry_after,
                detail: detail(),
            },
        }
    }

    /// How long to wait: as `Retry-After` says, else as the API's own header does.
    fn wait(&self) -> Option<SignedDuration> {
        let own = self.preset.and_then(|preset| preset.wait);
        retry_after(&self.head.headers, self.now)
            .or_else(|| own.and_then(|wait| told(&self.head.headers, wait, self.now)))
    }
}
