//! Brings a file to the version this program knows: one transaction for all missing steps.

use rusqlite::{Connection, TransactionBehavior};

use crate::store::error::OpenError;
use crate::store::migrations::{SQLITE, known};

use super::failure;

pub(super) fn run(connection: &mut Connection) -> Result<(), OpenError> {
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failure)?;
    transaction
        .execute_batch("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL) STRICT")
        .map_err(failure)?;
    let found: i64 = transaction
        .query_row("SELECT coalesce(max(version), 0) FROM schema_version", [], |row| row.get(0))
        .map_err(failure)?;
    if found > known(SQLITE) {
        return Err(OpenError::TooNew { found, known: known(SQLITE) });
    }
    for migration in SQLITE.iter().filter(|migration| migration.version > found) {
        transaction.execute_batch(migration.sql).map_err(failure)?;
        transaction
            .execute("INSERT INTO schema_version (version) VALUES (?1)", [migration.version])
            .map_err(failure)?;
    }
    transaction.commit().map_err(failure)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrating_twice_changes_nothing() {
        let mut connection = Connection::open_in_memory().expect("opens");
        run(&mut connection).expect("migrates");
        run(&mut connection).expect("finds nothing to do");
    }

    #[test]
    fn a_newer_database_is_refused() {
        let mut connection = Connection::open_in_memory().expect("opens");
        run(&mut connection).expect("migrates");
        connection.execute("INSERT INTO schema_version (version) VALUES (999)", []).expect("inserts");
        assert_eq!(run(&mut connection), Err(OpenError::TooNew { found: 999, known: known(SQLITE) }));
    }
}
