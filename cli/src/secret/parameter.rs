//! The parameter with the secrets: read, changed, written, and looked at again.
//!
//! Systems Manager has no conditional write. Every write gets the next version, so a version that is not the next one
//! tells that somebody else wrote in between: their text is then taken, changed in the same way and written again.

use anyhow::{Context as _, bail};
use aws_sdk_ssm::types::{ParameterStringFilter, ParameterTier, ParameterType};

use super::{client::explain, values::Values};
use crate::answer::misuse;

/// What the standard tier holds, in bytes.
const STANDARD: usize = 4096;
/// What the advanced tier holds.
const ADVANCED: usize = 8192;
/// How often somebody else may come in between.
const TRIES: u32 = 5;

/// One parameter.
pub(super) struct Parameter {
    client: aws_sdk_ssm::Client,
    name: String,
    key: Option<String>,
}

/// What stands in it.
pub(super) struct Found {
    pub(super) values: Values,
    version: i64,
}

/// What a change came to.
pub(super) struct Written {
    pub(super) values: Values,
    /// Absent if there was nothing to write.
    pub(super) version: Option<i64>,
    /// Somebody else wrote at the same moment.
    pub(super) merged: bool,
    /// It became a parameter of the advanced tier.
    pub(super) advanced: bool,
}

/// How it is stored: an update must not change that.
#[derive(Default)]
struct Storage {
    key: Option<String>,
    advanced: bool,
}

type Change<'c> = &'c (dyn Fn(&mut Values) -> bool + Sync);

impl Parameter {
    pub(super) fn new(client: aws_sdk_ssm::Client, name: String, key: Option<String>) -> Self {
        Self { client, name, key }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What stands in it, if it exists.
    pub(super) async fn read(&self) -> anyhow::Result<Option<Found>> {
        self.read_as(&self.name).await
    }

    async fn read_as(&self, name: &str) -> anyhow::Result<Option<Found>> {
        let request = self.client.get_parameter().name(name).with_decryption(true);
        let answer = match request.send().await {
            Ok(answer) => answer,
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(|error| error.is_parameter_not_found()) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(explain(&error, &format!("reading {name}"))),
        };
        let parameter = answer.parameter.context("an answer without a parameter")?;
        let Some(values) = Values::parse(parameter.value().unwrap_or_default()) else {
            bail!(
                "{name} holds something else than a JSON object of secrets. If it may go, delete it with `aws ssm \
                 delete-parameter --name {}` and set the secrets anew",
                self.name
            );
        };
        Ok(Some(Found {
            values,
            version: parameter.version(),
        }))
    }

    /// Changes what stands in it. `change` says whether it changed anything; it may be applied more than once.
    pub(super) async fn update(&self, change: Change<'_>) -> anyhow::Result<Written> {
        let storage = self.storage().await?;
        let mut merged = false;
        let mut base = self.read().await?;
        for _ in 0..TRIES {
            let (mut values, version) =
                base.map_or((Values::default(), 0), |found| (found.values, found.version));
            if !change(&mut values) {
                return Ok(Written {
                    values,
                    version: None,
                    merged,
                    advanced: false,
                });
            }
            let (written, advanced) = match self.write(&values, version == 0, &storage).await? {
                Some(written) => written,
                // It was made since it was read.
                None => {
                    merged = true;
                    base = self.read().await?;
                    continue;
                }
            };
            if written == version + 1 {
                self.look_again(written, change).await?;
                return Ok(Written {
                    values,
                    version: Some(written),
                    merged,
                    advanced,
                });
            }
            merged = true;
            let theirs = self.read_as(&format!("{}:{}", self.name, written - 1)).await;
            let theirs = theirs.ok().flatten().with_context(|| self.replaced(written))?;
            base = Some(Found {
                values: theirs.values,
                version: written,
            });
        }
        bail!(
            "{} is being written by others all the time: stop them and try again",
            self.name
        )
    }

    fn replaced(&self, written: i64) -> String {
        format!(
            "somebody else wrote {0} at the same moment, and version {written}, written by this command, replaced that. \
             Compare with `aws ssm get-parameter-history --with-decryption --name {0}`, and set what is missing again",
            self.name
        )
    }

    /// Somebody who read before and wrote after this command has undone it: better said than found out.
    async fn look_again(&self, written: i64, change: Change<'_>) -> anyhow::Result<()> {
        let Some(mut now) = self.read().await? else {
            bail!(
                "{} was deleted by somebody else right after it was written",
                self.name
            );
        };
        if now.version != written && change(&mut now.values) {
            bail!(
                "somebody else wrote {} right after version {written}, and this change is not in what they wrote: do it again",
                self.name
            );
        }
        Ok(())
    }

    /// Writes, and says which version it became and whether its tier changed; nothing if it must be new and is not.
    async fn write(
        &self,
        values: &Values,
        new: bool,
        storage: &Storage,
    ) -> anyhow::Result<Option<(i64, bool)>> {
        let text = values.text();
        if text.len() > ADVANCED {
            return Err(misuse(format!(
                "all secrets together are {} bytes, and a parameter holds {ADVANCED}: drop older ones with `oncehook secret drop`",
                text.len()
            )));
        }
        let advanced = storage.advanced || text.len() > STANDARD;
        let request = self
            .client
            .put_parameter()
            .name(&self.name)
            .r#type(ParameterType::SecureString)
            .tier(if advanced {
                ParameterTier::Advanced
            } else {
                ParameterTier::Standard
            })
            .overwrite(!new)
            .set_description(new.then(|| "Secrets of Oncehook; written by `oncehook secret`".to_owned()))
            .set_key_id(self.key.clone().or_else(|| storage.key.clone()))
            .value(text);
        match request.send().await {
            Ok(answer) => Ok(Some((answer.version(), advanced && !storage.advanced))),
            Err(error)
                if new
                    && error
                        .as_service_error()
                        .is_some_and(|error| error.is_parameter_already_exists()) =>
            {
                Ok(None)
            }
            Err(error) => Err(explain(&error, &format!("writing {}", self.name))),
        }
    }

    /// The key and the tier that it has. Written without its key, it would be encrypted with the account's default one.
    async fn storage(&self) -> anyhow::Result<Storage> {
        let filter = ParameterStringFilter::builder()
            .key("Name")
            .option("Equals")
            .values(&self.name)
            .build()?;
        let request = self.client.describe_parameters().parameter_filters(filter);
        let answer = request
            .send()
            .await
            .map_err(|error| explain(&error, &format!("looking for the key of {}", self.name)))?;
        let found = answer.parameters.unwrap_or_default().into_iter().next();
        Ok(found.map_or_else(Storage::default, |found| Storage {
            advanced: found.tier() == Some(&ParameterTier::Advanced),
            key: found.key_id,
        }))
    }
}
