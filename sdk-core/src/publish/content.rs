//! The body of a publish with its content type (contract/http-queue.md, "Publishing"; contract/sdk.md, "Client").

use bytes::Bytes;

use crate::contract::limits;
use crate::error::{Error, ErrorKind};
use crate::input::InvalidInput;

/// A body and how it is labelled. Bodies are UTF-8; binary content is base64-encoded by its publisher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    body: Bytes,
    content_type: Option<String>,
}

impl Content {
    /// Bytes, sent as `application/octet-stream`.
    pub fn bytes(body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), content_type: Some("application/octet-stream".to_owned()) }
    }

    /// Text, sent as `text/plain`.
    pub fn text(body: impl Into<String>) -> Self {
        Self { body: Bytes::from(body.into()), content_type: Some("text/plain".to_owned()) }
    }

    /// A value, written as JSON and sent as `application/json`.
    ///
    /// # Errors
    /// [`InvalidInput`] where the value has no JSON form.
    pub fn json(value: &impl serde::Serialize) -> Result<Self, InvalidInput> {
        let body = serde_json::to_vec(value)
            .map_err(|error| InvalidInput::new("json", format!("json cannot be written: {error}")))?;
        Ok(Self { body: body.into(), content_type: Some("application/json".to_owned()) })
    }

    /// The same body under another content type.
    #[must_use]
    pub fn with_content_type(mut self, content_type: impl Into<String>) -> Self {
        self.content_type = Some(content_type.into());
        self
    }

    /// The body's exact bytes.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// What a server received: the body is forwarded under its content type, or under none.
    pub fn received(body: Bytes, content_type: Option<String>) -> Self {
        Self { body, content_type }
    }

    /// The content type as it will be forwarded; an SDK always sends one.
    pub fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()
    }

    pub(crate) fn checked_body(&self, option: &str) -> Result<Bytes, Error> {
        check_body(option, &self.body)?;
        Ok(self.body.clone())
    }

    pub(crate) fn checked_content_type(&self) -> Result<Option<&str>, InvalidInput> {
        self.content_type()
            .map_or(Ok(()), |content_type| check_content_type("content_type", content_type))?;
        Ok(self.content_type())
    }
}

/// Holds a body to size and encoding.
fn check_body(option: &str, body: &[u8]) -> Result<(), Error> {
    if body.len() > limits::MAX_BODY_BYTES {
        let message =
            format!("{option} must be at most {} bytes, got {}", limits::MAX_BODY_BYTES, body.len());
        let code = crate::contract::ErrorCode::PayloadTooLarge;
        return Err(Error::new(ErrorKind::TooLarge, code, message));
    }
    check_utf8(option, body)?;
    Ok(())
}

/// A body is stored and signed as text.
///
/// # Errors
/// [`InvalidInput`] naming the option and the first byte that is not UTF-8.
pub fn check_utf8(option: &str, body: &[u8]) -> Result<(), InvalidInput> {
    std::str::from_utf8(body).map(drop).map_err(|error| {
        let at = error.valid_up_to();
        InvalidInput::new(
            option,
            format!("{option} must be valid UTF-8, the byte at {at} is not: base64-encode binary payloads"),
        )
    })
}

/// Whether the server refuses this content type with 403 (a browser's form submission).
pub fn is_form(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    ["application/x-www-form-urlencoded", "multipart/form-data"]
        .iter()
        .any(|form| essence.eq_ignore_ascii_case(form))
}

/// The content type that a publish names once or more; an empty line names none.
///
/// # Errors
/// [`InvalidInput`] for a form type, for what cannot stand in a header, and where two of them differ.
#[cfg(feature = "server")]
pub fn agreed_content_type<'a>(
    values: impl IntoIterator<Item = &'a str>,
) -> Result<Option<&'a str>, InvalidInput> {
    const OPTION: &str = "content-type";
    let mut agreed = None;
    for value in values.into_iter().filter(|value| !value.is_empty()) {
        check_content_type(OPTION, value)?;
        if *agreed.get_or_insert(value) != value {
            return Err(InvalidInput::given_twice(OPTION));
        }
    }
    Ok(agreed)
}

/// Refuses form types and what cannot stand in a header.
///
/// # Errors
/// [`InvalidInput`] naming the option.
fn check_content_type(option: &str, content_type: &str) -> Result<(), InvalidInput> {
    if is_form(content_type) {
        return Err(InvalidInput::with_rule(option, "must not be a form type", content_type));
    }
    let legal =
        !content_type.is_empty() && content_type.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if !legal {
        return Err(InvalidInput::with_rule(
            option,
            "must be a media type such as application/json",
            content_type,
        ));
    }
    Ok(())
}
