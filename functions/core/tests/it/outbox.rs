//! Idempotency keys: the same for the same effect, for ever, and never shared by two effects.

use std::collections::BTreeSet;

use oncehook_core::outbox::{EffectId, KeyFormat, KeyShape};

const ID: EffectId<'static> = EffectId {
    namespace: "stripe",
    scope: "acct_1:live",
    id: "evt_1",
    rule: "credit",
    effect: "receipt",
    generation: 0,
};
const UUID: KeyShape = KeyShape {
    format: KeyFormat::Uuid,
    max_length: 36,
};

#[test]
fn the_key_of_an_effect_never_changes_between_releases() {
    let hex = "ec3af4ec0bf690844ad2e03f70a8fc5571b4efe8d5a905a191577d853cb568d2";
    assert_eq!(ID.key(KeyShape::DEFAULT), hex);
    assert_eq!(ID.key(UUID), "ec3af4ec-0bf6-8084-8ad2-e03f70a8fc55");
}

#[test]
fn two_different_effects_never_share_a_key() {
    let ids = [
        ID,
        EffectId {
            namespace: "strip",
            scope: "eacct_1:live",
            ..ID
        },
        EffectId {
            scope: "acct_1:test",
            ..ID
        },
        EffectId { id: "evt_2", ..ID },
        EffectId {
            rule: "creditr",
            effect: "eceipt",
            ..ID
        },
        EffectId {
            effect: "receipt2",
            ..ID
        },
        EffectId { generation: 1, ..ID },
    ];
    let short = KeyShape {
        format: KeyFormat::Hex,
        max_length: 32,
    };
    for shape in [KeyShape::DEFAULT, UUID, short] {
        let keys: BTreeSet<String> = ids.iter().map(|id| id.key(shape)).collect();
        assert_eq!(keys.len(), ids.len());
        assert!(keys.iter().all(|key| key.len() <= shape.max_length));
    }
}
