//! The facts of the contract and nothing else: names, limits, closed sets. Everything else in this
//! workspace, the bindings and the generated Python and TypeScript constants take them from here.

pub mod access_level;
pub mod claims;
pub mod dialect;
pub mod environment;
pub mod errors;
pub mod headers;
pub mod key_match;
pub mod key_state;
pub mod limits;
pub mod message_state;
pub mod method;
pub mod missed;
pub mod paths;
pub mod signature_code;
pub mod timer_status;
pub mod url_difference;

pub use access_level::AccessLevel;
pub use dialect::Dialect;
pub use errors::{ErrorCode, TimerReason};
pub use key_match::KeyMatch;
pub use key_state::KeyState;
pub use message_state::MessageState;
pub use method::Method;
pub use missed::Missed;
pub use signature_code::SignatureErrorCode;
pub use timer_status::TimerStatus;
pub use url_difference::UrlDifference;

/// Declares a closed set of words: an enum whose variants each have one spelling on the wire, with
/// `ALL`, `as_str`, `Display`, `FromStr` and serde in both directions. An unknown word is an error
/// that lists the known ones; there is no catch-all variant.
macro_rules! closed_words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident ($what:literal) {
            $( $(#[$variant_meta:meta])* $variant:ident => $word:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $( $(#[$variant_meta])* $variant, )+ }

        impl $name {
            /// Every member, in the order of the contract.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Their spellings on the wire, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            /// The spelling on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(self.as_str()) }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::contract::UnknownWord;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match Self::WORDS.iter().position(|word| *word == text) {
                    Some(at) => Ok(Self::ALL[at]),
                    None => Err($crate::contract::UnknownWord::new($what, text, Self::WORDS)),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use closed_words;

/// A word outside one of the contract's closed sets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} must be one of {known}, got \"{got}\"")]
pub struct UnknownWord {
    what: &'static str,
    known: String,
    got: String,
}

impl UnknownWord {
    pub(crate) fn new(what: &'static str, got: &str, known: &[&str]) -> Self {
        Self { what, known: known.join(", "), got: got.to_owned() }
    }
}
