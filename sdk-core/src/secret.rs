//! A string that must not be seen: redacted when printed, wiped when dropped, compared in constant time.

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// A token or key. `Debug` prints `Secret(…)`; there is no `Display`.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes ownership of a secret text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text itself, for the one place that has to send or hash it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl PartialEq for Secret {
    /// Takes the same time wherever the two differ; only their lengths can be told apart.
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for Secret {}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_never_shows_the_text() {
        let secret = Secret::new("sig_not-a-real-key");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert_eq!(format!("{:#?}", Some(secret)), "Some(\n    Secret(…),\n)");
    }

    #[test]
    fn equality_is_of_the_whole_text() {
        assert_eq!(Secret::new("abc"), Secret::new("abc"));
        assert_ne!(Secret::new("abc"), Secret::new("abd"));
        assert_ne!(Secret::new("abc"), Secret::new("ab"));
    }
}
