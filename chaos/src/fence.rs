//! Watches that nobody settles what another holds. Looks at requests before they are broken on purpose.

use serde_json::Value;

use crate::{
    database::text,
    world::{Kind, World},
};

/// The lease under which an attempt is settled, as the product asked for it: whatever becomes of the request, it must not
/// take effect once another has the item.
pub(crate) struct Fence {
    pk: String,
    sk: String,
    lease: String,
}

impl Fence {
    pub(crate) fn of(operation: &str, request: &Value) -> Option<Self> {
        let actions = match operation {
            "UpdateItem" => vec![request],
            "TransactWriteItems" => {
                let all = request["TransactItems"].as_array().into_iter().flatten();
                all.filter_map(|action| action.get("Update")).collect()
            }
            _ => Vec::new(),
        };
        actions.into_iter().find_map(|action| {
            let condition = action["ConditionExpression"].as_str()?;
            condition.contains("lease_id = :lease").then_some(())?;
            Some(Self {
                pk: text(&action["Key"], "pk")?,
                sk: text(&action["Key"], "sk")?,
                lease: text(&action["ExpressionAttributeValues"], ":lease")?,
            })
        })
    }

    /// Executes a write and watches this.
    pub(crate) fn watch(fence: Option<&Self>, world: &World, operation: &str, body: &str) -> (u16, String) {
        let before = fence.and_then(|fence| world.database.get(&fence.pk, &fence.sk));
        let answer = world.database.execute(operation, body);
        if let (Some(fence), Some(before), 200) = (fence, before, answer.0)
            && text(&before, "lease_id").as_deref() != Some(&fence.lease)
        {
            let what = format!(
                "{} {} is settled by an attempt that had lost it",
                fence.pk, fence.sk
            );
            world.wrong(Kind::Doubled, what);
        }
        answer
    }
}
