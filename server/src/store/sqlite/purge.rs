//! Retention: what is beyond its time goes in bulk, a bounded number of rows at a time.

use std::sync::Mutex;

use chronq::contract::limits;
use rusqlite::{Connection, params};

use crate::store::encoding::signed;
use crate::store::error::StoreError;
use crate::store::types::UnixMillis;

use super::memory::{Memory, lock};
use super::near::bucket;
use super::rows::{all, column, execute};

pub(super) fn purge(
    connection: &Connection,
    memory: &Mutex<Memory>,
    now: UnixMillis,
    limit: u32,
) -> Result<u64, StoreError> {
    let mut left = i64::from(limit);
    let gone = execute(
        connection,
        "DELETE FROM deduplications WHERE key IN \
         (SELECT key FROM deduplications WHERE created_at <= ?1 LIMIT ?2)",
        params![now - limits::DEDUPLICATION_WINDOW_MS, left],
    )?;
    left -= i64::try_from(gone).unwrap_or(left);
    left -= of_deleted_queues(connection, left)?;
    let queues: Vec<_> = lock(memory).queues(connection)?.all().cloned().collect();
    for queue in queues {
        let finished_before = now.saturating_sub(signed(queue.in_force.keep_completed_ms));
        let seqs = select(
            connection,
            "SELECT seq FROM messages WHERE finished_at IS NOT NULL AND queue = ?1 AND finished_at <= ?2 \
             LIMIT ?3",
            params![queue.id, finished_before, left],
        )?;
        left -= delete(connection, &seqs)?;
        let due_before = now.saturating_sub(signed(queue.in_force.keep_queued_ms));
        let seqs = select(
            connection,
            "SELECT seq FROM messages WHERE due_bucket IS NOT NULL AND due_bucket <= ?4 AND queue = ?1 \
             AND due_at <= ?2 LIMIT ?3",
            params![queue.id, due_before, left, bucket(due_before)],
        )?;
        left -= delete(connection, &seqs)?;
    }
    Ok(u64::try_from(i64::from(limit) - left).unwrap_or_default())
}

fn of_deleted_queues(connection: &Connection, limit: i64) -> Result<i64, StoreError> {
    let mut left = limit;
    for queue in select(connection, "SELECT id FROM deleted_queues", [])? {
        let seqs =
            select(connection, "SELECT seq FROM messages WHERE queue = ?1 LIMIT ?2", params![queue, left])?;
        let gone = delete(connection, &seqs)?;
        if gone < left {
            execute(connection, "DELETE FROM deleted_queues WHERE id = ?1", params![queue])?;
        }
        left -= gone;
    }
    Ok(limit - left)
}

fn select<P: rusqlite::Params>(
    connection: &Connection,
    sql: &str,
    parameters: P,
) -> Result<Vec<i64>, StoreError> {
    all(connection, sql, parameters, |row| column(row, 0))
}

fn delete(connection: &Connection, seqs: &[i64]) -> Result<i64, StoreError> {
    for seq in seqs {
        for sql in [
            "DELETE FROM messages WHERE seq = ?1",
            "DELETE FROM contents WHERE seq = ?1",
            "DELETE FROM responses WHERE seq = ?1",
            "DELETE FROM message_labels WHERE seq = ?1",
        ] {
            execute(connection, sql, params![seq])?;
        }
    }
    Ok(i64::try_from(seqs.len()).unwrap_or(i64::MAX))
}
