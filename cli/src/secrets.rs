//! Secrets on a developer's machine: from the environment, or fixed values that need no setting up.
//!
//! The fixed values protect nothing: anybody can compute them from this file. Only this command line knows them;
//! no function on AWS contains this code.

use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use oncehook_core::{config::Config, verify::Scheme};
use oncehook_edge::{Environment, variable};
use sha2::{Digest as _, Sha256};

/// What every variable with a secret begins with.
const PREFIX: &str = "ONCEHOOK_SECRET_";
/// What every development value begins with.
const DEVELOPMENT: &str = "whsec_DevelopmentOnly+";

/// The development value of a secret: the same on every machine, `whsec_DevelopmentOnly+..`.
///
/// It has the form of Standard Webhooks, base64 after `whsec_`, which any other scheme takes as text.
#[must_use]
pub(crate) fn dev_secret(name: &str) -> String {
    value_of(&variable("SECRET", name))
}

/// The environment of this process, where every secret that nobody has set has its development value.
#[must_use]
pub(crate) fn environment() -> Environment {
    let process = Environment::process();
    Environment::new(move |name| {
        let set = process.get(name).filter(|value| !value.trim().is_empty());
        set.or_else(|| name.starts_with(PREFIX).then(|| value_of(name)))
    })
}

/// The same environment, where the development value of a secret has the form that its source takes.
#[must_use]
pub(crate) fn environment_of(config: &Config) -> Environment {
    let forms: BTreeMap<String, Scheme> = config
        .sources
        .values()
        .flat_map(|source| {
            let variables = source.secrets.iter().map(|name| variable("SECRET", name));
            variables.map(|name| (name, source.scheme.clone()))
        })
        .collect();
    let environment = environment();
    Environment::new(move |name| {
        let value = environment.get(name)?;
        Some(match forms.get(name) {
            Some(scheme) => fitting(scheme, &value),
            None => value,
        })
    })
}

/// A secret as it is; the development value in the form that the scheme takes, such as a private key.
#[must_use]
pub(crate) fn fitting(scheme: &Scheme, secret: &str) -> String {
    if scheme.takes_text() || !secret.starts_with(DEVELOPMENT) {
        return secret.to_owned();
    }
    scheme.secret_of(&Sha256::digest(secret).into())
}

/// The secret that a source signs with on this machine: of several during a rotation, the first.
#[must_use]
pub(crate) fn first(name: &str) -> String {
    let values = environment().get(&variable("SECRET", name)).unwrap_or_default();
    values
        .lines()
        .find(|line| !line.trim().is_empty())
        .map_or_else(|| dev_secret(name), str::to_owned)
}

/// What to tell somebody whose request was refused, if it was signed with the development value.
#[must_use]
pub(crate) fn refused_hint(name: &str) -> Option<String> {
    let variable = variable("SECRET", name);
    let set = Environment::process().get(&variable);
    if set.is_some_and(|value| !value.trim().is_empty()) {
        return None;
    }
    Some(format!(
        "note: {variable} is not set here, so the request was signed with the development secret. A receiver that has \
         another refuses it: set the variable as it is set there, or give --secret"
    ))
}

fn value_of(variable: &str) -> String {
    let digest = Sha256::digest(format!("Oncehook, for development only: {variable}"));
    // 16 and 32 characters of base64.
    format!("{DEVELOPMENT}{}", BASE64_STANDARD.encode(&digest[..24]))
}

#[cfg(test)]
mod tests {
    use oncehook_core::{secret::Secret, verify::Source};

    use super::*;

    #[test]
    fn a_development_secret_is_fixed_and_fits_every_scheme() {
        let value = dev_secret("my-app");
        assert_eq!(
            environment().get("ONCEHOOK_SECRET_MY_APP").as_deref(),
            Some(&*value)
        );
        assert_ne!(value, dev_secret("stripe"));
        for scheme in Scheme::names().filter_map(Scheme::from_name) {
            let config = crate::signing::plain_source("my-app", scheme);
            let (secret, _) = Secret::new("my-app", &fitting(&config.scheme, &value)).unwrap();
            assert!(Source::new(&config, vec![secret]).is_ok(), "{}", config.namespace);
        }
    }
}
