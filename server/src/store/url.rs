//! Reads the address of a store.

use std::path::PathBuf;
use std::str::FromStr;

use super::error::OpenError;

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// In this process, gone with it: `sqlite::memory:`.
    Memory,
    /// A file: `sqlite:PATH`.
    Sqlite(PathBuf),
}

impl FromStr for DatabaseUrl {
    type Err = OpenError;

    fn from_str(text: &str) -> Result<Self, OpenError> {
        let bad = || OpenError::BadUrl(text.to_owned());
        let path = text.strip_prefix("sqlite:").ok_or_else(bad)?;
        let path = path.strip_prefix("//").unwrap_or(path);
        match path {
            "" => Err(bad()),
            ":memory:" => Ok(Self::Memory),
            path => Ok(Self::Sqlite(PathBuf::from(path))),
        }
    }
}
