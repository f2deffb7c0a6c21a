//! Brings a database to the version this program knows: one transaction for all missing steps, one
//! process at a time.

use sqlx::PgPool;

use crate::store::error::OpenError;
use crate::store::migrations::{POSTGRES, known};

use super::error::PgError;

/// The advisory lock of migrations: any number that nobody else uses.
const LOCK: i64 = 0x6368_726f_6e71;

pub(super) async fn run(pool: &PgPool) -> Result<(), OpenError> {
    let failed = |error: sqlx::Error| PgError::from(error).into_store();
    let mut transaction = pool.begin().await.map_err(failed)?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(&mut *transaction)
        .await
        .map_err(failed)?;
    sqlx::raw_sql("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
        .execute(&mut *transaction)
        .await
        .map_err(failed)?;
    let found: i64 = sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM schema_version")
        .fetch_one(&mut *transaction)
        .await
        .map_err(failed)?;
    if found > known(POSTGRES) {
        return Err(OpenError::TooNew { found, known: known(POSTGRES) });
    }
    for migration in POSTGRES.iter().filter(|migration| migration.version > found) {
        sqlx::raw_sql(migration.sql).execute(&mut *transaction).await.map_err(failed)?;
        sqlx::query("INSERT INTO schema_version (version) VALUES ($1)")
            .bind(migration.version)
            .execute(&mut *transaction)
            .await
            .map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)?;
    Ok(())
}
