//! Refused input: the one error of everything that a caller can get wrong before the network, and
//! of everything that the server answers with 400.

use std::fmt;

/// An option or argument that the contract refuses. `Display` is the sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidInput(Box<Inner>);

/// Boxed: most results hold none, and every one of them would be as large.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    option: String,
    value: Option<String>,
    index: Option<usize>,
    message: String,
}

impl InvalidInput {
    /// `message` names the option and what would be right.
    pub fn new(option: impl Into<String>, message: impl Into<String>) -> Self {
        Self::of(option.into(), message.into(), None)
    }

    fn of(option: String, message: String, value: Option<String>) -> Self {
        Self(Box::new(Inner { option, value, index: None, message }))
    }

    /// `{option} {rule}, got "{value}"`; the value is shortened, and must not be a secret.
    pub fn with_rule(option: &str, rule: impl fmt::Display, value: &str) -> Self {
        let shown = shorten(value);
        Self::of(option.to_owned(), format!("{option} {rule}, got \"{shown}\""), Some(shown))
    }

    /// An option that stands twice and does not agree with itself.
    pub(crate) fn given_twice(option: &str) -> Self {
        Self::new(option, format!("{option} is given twice with different values"))
    }

    /// Records the value that was refused; it must not be a secret.
    #[must_use]
    pub fn with_value(mut self, value: &str) -> Self {
        self.0.value = Some(shorten(value));
        self
    }

    /// Records which entry of a batch it was, from 0.
    #[must_use]
    pub fn at_index(mut self, index: usize) -> Self {
        self.0.index = Some(index);
        self
    }

    /// The option's name, as the caller spelled it: `chronq-retries` over HTTP, `retries` in an SDK.
    pub fn option(&self) -> &str {
        &self.0.option
    }

    /// The refused value, unless it was secret or absent.
    pub fn value(&self) -> Option<&str> {
        self.0.value.as_deref()
    }

    /// The entry of a batch, from 0.
    pub fn index(&self) -> Option<usize> {
        self.0.index
    }
}

impl fmt::Display for InvalidInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.index {
            Some(index) => write!(f, "entry {index}: {}", self.0.message),
            None => f.write_str(&self.0.message),
        }
    }
}

impl std::error::Error for InvalidInput {}

/// Values are shown so that a person recognises them, not so that a log holds a megabyte.
fn shorten(value: &str) -> String {
    const SHOWN: usize = 200;
    match value.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", value.get(..at).unwrap_or_default()),
        None => value.to_owned(),
    }
}
