//! Tokens, signing keys and the settings of the server itself.

use chronq::Secret;
use chronq::contract::{AccessLevel, KeyState};
use uuid::Uuid;

use super::UnixMillis;
use crate::store::error::StoreError;

/// Which kind of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// The one publish token; rotating it ends the old one at once.
    Publish,
    /// Made by an admin, revoked by its id.
    Named,
}

impl TokenKind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Named => "named",
        }
    }

    pub(crate) fn of(word: &str) -> Result<Self, StoreError> {
        [Self::Publish, Self::Named]
            .into_iter()
            .find(|kind| kind.as_str() == word)
            .ok_or_else(|| StoreError::Corrupt(format!("token kind {word}")))
    }
}

/// A token to be stored: its keyed hash, never the token.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// For people.
    pub name: String,
    /// What it may do.
    pub level: AccessLevel,
    /// Whose it is.
    pub tenant: String,
    /// The keyed hash by which it is found.
    pub hash: [u8; 32],
    /// What the list shows of it.
    pub last_four: String,
}

impl NewToken {
    pub(crate) fn stored(self, id: Uuid, kind: TokenKind, created_at: UnixMillis) -> Token {
        Token {
            id,
            kind,
            name: self.name,
            level: self.level,
            tenant: self.tenant,
            hash: self.hash,
            last_four: self.last_four,
            created_at,
            last_used_at: None,
        }
    }
}

/// A stored token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its id.
    pub id: Uuid,
    /// Which kind.
    pub kind: TokenKind,
    /// For people.
    pub name: String,
    /// What it may do.
    pub level: AccessLevel,
    /// Whose it is.
    pub tenant: String,
    /// The keyed hash by which it is found.
    pub hash: [u8; 32],
    /// What the list shows of it.
    pub last_four: String,
    /// When it was made.
    pub created_at: UnixMillis,
    /// The minute of its last use.
    pub last_used_at: Option<UnixMillis>,
}

/// A signing key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningKey {
    /// Its id.
    pub id: Uuid,
    /// What it is used for.
    pub state: KeyState,
    /// The key.
    pub key: Secret,
    /// When it was minted.
    pub created_at: UnixMillis,
    /// When it began to sign.
    pub activated_at: Option<UnixMillis>,
}

/// What became of an activation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyActivation {
    /// The staged key signs now, the one before verifies.
    Activated(SigningKey),
    /// No key is staged.
    NothingStaged,
}

/// What became of a staging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyStaging {
    /// It is staged.
    Staged(SigningKey),
    /// One is staged already: activate it first.
    AlreadyStaged,
}

/// The server's own settings. Closed: what is stored under a name is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Setting {
    /// The key of the tokens' hashes.
    TokenHashKey,
    /// Set once the first admin token was shown.
    FirstStart,
    /// The operator's switches of the timers.
    TimerSwitches,
}

impl Setting {
    /// The name it is stored under.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::TokenHashKey => "token_hash_key",
            Self::FirstStart => "first_start",
            Self::TimerSwitches => "timer_switches",
        }
    }
}
