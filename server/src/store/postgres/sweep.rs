//! What the sweeper does to timers on Postgres: claims them, fires them, and puts back or buries what
//! could not be fired.

use std::collections::HashMap;

use chronq::contract::limits::TIMER_DEAD_LETTER_GROUP;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use super::PgError;
use super::timers::count;
use crate::store::timers::{ClaimedTimer, Consequence, TimerFailure, TimersFired, UnixMicros};

pub(super) async fn claim(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    limit: u32,
    token: Uuid,
    until_us: UnixMicros,
) -> Result<Vec<ClaimedTimer>, PgError> {
    let rows = sqlx::query(
        "WITH due AS MATERIALIZED (
             SELECT id FROM timers WHERE next_us <= $1 AND (claimed_until_us IS NULL OR claimed_until_us <= $1)
             ORDER BY next_us, id LIMIT $2 FOR UPDATE SKIP LOCKED
         ), m AS (
             UPDATE timers SET claim = $3, claimed_until_us = $4 WHERE id = ANY(ARRAY(SELECT id FROM due))
             RETURNING id, queue_id, timer_key, due_us, attempts
         )
         SELECT m.id, q.tenant, q.name, m.timer_key, m.due_us, m.attempts
         FROM m JOIN log_queues q ON q.id = m.queue_id ORDER BY m.due_us, m.id",
    )
    .bind(now_us)
    .bind(i64::from(limit))
    .bind(token)
    .bind(until_us)
    .fetch_all(&mut *conn)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(ClaimedTimer {
                id: row.try_get(0)?,
                tenant: row.try_get(1)?,
                queue: row.try_get(2)?,
                timer_key: row.try_get(3)?,
                due_us: row.try_get(4)?,
                attempts: u32::try_from(row.try_get::<i32, _>(5)?).unwrap_or(0),
            })
        })
        .collect()
}

/// Appends the frames of timers whose claim holds, in expiry order, and deletes the timers.
pub(super) async fn fire(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    token: Uuid,
    ids: &[i64],
) -> Result<TimersFired, PgError> {
    let rows = sqlx::query(
        "SELECT t.id, t.due_us, t.queue_id, t.partition, q.tenant
         FROM timers t JOIN log_queues q ON q.id = t.queue_id
         WHERE t.id = ANY($1) AND t.claim = $2 AND t.claimed_until_us > $3 ORDER BY t.due_us, t.id FOR UPDATE OF t",
    )
    .bind(ids)
    .bind(token)
    .bind(now_us)
    .fetch_all(&mut *conn)
    .await?;
    let mut fired = TimersFired { lags_us: Vec::with_capacity(rows.len()), stale: ids.len() - rows.len() };
    let mut held = Vec::with_capacity(rows.len());
    let mut tenants: HashMap<String, u64> = HashMap::new();
    for row in &rows {
        fired.lags_us.push(now_us - row.try_get::<i64, _>(1)?);
        held.push((row.try_get::<i64, _>(0)?, (row.try_get::<i64, _>(2)?, row.try_get::<String, _>(3)?)));
        *tenants.entry(row.try_get(4)?).or_default() += 1;
    }
    if held.is_empty() {
        return Ok(fired);
    }
    let wanted: Vec<_> = held.iter().map(|(_, partition)| partition.clone()).collect();
    let places = super::frame_log::take_places(conn, now_us, &wanted).await?;
    sqlx::query(
        // By keys alone, not by a join that could be planned as a walk over all timers: see `PLANNING`.
        "WITH gone AS (
             DELETE FROM timers WHERE id = ANY($1)
             RETURNING id, array_position($1, id) AS place, queue_id, txn, message_id, packing, producer
         ), bodies AS (
             DELETE FROM timer_payloads WHERE timer_id = ANY($1)
         )
         INSERT INTO log_frames (partition_id, frame_offset, queue_id, created_us, message_id, packing, txn, producer, payload)
         SELECT ($2::bigint[])[place], ($3::bigint[])[place], queue_id, $4, message_id, packing, txn, producer,
                (SELECT p.payload FROM timer_payloads p WHERE p.timer_id = gone.id)
         FROM gone",
    )
    .bind(held.iter().map(|(id, _)| *id).collect::<Vec<_>>())
    .bind(places.iter().map(|(partition_id, _)| *partition_id).collect::<Vec<_>>())
    .bind(places.iter().map(|(_, offset)| *offset).collect::<Vec<_>>())
    .bind(now_us)
    .execute(&mut *conn)
    .await?;
    for (tenant, removed) in tenants {
        count(conn, &tenant, 0, removed, 0).await?;
    }
    Ok(fired)
}

/// Ends claims on timers that could not be fired; answers how many became dead letters.
pub(super) async fn fail(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    token: Uuid,
    failures: &[TimerFailure],
) -> Result<u64, PgError> {
    let mut dead = 0;
    for failure in failures {
        match failure.consequence {
            Consequence::Backoff { after_us, spend } => {
                // Nothing is found where the claim is somebody else's by now, or the timer was rescheduled.
                sqlx::query(
                    "UPDATE timers SET next_us = $3, attempts = attempts + $4, last_error = $5, claim = NULL,
                         claimed_until_us = NULL WHERE id = $1 AND claim = $2",
                )
                .bind(failure.id)
                .bind(token)
                .bind(now_us.saturating_add(after_us))
                .bind(i32::from(spend))
                .bind(&failure.error)
                .execute(&mut *conn)
                .await?;
            }
            Consequence::DeadLetter => dead += bury(conn, now_us, token, failure).await?,
        }
    }
    Ok(dead)
}

async fn bury(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    token: Uuid,
    failure: &TimerFailure,
) -> Result<u64, PgError> {
    let queue_id: Option<i64> = sqlx::query_scalar(
        "WITH gone AS (
             DELETE FROM timers WHERE id = $1 AND claim = $2
             RETURNING id, queue_id, partition, txn, message_id, packing, producer, created_us, attempts
         ), bodies AS (
             DELETE FROM timer_payloads p USING gone g WHERE p.timer_id = g.id RETURNING p.payload
         )
         INSERT INTO log_dead_letters (queue_id, consumer_group, partition, partition_id, frame_offset, txn,
             message_id, packing, producer, created_us, payload, error, attempts, failed_us)
         SELECT g.queue_id, $3, g.partition, 0, -1, g.txn, g.message_id, g.packing, g.producer, g.created_us,
                b.payload, $4, g.attempts + 1, $5
         FROM gone g CROSS JOIN bodies b RETURNING queue_id",
    )
    .bind(failure.id)
    .bind(token)
    .bind(TIMER_DEAD_LETTER_GROUP)
    .bind(&failure.error)
    .bind(now_us)
    .fetch_optional(&mut *conn)
    .await?;
    let Some(queue_id) = queue_id else { return Ok(0) };
    let tenant: String = sqlx::query_scalar(
        "UPDATE log_queues SET created_us = coalesce(created_us, $2) WHERE id = $1 RETURNING tenant",
    )
    .bind(queue_id)
    .bind(now_us)
    .fetch_one(&mut *conn)
    .await?;
    count(conn, &tenant, 0, 1, 0).await?;
    Ok(1)
}

pub(super) async fn next_due(
    conn: &mut PgConnection,
    now_us: UnixMicros,
) -> Result<Option<UnixMicros>, PgError> {
    Ok(sqlx::query_scalar(
        "SELECT next_us FROM timers WHERE claimed_until_us IS NULL OR claimed_until_us <= $1 ORDER BY next_us LIMIT 1",
    )
    .bind(now_us)
    .fetch_optional(&mut *conn)
    .await?)
}

/// Timers that are due and not fired, and when the oldest of them was.
pub(super) async fn due(
    conn: &mut PgConnection,
    now_us: UnixMicros,
) -> Result<(u64, Option<UnixMicros>), PgError> {
    let row = sqlx::query("SELECT count(*), min(due_us) FROM timers WHERE next_us <= $1")
        .bind(now_us)
        .fetch_one(&mut *conn)
        .await?;
    Ok((u64::try_from(row.try_get::<i64, _>(0)?).unwrap_or(0), row.try_get(1)?))
}
