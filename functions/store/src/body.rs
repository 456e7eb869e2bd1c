//! Event bodies at rest: compressed above 1 KiB. What is still above 64 KiB lies outside the table; see `large`.

use std::io::{Read, Write};

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};

use crate::{
    attr::{self, Item},
    error::CommitError,
};

/// Bodies up to this size, in bytes, are stored as they are.
const PLAIN: usize = 1024;
/// The largest body in the table, in bytes.
pub(crate) const LARGEST: usize = 64 * 1024;
/// The largest body that is ever expanded, in bytes: what Lambda can receive at all.
pub(crate) const EXPANDED: usize = 6 * 1024 * 1024;

/// A body as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Packed {
    pub(crate) bytes: Vec<u8>,
    pub(crate) encoding: &'static str,
}

/// Makes a body small, if that is possible.
///
/// # Errors
/// When it is larger than what can be read again.
pub(crate) fn pack(body: &[u8]) -> Result<Packed, CommitError> {
    let plain = || Packed {
        bytes: body.to_vec(),
        encoding: "plain",
    };
    if body.len() <= PLAIN {
        return Ok(plain());
    }
    if body.len() > EXPANDED {
        return Err(CommitError::TooLarge {
            compressed: body.len(),
            limit: EXPANDED,
        });
    }
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    let packed = encoder.write_all(body).and_then(|()| encoder.finish());
    let bytes = packed.map_err(|error| CommitError::Broken(format!("compressing a body: {error}")))?;
    // What does not become smaller need not be expanded, either; in the table it is marked all the same.
    if bytes.len() > LARGEST && bytes.len() >= body.len() {
        return Ok(plain());
    }
    Ok(Packed {
        bytes,
        encoding: "deflate",
    })
}

impl Packed {
    /// Whether it is too large for the table.
    pub(crate) fn is_large(&self) -> bool {
        self.bytes.len() > LARGEST
    }

    /// The attributes that hold it.
    pub(crate) fn item(&self) -> Item {
        attr::item([
            ("body", attr::bytes(self.bytes.clone())),
            ("body_encoding", attr::s(self.encoding)),
        ])
    }
}

/// The body that an item holds itself, if it does.
pub(crate) fn load(item: &Item) -> Option<Vec<u8>> {
    let stored = item.get("body")?.as_b().ok()?.as_ref();
    unpack(stored, item)
}

/// The body that was stored, as the item says how; never more than can have been received.
pub(crate) fn unpack(stored: &[u8], item: &Item) -> Option<Vec<u8>> {
    match attr::text(item, "body_encoding").as_deref() {
        Some("deflate") => {
            let mut body = Vec::new();
            DeflateDecoder::new(stored)
                .take(EXPANDED as u64)
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

    fn noise(length: usize) -> Vec<u8> {
        let mut seed = 1_u32;
        let next = |_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24).to_be_bytes()[3]
        };
        (0..length).map(next).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_body_comes_back_as_it_went_in(body in proptest::collection::vec(0_u8..4, 0..9000)) {
            prop_assert_eq!(load(&pack(&body).unwrap().item()), Some(body));
        }
    }

    #[test]
    fn what_does_not_compress_below_64_kib_is_large_and_beyond_6_mb_refused() {
        assert!(pack(&noise(70_000)).unwrap().is_large());
        assert!(!pack(&vec![b'a'; 1_000_000]).unwrap().is_large());
        assert!(matches!(
            pack(&vec![b'a'; EXPANDED + 1]),
            Err(CommitError::TooLarge { .. })
        ));
        let largest = noise(EXPANDED);
        let packed = pack(&largest).unwrap();
        assert_eq!(packed.encoding, "plain", "deflate makes noise larger");
        assert_eq!(unpack(&packed.bytes, &packed.item()), Some(largest));
    }

    #[test]
    fn a_bomb_is_cut_off() {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&vec![0; 4 * EXPANDED]).unwrap();
        let bomb = Packed {
            bytes: encoder.finish().unwrap(),
            encoding: "deflate",
        };
        assert_eq!(load(&bomb.item()).map(|body| body.len()), Some(EXPANDED));
    }
}
