//! Headers that are forwarded with a delivery or a callback (contract/http-queue.md, "Option headers").

use crate::contract::{headers, limits};
use crate::input::InvalidInput;

/// A name, in lower case, and its value.
pub type HeaderPair = (String, String);

/// Checked headers in the order given. Names are unique; they compare without case.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct ForwardedHeaders(Vec<HeaderPair>);

impl ForwardedHeaders {
    /// Checks and keeps `pairs`; `option` is named in the error, followed by the header's name.
    ///
    /// # Errors
    /// [`InvalidInput`] for a name that is no token, that may not be forwarded or that stands twice with different values, a value
    /// with CR, LF or NUL, more than 64 headers, or more than 32 KiB together.
    pub fn new<N: AsRef<str>, V: Into<String>>(
        option: &str,
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, InvalidInput> {
        let mut checked = Self::default();
        for (name, value) in pairs {
            checked.insert(option, name.as_ref(), value.into())?;
        }
        Ok(checked)
    }

    pub(crate) fn insert(&mut self, option: &str, name: &str, value: String) -> Result<(), InvalidInput> {
        let name = name.to_ascii_lowercase();
        check_pair(option, &name, &value)?;
        if let Some((_, first)) = self.0.iter().find(|(known, _)| *known == name) {
            return if *first == value {
                Ok(())
            } else {
                Err(InvalidInput::new(option, format!("{option}{name} is given twice with different values")))
            };
        }
        self.0.push((name, value));
        if self.0.len() > limits::MAX_FORWARDED_HEADERS {
            return Err(InvalidInput::new(
                option,
                format!("{option}*: at most {} headers can be forwarded", limits::MAX_FORWARDED_HEADERS),
            ));
        }
        let bytes: usize = self.0.iter().map(|(name, value)| name.len() + value.len()).sum();
        if bytes > limits::MAX_FORWARDED_HEADERS_BYTES {
            let message = format!(
                "{option}*: forwarded headers must be at most {} bytes together",
                limits::MAX_FORWARDED_HEADERS_BYTES
            );
            return Err(InvalidInput::new(option, message));
        }
        Ok(())
    }

    /// The headers in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a header; `name` in lower case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `name` is in lower case already.
fn check_pair(option: &str, name: &str, value: &str) -> Result<(), InvalidInput> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(InvalidInput::with_rule(option, "must be followed by a legal header name", name));
    }
    let reserved = name.starts_with(headers::PREFIX) || headers::NOT_FORWARDABLE.contains(&name);
    if reserved {
        return Err(InvalidInput::new(
            option,
            format!("{option}{name} cannot be forwarded: {name} is set by the transport or by chronq"),
        )
        .with_value(name));
    }
    // CR, LF and NUL would end or cut the header; the other controls no HTTP library lets through.
    if value.bytes().any(|byte| byte != b'\t' && byte.is_ascii_control()) {
        return Err(InvalidInput::new(
            option,
            format!("{option}{name} must not hold CR, LF, NUL or other control characters"),
        ));
    }
    Ok(())
}
