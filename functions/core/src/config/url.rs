//! Which URLs may be called: https, or http to this machine.

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
        found.url = check(url)?;
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
