//! Which URLs may be called: https, or http to this machine. And what the environment may put in place of a target.

use super::Config;

impl Config {
    /// Sends a destination's effects elsewhere, such as to a receiver on this machine.
    ///
    /// # Errors
    /// When there is no such destination or the URL may not be called.
    pub fn override_url(&mut self, destination: &str, url: &str) -> Result<(), String> {
        let names = self.destinations.keys().map(String::as_str);
        let nearest = super::report::suggestion(destination, names);
        let found = self.destinations.get_mut(destination);
        let found = found.ok_or_else(|| format!("there is no destination `{destination}`{nearest}"))?;
        if found.kind.is_aws() {
            return Err(format!(
                "`{destination}` has kind = \"{}\" and no URL of its own: its {} is set by another variable",
                found.kind.name(),
                found.kind.target()
            ));
        }
        found.url = check(url)?;
        Ok(())
    }

    /// Says which queue, function or bus a destination is: that of this stage, or of this machine.
    ///
    /// # Errors
    /// When there is no such destination or it cannot be that.
    pub fn override_target(&mut self, destination: &str, target: &str) -> Result<(), String> {
        let names = self.destinations.keys().map(String::as_str);
        let nearest = super::report::suggestion(destination, names);
        let found = self.destinations.get_mut(destination);
        let found = found.ok_or_else(|| format!("there is no destination `{destination}`{nearest}"))?;
        if !found.kind.is_aws() {
            return Err(format!(
                "`{destination}` is an HTTP API: its URL is set by another variable"
            ));
        }
        found.url = found.kind.check(target)?;
        Ok(())
    }
}

/// The URL, if effects may be sent to it.
pub(super) fn check(url: &str) -> Result<String, String> {
    let wrong = |reason: &str| Err(format!("`{url}` {reason}"));
    let Ok(parsed) = url.parse::<http::Uri>() else {
        return wrong("is not a URL; write https://host/path");
    };
    let host = parsed.host().unwrap_or_default();
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<std::net::IpAddr>();
    let loopback = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    if host.is_empty()
        || parsed
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'))
    {
        return wrong("must name a host, without user or password: use `auth` and `secret`");
    }
    match parsed.scheme_str() {
        Some("https") => {}
        Some("http") if loopback => {}
        _ => return wrong("must begin with https:// (http:// is for loopback addresses only)"),
    }
    if url.contains('#') {
        wrong("has a fragment, which is never sent: remove `#..`")
    } else {
        Ok(url.to_owned())
    }
}
