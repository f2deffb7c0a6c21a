//! Names and ids, as types that cannot be wrong.

use std::fmt;
use std::str::FromStr;

use crate::contract::limits;
use crate::input::InvalidInput;

/// Name of a queue, URL group or schedule: 1..64 of `A-Z a-z 0-9 . _ -`, beginning with a letter or
/// digit (contract/http-queue.md, "Publishing").
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Name(String);

impl Name {
    /// Reads a name; `option` is named in the error.
    ///
    /// # Errors
    /// [`InvalidInput`] where the text is no name.
    pub fn parse(option: &str, text: &str) -> Result<Self, InvalidInput> {
        if Self::is_valid(text) {
            return Ok(Self(text.to_owned()));
        }
        let rule =
            "must be 1 to 64 letters, digits, dots, underscores or hyphens, beginning with a letter or digit";
        Err(InvalidInput::with_rule(option, rule, text))
    }

    /// The queue that always exists.
    pub fn default_queue() -> Self {
        Self(limits::DEFAULT_QUEUE.to_owned())
    }

    /// Whether the text is a name.
    pub fn is_valid(text: &str) -> bool {
        let bytes = text.as_bytes();
        (1..=limits::MAX_NAME_BYTES).contains(&bytes.len())
            && bytes[0].is_ascii_alphanumeric()
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = InvalidInput;
    fn from_str(text: &str) -> Result<Self, InvalidInput> {
        Self::parse("name", text)
    }
}

impl<'de> serde::Deserialize<'de> for Name {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Id of a message as the server minted it (a `UUIDv7`). A client takes any non-empty id and escapes
/// it where it goes into a path, so that no id can name another route.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct MessageId(String);

impl MessageId {
    /// Wraps an id.
    ///
    /// # Errors
    /// [`InvalidInput`] where it is empty: a call on "no message" must not become a call on all.
    pub fn new(id: impl Into<String>) -> Result<Self, InvalidInput> {
        let id = id.into();
        if id.is_empty() {
            return Err(InvalidInput::new(
                "id",
                "id must not be empty: pass the message_id that a publish returned",
            ));
        }
        Ok(Self(id))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Escapes one path segment: everything but unreserved characters (RFC 3986 section 2.3), and the
/// segments `.` and `..`, which URL libraries would resolve away.
pub(crate) fn escape_segment(text: &str) -> String {
    use fmt::Write;
    let dots = matches!(text, "." | "..");
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        let unreserved = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
        if unreserved && !dots {
            escaped.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rule() {
        for good in ["default", "a", "0", "orders.v2_x-y", &"a".repeat(64)] {
            assert!(Name::is_valid(good), "{good}");
        }
        for bad in ["", ".a", "-a", "_a", "a b", "a/b", "é", "a\n", &"a".repeat(65)] {
            assert!(!Name::is_valid(bad), "{bad}");
        }
    }

    #[test]
    fn an_empty_message_id_is_refused() {
        assert_eq!(MessageId::new("").expect_err("empty").option(), "id");
    }

    #[test]
    fn a_segment_is_escaped_whole() {
        assert_eq!(escape_segment("a/b?c#d"), "a%2Fb%3Fc%23d");
        assert_eq!(escape_segment(".."), "%2E%2E");
        assert_eq!(escape_segment("é"), "%C3%A9");
        assert_eq!(escape_segment("a.b-c_d~e"), "a.b-c_d~e");
    }
}
