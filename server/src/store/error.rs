//! What can go wrong in a store, besides the answers that a verb gives.

/// A failure of the store. Nothing was committed, or it is not known whether it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It may work later: locked, full, gone, restarting. The service answers 503 with `Retry-After`.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// What it holds cannot be read: needs a person.
    #[error("the store is corrupt: {0}")]
    Corrupt(String),
    /// A fault of ours, such as a statement that the database refuses.
    #[error("the store failed: {0}")]
    Internal(String),
}

impl StoreError {
    /// Whether waiting can help.
    pub const fn is_temporary(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

/// Why a store could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The URL names no store.
    #[error(
        "database-url must be sqlite:PATH, sqlite::memory: or postgres://USER@HOST/DATABASE, got \"{0}\""
    )]
    BadUrl(String),
    /// It was written by a newer chronq.
    #[error("the database is at version {found}, this chronq knows {known}: use a newer chronq")]
    TooNew {
        /// Its version.
        found: i64,
        /// The newest one known here.
        known: i64,
    },
    /// Another server has the file open.
    #[error("another chronq serves from {0}: SQLite takes one server at a time, use Postgres for several")]
    InUse(String),
    /// The server is older than chronq supports.
    #[error("PostgreSQL {0} is too old: chronq needs 15 or newer")]
    PostgresTooOld(String),
    /// It failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
