//! A request as a curl command for a POSIX shell. Runs nothing.

use anyhow::{Context as _, bail};
use http::HeaderMap;

/// The command, on several lines.
///
/// # Errors
/// When the body is not text, which no shell word can hold.
pub(super) fn command(url: &str, headers: &HeaderMap, body: &[u8]) -> anyhow::Result<String> {
    let Ok(body) = std::str::from_utf8(body) else {
        bail!("the body is not text and does not fit on a command line; send it without --print-curl");
    };
    let mut lines = vec![format!("curl -i -X POST {}", quote(url))];
    for (name, value) in headers {
        let value = value.to_str().with_context(|| format!("the header {name}"))?;
        lines.push(format!("-H {}", quote(&format!("{name}: {value}"))));
    }
    lines.push(format!("--data-binary {}", quote(body)));
    Ok(lines.join(" \\\n  "))
}

/// One word of a POSIX shell.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_survive_a_shell() {
        assert_eq!(quote("it's"), r"'it'\''s'");
        let command = command("http://h/x?a=1&b=2", &HeaderMap::new(), b"{\"a\": 1}").unwrap();
        assert_eq!(
            command,
            "curl -i -X POST 'http://h/x?a=1&b=2' \\\n  --data-binary '{\"a\": 1}'"
        );
    }
}
