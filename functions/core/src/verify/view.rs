//! What a request shows: the values at the places that facts name, and the URL that the provider called.
//!
//! Believes nothing.

use serde_json::Value;

use super::{VerifyError, facts::UrlForms, form, signed::Location, url};
use crate::request::SignedRequest;

/// A request, with its body read where that is needed.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) request: &'a SignedRequest,
    /// The body, or one element of a batch.
    pub(super) data: &'a Value,
    /// The URL of the endpoint as the provider was told it.
    pub(super) public_url: Option<&'a str>,
}

impl<'a> View<'a> {
    pub(super) fn new(request: &'a SignedRequest, data: &'a Value) -> Self {
        Self {
            request,
            data,
            public_url: None,
        }
    }

    /// What is at a place; nothing for null.
    pub(super) fn value(&self, location: &Location) -> Option<Value> {
        match location {
            Location::Header(name) => self.request.header(name).map(Value::String),
            Location::Pointer(pointer) => self
                .data
                .pointer(pointer)
                .filter(|value| !value.is_null())
                .cloned(),
        }
    }

    /// The first of the places that holds text, a number or a truth value.
    pub(super) fn text(&self, locations: &[Location]) -> Option<String> {
        locations
            .iter()
            .find_map(|location| self.value(location).as_ref().and_then(as_text))
    }

    /// As [`text`](Self::text), but a header that is no text is an error.
    pub(super) fn strict(&self, locations: &[Location]) -> Result<Option<String>, VerifyError> {
        for location in locations {
            let found = match location {
                Location::Header(name) => self.header(name)?,
                Location::Pointer(_) => self.text(std::slice::from_ref(location)),
            };
            if let Some(text) = found.filter(|text| !text.is_empty()) {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    /// The value of a header, which must be text.
    pub(super) fn header(&self, name: &str) -> Result<Option<String>, VerifyError> {
        match self.request.header(name) {
            None if self.request.headers.contains_key(name) => Err(VerifyError::MalformedHeader),
            value => Ok(value),
        }
    }

    /// The spellings of the URL that the provider may have signed.
    pub(super) fn urls(&self, forms: UrlForms) -> Vec<String> {
        url::forms(self.public_url, self.request, forms)
    }

    /// Whether the body is a form.
    pub(super) fn is_form(&self) -> bool {
        form::is_form(self.request.header("content-type").as_deref())
    }
}

/// A value as it is written where text is signed or stored.
pub(super) fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}
