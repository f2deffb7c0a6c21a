//! What an error of Postgres means to the caller.

use std::future::Future;
use std::time::Duration;

use crate::store::error::StoreError;

/// How often a transaction that lost against another one is made again.
const CONFLICT_ATTEMPTS: usize = 5;
/// How long a verb waits for the database, far longer than any of ours takes: one that stands still without
/// closing its connections must not keep its callers.
const PATIENCE: Duration = Duration::from_secs(10);

/// A failure before it is translated: conflicts are still to be told apart.
#[derive(Debug)]
pub(crate) enum PgError {
    /// From the driver or the database.
    Sql(sqlx::Error),
    /// From a value that could not be read or written.
    Store(StoreError),
}

impl From<sqlx::Error> for PgError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for PgError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl PgError {
    /// Whether the transaction was undone because another one was in its way.
    fn is_conflict(&self) -> bool {
        matches!(self.code().as_deref(), Some("40001" | "40P01"))
    }

    /// The five letters of the database, where the error is the database's.
    pub(crate) fn code(&self) -> Option<String> {
        match self {
            Self::Sql(sqlx::Error::Database(error)) => error.code().map(std::borrow::Cow::into_owned),
            Self::Sql(_) | Self::Store(_) => None,
        }
    }

    /// The store's error.
    pub(crate) fn into_store(self) -> StoreError {
        let code = self.code();
        let error = match self {
            Self::Store(error) => return error,
            Self::Sql(error) => error,
        };
        let text = error.to_string();
        match (&error, code.as_deref()) {
            // Connection, resources, operator intervention, conflicts, locks, read only, a transaction that
            // stood still: it may work later.
            (_, Some(code))
                if ["08", "53", "57", "40", "58"].contains(&&code[..2.min(code.len())])
                    || matches!(code, "25006" | "25P03" | "55P03") =>
            {
                StoreError::Unavailable(text)
            }
            (_, Some(code)) if code.starts_with("XX") => StoreError::Corrupt(text),
            (
                sqlx::Error::Io(_)
                | sqlx::Error::Tls(_)
                | sqlx::Error::Protocol(_)
                | sqlx::Error::PoolTimedOut
                | sqlx::Error::PoolClosed
                | sqlx::Error::WorkerCrashed,
                _,
            ) => StoreError::Unavailable(text),
            (sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_), _) => StoreError::Corrupt(text),
            _ => StoreError::Internal(text),
        }
    }
}

/// Makes a transaction again while it loses against others. It wrote nothing when it lost.
pub(super) async fn despite_conflicts<T, F, Fut>(transaction: F) -> Result<T, StoreError>
where
    F: Fn() -> Fut,
    Fut: Future<Output = Result<T, PgError>>,
{
    however_long(|| within(PATIENCE, transaction())).await
}

/// The same for a transaction that may have any number of rows to deal with.
pub(super) async fn however_long<T, F, Fut>(transaction: F) -> Result<T, StoreError>
where
    F: Fn() -> Fut,
    Fut: Future<Output = Result<T, PgError>>,
{
    let mut attempt = 1;
    loop {
        match transaction().await {
            Err(error) if error.is_conflict() && attempt < CONFLICT_ATTEMPTS => attempt += 1,
            result => return result.map_err(PgError::into_store),
        }
    }
}

/// What a statement answers, in time.
pub(super) async fn answered<T, E: Into<PgError>>(
    statement: impl Future<Output = Result<T, E>>,
) -> Result<T, StoreError> {
    within(PATIENCE, statement).await.map_err(PgError::into_store)
}

/// Waits for the database, but not for ever. What was asked of it may still come to pass.
pub(super) async fn within<T, E: Into<PgError>>(
    patience: Duration,
    statement: impl Future<Output = Result<T, E>>,
) -> Result<T, PgError> {
    match tokio::time::timeout(patience, statement).await {
        Ok(result) => result.map_err(Into::into),
        Err(_) => Err(StoreError::Unavailable(format!(
            "Postgres did not answer within {}",
            chronq::duration::format(patience)
        ))
        .into()),
    }
}
