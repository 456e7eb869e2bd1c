//! Places in a request, and the template of what is signed, as oncehook.toml writes them.
//!
//! Reads their text only; `header` and `read` look things up by them.

/// Where a value is found in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In the header of this name.
    Header(String),
    /// In the body, at this JSON Pointer (RFC 6901).
    Pointer(String),
}

impl Location {
    /// Reads `header:NAME` or `/a/b`.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix("header:") {
            return header_name(name).map(Self::Header);
        }
        if !text.starts_with('/') {
            return Err(format!(
                "`{text}` is neither a JSON Pointer such as `/data/id` nor `header:NAME`"
            ));
        }
        let escapes_hold = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
        if escapes_hold {
            Ok(Self::Pointer(text.to_owned()))
        } else {
            Err(format!(
                "`{text}`: in a JSON Pointer `~` is written `~0` and `/` is written `~1`"
            ))
        }
    }
}

/// What is signed: text with `{body}`, `{timestamp}` and `{header:NAME}`; `{{` and `}}` are braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedTemplate {
    pub(super) parts: Vec<Part>,
}

/// A piece of what is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// The raw body.
    Body,
    /// The time as it is written in the request.
    Timestamp,
    /// The event's id, from the header where the scheme has it.
    Id,
    /// The value of a header.
    Header(String),
    /// The value at a JSON Pointer in the body as text; nothing if there is none.
    Pointer(String),
    /// The URL that the provider called, in any of the spellings that its libraries try.
    Url,
    /// The HTTP method.
    Method,
    /// The fields of a form by name, each followed by its values; nothing for other bodies.
    Form,
    /// The fields that AWS SNS signs.
    Sns,
    /// The fields of a form as PHP serialises them.
    Php,
    /// The body's CRC-32 in decimal.
    Crc32,
    /// The name that the secret's text is.
    Name,
    /// Nothing, or a line feed.
    MaybeLineFeed,
    /// Itself.
    Text(String),
}

impl SignedTemplate {
    /// Reads a template.
    ///
    /// # Errors
    /// Says what is wrong with it; one without `{body}` would leave the event unsigned.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let (brace, after) = rest[at..].split_at(1);
            if let Some(after) = after.strip_prefix(brace) {
                literal.push_str(brace);
                rest = after;
                continue;
            }
            let inner = if brace == "{" { after.split_once('}') } else { None };
            let Some((placeholder, after)) = inner else {
                return Err(format!(
                    "`{text}`: a lone `{brace}`; write `{brace}{brace}` for the character"
                ));
            };
            if !literal.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut literal)));
            }
            parts.push(Part::parse(placeholder)?);
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        let template = Self { parts };
        if template.has(&Part::Body) {
            Ok(template)
        } else {
            Err(format!(
                "`{text}` has no {{body}}: anybody could change the event"
            ))
        }
    }

    /// Whether `{timestamp}` is signed.
    #[must_use]
    pub fn has_timestamp(&self) -> bool {
        self.has(&Part::Timestamp)
    }

    pub(super) fn has(&self, part: &Part) -> bool {
        self.parts.contains(part)
    }

    pub(super) fn has_header(&self, name: &str) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, Part::Header(header) if header.eq_ignore_ascii_case(name)))
    }
}

impl Part {
    fn parse(placeholder: &str) -> Result<Self, String> {
        match placeholder {
            "body" => Ok(Self::Body),
            "timestamp" => Ok(Self::Timestamp),
            _ => match placeholder.strip_prefix("header:") {
                Some(name) => header_name(name).map(Self::Header),
                None => Err(format!(
                    "`{{{placeholder}}}` is not {{body}}, {{timestamp}} or {{header:NAME}}"
                )),
            },
        }
    }
}

fn header_name(name: &str) -> Result<String, String> {
    match http::HeaderName::try_from(name) {
        Ok(_) => Ok(name.to_owned()),
        Err(_) => Err(format!("`{name}` is not the name of a header")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_read_and_refused() {
        let template = SignedTemplate::parse("v0:{{{timestamp}}}:{header:X-Id}{body}").unwrap();
        let text = |text: &str| Part::Text(text.into());
        let expected = [
            text("v0:{"),
            Part::Timestamp,
            text("}:"),
            Part::Header("X-Id".into()),
            Part::Body,
        ];
        assert_eq!(template.parts, expected);
        for bad in [
            "",
            "{timestamp}",
            "{body",
            "body}",
            "{id}{body}",
            "{header:}{body}",
            "{header:a b}{body}",
        ] {
            assert!(SignedTemplate::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn locations_are_read_and_refused() {
        assert_eq!(
            Location::parse("/a~1b/0"),
            Ok(Location::Pointer("/a~1b/0".into()))
        );
        assert_eq!(
            Location::parse("header:X-Id"),
            Ok(Location::Header("X-Id".into()))
        );
        for bad in ["", "a", "/a~2", "/a~", "header:", "header:a b"] {
            assert!(Location::parse(bad).is_err(), "{bad}");
        }
    }
}
