//! Reads how a destination is authenticated.

use super::{
    super::{Auth, reader::Reader},
    header_name,
};
use crate::preset::{Login, Preset};

/// `auth = "none" | "bearer" | "basic" | { header = ".." } | { basic = "user" }`, or `sign = "standard-webhooks"`.
pub(super) fn auth(reader: &Reader<'_>, secret: bool, preset: Option<&Preset>) -> Auth {
    let sign = reader.word("sign", &[("standard-webhooks", ())]);
    let given = reader.get("auth");
    if sign.is_some() && given.is_some() {
        reader.wrong("`sign` and `auth` exclude each other");
    }
    if sign.is_some() && preset.is_some() {
        reader.wrong("`sign` is for endpoints of your own, a preset for the API that it names: remove one");
    }
    let auth = match given {
        _ if sign.is_some() => Auth::StandardWebhooks,
        Some(item) if item.get_ref().is_table() => {
            let Some(table) = reader.table("auth") else {
                return Auth::None;
            };
            let header = table.parsed("header", header_name);
            let user = table.parsed("basic", user);
            if table.get("header").is_some() == table.get("basic").is_some() {
                table.wrong(
                    "give `header`, the one that holds the secret, or `basic`, a user whose password it is",
                );
            }
            table.finish();
            match (header, user) {
                (Some(header), _) => Auth::Header(header.value),
                (_, Some(user)) => Auth::Basic(Some(user.value)),
                _ => Auth::None,
            }
        }
        Some(_) => match reader.word("auth", &[("none", 0), ("bearer", 1), ("basic", 2)]) {
            Some(1) => Auth::Bearer,
            Some(2) => Auth::Basic(None),
            _ => Auth::None,
        },
        None => match preset.map(|preset| preset.auth) {
            Some(Login::Bearer) => Auth::Bearer,
            Some(Login::Header(name)) => Auth::Header(name.to_owned()),
            Some(Login::Basic(user)) => Auth::Basic(Some(user.to_owned())),
            Some(Login::BasicPair) => Auth::Basic(None),
            None if secret => Auth::Bearer,
            None => Auth::None,
        },
    };
    if auth != Auth::None && !secret {
        reader.wrong("`secret` is missing: the name of the secret to authenticate with");
    }
    auth
}

/// A user's name: without the colon that ends it.
fn user(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(':') || text.chars().any(char::is_control) {
        return Err(format!(
            "`{text}` cannot be a user; with auth = \"basic\" the secret is `user:password`"
        ));
    }
    Ok(text.to_owned())
}
