//! Retention: what is beyond its time goes in bulk, a bounded number of rows at a time. Several
//! processes may do so at once: each takes rows that no other one holds.

use chronq::contract::limits;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::store::encoding::{signed, unsigned};
use crate::store::types::UnixMillis;

use super::PostgresStore;
use super::error::PgError;
use super::queues::Queues;

/// How long a deleted queue is remembered: longer than a publish that knew it can take.
const REMEMBERED_MS: i64 = 3_600_000;

pub(super) async fn purge(store: &PostgresStore, now: UnixMillis, limit: u32) -> Result<u64, PgError> {
    let mut connection = store.pool.acquire().await?;
    let mut left = i64::from(limit);
    let gone = sqlx::query(
        "DELETE FROM deduplications WHERE key IN \
         (SELECT key FROM deduplications WHERE created_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)",
    )
    .bind(now - limits::DEDUPLICATION_WINDOW_MS)
    .bind(left)
    .execute(&mut *connection)
    .await?;
    left -= signed(gone.rows_affected());
    // One by one: asked for all at once, every message would be looked at.
    let deleted: Vec<i64> =
        sqlx::query_scalar("SELECT id FROM deleted_queues").fetch_all(&mut *connection).await?;
    for queue in deleted {
        left -=
            delete(&mut connection, "contents WHERE queue = $1 AND $2::bigint IS NOT NULL", (queue, 0, left))
                .await?;
    }
    if left > 0 {
        sqlx::query("DELETE FROM deleted_queues WHERE deleted_at <= $1")
            .bind(now - REMEMBERED_MS)
            .execute(&mut *connection)
            .await?;
    }
    let queues = Queues::read(&mut connection).await?;
    for queue in queues.all() {
        let finished_before = now.saturating_sub(signed(queue.in_force.keep_completed_ms));
        left -= delete(
            &mut connection,
            "messages WHERE queue = $1 AND finished_at IS NOT NULL AND finished_at <= $2",
            (queue.id, finished_before, left),
        )
        .await?;
        let due_before = now.saturating_sub(signed(queue.in_force.keep_queued_ms));
        left -= delete(
            &mut connection,
            "messages WHERE queue = $1 AND state < 2 AND due_at <= $2",
            (queue.id, due_before, left),
        )
        .await?;
    }
    Ok(unsigned(i64::from(limit) - left))
}

async fn delete(
    connection: &mut PgConnection,
    rows: &'static str,
    (queue, before, limit): (i64, UnixMillis, i64),
) -> Result<i64, PgError> {
    if limit <= 0 {
        return Ok(0);
    }
    let sql = format!(
        "WITH gone AS (DELETE FROM messages WHERE seq IN \
             (SELECT seq FROM {rows} LIMIT $3 FOR UPDATE SKIP LOCKED) RETURNING seq), \
         bodies AS (DELETE FROM contents c USING gone WHERE c.seq = gone.seq), \
         answers AS (DELETE FROM responses r USING gone WHERE r.seq = gone.seq), \
         labels AS (DELETE FROM message_labels l USING gone WHERE l.seq = gone.seq) \
         SELECT count(*) FROM gone"
    );
    let count: i64 = sqlx::query_scalar(AssertSqlSafe(sql))
        .bind(queue)
        .bind(before)
        .bind(limit)
        .fetch_one(connection)
        .await?;
    Ok(count)
}
