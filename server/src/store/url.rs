//! Reads the address of a store.

use std::path::PathBuf;
use std::str::FromStr;

use chronq::Secret;

use super::error::OpenError;

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// In this process, gone with it: `sqlite::memory:`.
    Memory,
    /// A file: `sqlite:PATH`.
    Sqlite(PathBuf),
    /// A server: `postgres://USER:PASSWORD@HOST/DATABASE`. Secret, because of the password.
    Postgres(Secret),
}

impl FromStr for DatabaseUrl {
    type Err = OpenError;

    fn from_str(text: &str) -> Result<Self, OpenError> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(Secret::new(text)));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_its_store() {
        let read = |text: &str| text.parse::<DatabaseUrl>();
        assert_eq!(read("sqlite::memory:"), Ok(DatabaseUrl::Memory));
        assert_eq!(read("sqlite:data/chronq.db"), Ok(DatabaseUrl::Sqlite("data/chronq.db".into())));
        assert_eq!(read("sqlite:///data/chronq.db"), Ok(DatabaseUrl::Sqlite("/data/chronq.db".into())));
        let postgres = "postgres://chronq:fake@127.0.0.1/chronq";
        assert_eq!(read(postgres), Ok(DatabaseUrl::Postgres(postgres.into())));
        for bad in ["", "sqlite:", "mysql://localhost", "chronq.db"] {
            assert_eq!(read(bad), Err(OpenError::BadUrl(bad.to_owned())));
        }
    }
}
