//! Event bodies at rest: compressed above 1 KiB, refused above 64 KiB compressed.

use std::io::{Read, Write};

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};

use crate::{
    attr::{self, Item},
    error::CommitError,
};

/// Bodies up to this size, in bytes, are stored as they are.
const PLAIN: usize = 1024;
/// The largest body at rest, in bytes.
const LARGEST: usize = 64 * 1024;
/// The largest body that is ever expanded, in bytes: what Lambda can receive at all.
const EXPANDED: u64 = 6 * 1024 * 1024;

/// The attributes that hold a body.
///
/// # Errors
/// When the body is too large even compressed.
pub(crate) fn store(body: &[u8]) -> Result<Item, CommitError> {
    let (bytes, encoding) = if body.len() <= PLAIN {
        (body.to_vec(), "plain")
    } else {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        let packed = encoder.write_all(body).and_then(|()| encoder.finish());
        (
            packed.map_err(|error| CommitError::Broken(format!("compressing a body: {error}")))?,
            "deflate",
        )
    };
    if bytes.len() > LARGEST {
        return Err(CommitError::TooLarge {
            compressed: bytes.len(),
            limit: LARGEST,
        });
    }
    Ok(attr::item([
        ("body", attr::bytes(bytes)),
        ("body_encoding", attr::s(encoding)),
    ]))
}

/// The body that an item holds, if it holds one.
pub(crate) fn load(item: &Item) -> Option<Vec<u8>> {
    let stored = item.get("body")?.as_b().ok()?.as_ref();
    match attr::text(item, "body_encoding").as_deref() {
        Some("deflate") => {
            let mut body = Vec::new();
            DeflateDecoder::new(stored)
                .take(EXPANDED)
                .read_to_end(&mut body)
                .ok()?;
            Some(body)
        }
        _ => Some(stored.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_body_comes_back_as_it_went_in(body in proptest::collection::vec(0_u8..4, 0..9000)) {
            prop_assert_eq!(load(&store(&body).unwrap()), Some(body));
        }
    }

    #[test]
    fn what_does_not_compress_below_64_kib_is_refused() {
        let mut seed = 1_u32;
        let noise: Vec<u8> = (0..70_000)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 24).to_be_bytes()[3]
            })
            .collect();
        assert!(matches!(store(&noise), Err(CommitError::TooLarge { .. })));
        assert!(store(&vec![b'a'; 1_000_000]).is_ok());
    }
}
