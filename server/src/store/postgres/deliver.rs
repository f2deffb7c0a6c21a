//! Claims and settles: every change is conditional on the state and the claim that the caller holds.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use chronq::Name;
use chronq::contract::MessageState;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row};
use uuid::Uuid;

use crate::store::encoding::{headers_json, name_of, signed, state_code};
use crate::store::error::StoreError;
use crate::store::types::UnixMillis;
use crate::store::types::claim::{AttemptVerdict, ClaimRequest, Claimed, Settled, Settlement};
use crate::store::types::queue::{QueueAgenda, Wake};

use super::PostgresStore;
use super::error::PgError;
use super::queues::QueueRow;
use super::rows::{CLAIMED_COLUMNS, claimed};

/// Rows of one rescue.
pub(super) const RESCUE_ROWS: u64 = 1_000;

pub(super) async fn claim(
    store: &PostgresStore,
    now: UnixMillis,
    request: &ClaimRequest,
) -> Result<Vec<Claimed>, PgError> {
    let mut connection = store.pool.acquire().await?;
    let rows = take(store, &mut connection, now, request).await?;
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let (id, version): (i64, i64) = (first.try_get("queue")?, first.try_get("version")?);
    let mut queues = store.queues.get(&mut connection).await?;
    if queues.with_id(id).is_none_or(|queue| queue.version != version) {
        queues = store.queues.refresh(&mut connection).await?;
    }
    let queue = queues
        .with_id(id)
        .ok_or_else(|| StoreError::Unavailable(format!("queue {} was deleted", request.queue)))?;
    rows.iter().map(|row| claimed(row, &queue.name, &queue.in_force)).collect()
}

/// Takes as many as are asked for, as long as there are any: first from where the last claim ended.
async fn take(
    store: &PostgresStore,
    connection: &mut PgConnection,
    now: UnixMillis,
    request: &ClaimRequest,
) -> Result<Vec<PgRow>, PgError> {
    let began = store.backlog.resume(&request.queue, Instant::now());
    let from = began.unwrap_or(UnixMillis::MIN);
    let mut rows = take_from(connection, now, request, from, request.limit).await?;
    if rows.len() < request.limit {
        store.backlog.caught_up(&request.queue);
        if began.is_some() {
            let left = request.limit - rows.len();
            match take_from(connection, now, request, UnixMillis::MIN, left).await {
                Ok(more) => rows.extend(more),
                Err(error) if rows.is_empty() => return Err(error),
                // What was taken is committed and goes now; the next claim meets the error again.
                Err(error) => tracing::warn!(error = %error.into_store(), "a queue was not read whole"),
            }
        }
    } else if let Some(last) = rows.last() {
        store.backlog.behind(&request.queue, began, last.try_get("due_at")?, Instant::now());
    }
    Ok(rows)
}

/// A claim promises nothing to anybody, so that its commit need not wait for the disk: one that the database
/// forgets in a crash is a message that is due again, as it is after a lease that passed.
const WITHOUT_WAITING: &str = "(SELECT set_config('synchronous_commit', 'off', true)) AS without_waiting";

async fn take_from(
    connection: &mut PgConnection,
    now: UnixMillis,
    request: &ClaimRequest,
    from: UnixMillis,
    limit: usize,
) -> Result<Vec<PgRow>, PgError> {
    let sql = format!(
        "WITH due AS MATERIALIZED ( \
             SELECT seq FROM messages \
             WHERE queue = (SELECT id FROM queues WHERE name = $1) AND state < 2 AND due_at BETWEEN $5 AND $2 \
             ORDER BY due_at, seq LIMIT $3 FOR UPDATE SKIP LOCKED \
         ), m AS ( \
             UPDATE messages SET state = 2, claim = claim + 1, lease_until = $2 + timeout_ms + $4, \
                 started_at = $2 \
             WHERE seq = ANY(ARRAY(SELECT seq FROM due)) RETURNING * \
         ) \
         SELECT {CLAIMED_COLUMNS}, m.due_at, m.queue, q.version \
         FROM m JOIN contents c ON c.seq = m.seq JOIN queues q ON q.id = m.queue, {WITHOUT_WAITING} \
         ORDER BY m.due_at, m.seq"
    );
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(request.queue.as_str())
        .bind(now)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .bind(signed(request.lease_ms))
        .bind(from)
        .fetch_all(connection)
        .await?;
    Ok(rows)
}

/// Later columns are null where the message ends. A lease is there exactly while a message is active; that
/// its end is asked for, and not the state, keeps the plan to the rows' keys: by the state it would read the
/// index of all leases, the ended ones included, once for each row.
macro_rules! settle {
    ($kept:literal) => {
        concat!(
            "\
WITH input AS (
    SELECT * FROM unnest($1::bigint[], $2::int[], $3::smallint[], $4::bigint[], $5::bigint[], $6::int[],
                         $7::text[], $8::bytea[], $9::bool[], $10::bigint[], $11::bigint[])
        AS i (seq, claim, state, due_at, retry_delay_ms, status, headers, body, truncated, duration_ms,
              lease_until)
), settled AS (
    UPDATE messages m
    SET state = i.state, lease_until = NULL, duration_ms = i.duration_ms,
        due_at = coalesce(i.due_at, m.due_at), retry_delay_ms = coalesce(i.retry_delay_ms, m.retry_delay_ms),
        retried = CASE WHEN i.state = 1 THEN m.retried + 1 ELSE m.retried END,
        finished_at = CASE WHEN i.state = 1 THEN NULL ELSE $12 END
    FROM input i WHERE m.seq = i.seq AND m.claim = i.claim AND m.lease_until = i.lease_until
    RETURNING m.seq, m.queue, m.due_at, i.status, i.headers, i.body, i.truncated, i.duration_ms AS took_ms
), kept AS (
    INSERT INTO responses AS r (seq, status, headers, body, truncated, duration_ms)
    SELECT seq, status, headers, body, truncated, took_ms FROM settled
    ",
            $kept,
            "
)
SELECT seq, queue, due_at FROM settled"
        )
    };
}

/// For a batch of first claims: none of them has been settled before, and looking for a conflict costs.
const SETTLE_FIRST: &str = settle!("");
const SETTLE: &str = settle!(
    "ON CONFLICT (seq) DO UPDATE SET status = excluded.status, headers = excluded.headers,
        body = excluded.body, truncated = excluded.truncated, duration_ms = excluded.duration_ms"
);

pub(super) async fn settle(
    store: &PostgresStore,
    now: UnixMillis,
    settlements: &[Settlement],
) -> Result<(Vec<Settled>, Vec<Wake>), PgError> {
    // A row is settled once: of two with one lease the first counts.
    let mut seen = HashSet::new();
    let mut batch: Vec<&Settlement> = settlements.iter().filter(|s| seen.insert(s.lease.seq)).collect();
    // In one order everywhere, so that two batches can't wait for each other.
    batch.sort_unstable_by_key(|settlement| settlement.lease.seq);
    let fails = batch.iter().any(|settlement| settlement.verdict == AttemptVerdict::Failed);
    let mut wakes = Vec::new();
    let mut copies = HashMap::new();
    let rows = if fails {
        let mut transaction = store.pool.begin().await?;
        let rows = send(&mut transaction, now, &batch).await?;
        copies = bury(store, &mut transaction, now, &batch, &rows, &mut wakes).await?;
        transaction.commit().await?;
        rows
    } else {
        let mut connection = store.pool.acquire().await?;
        send(&mut connection, now, &batch).await?
    };
    let retried: Vec<(i64, UnixMillis)> = batch
        .iter()
        .filter(|settlement| matches!(settlement.verdict, AttemptVerdict::Retry { .. }))
        .filter_map(|settlement| rows.get(&settlement.lease.seq).copied())
        .collect();
    wakes.extend(wakes_of(store, retried).await);
    let mut first = HashSet::new();
    let settled = settlements.iter().map(|settlement| {
        let seq = settlement.lease.seq;
        match (first.insert(seq) && rows.contains_key(&seq), copies.get(&seq)) {
            (false, _) => Settled::Stale,
            (true, Some(id)) => Settled::DeadLettered { id: *id },
            (true, None) => Settled::Done,
        }
    });
    Ok((settled.collect(), wakes))
}

/// Sends the statement; answers queue and due instant of each row that was settled.
async fn send(
    connection: &mut PgConnection,
    now: UnixMillis,
    batch: &[&Settlement],
) -> Result<HashMap<i64, (i64, UnixMillis)>, PgError> {
    let each_state = batch.iter().map(|settlement| match settlement.verdict {
        AttemptVerdict::Completed => state_code(MessageState::Completed),
        AttemptVerdict::Failed => state_code(MessageState::Failed),
        AttemptVerdict::Retry { .. } => state_code(MessageState::Retry),
    });
    let retry = |settlement: &Settlement| match settlement.verdict {
        AttemptVerdict::Retry { wait_ms, retry_delay_ms } => {
            Some((now.saturating_add(signed(wait_ms)), signed(retry_delay_ms)))
        }
        AttemptVerdict::Completed | AttemptVerdict::Failed => None,
    };
    let headers = batch
        .iter()
        .map(|s| headers_json(&s.response.headers))
        .collect::<Result<Vec<String>, StoreError>>()?;
    let statement = if batch.iter().all(|s| s.lease.claim == 1) { SETTLE_FIRST } else { SETTLE };
    let rows: Vec<(i64, i64, i64)> = sqlx::query_as(statement)
        .bind(batch.iter().map(|s| s.lease.seq).collect::<Vec<_>>())
        .bind(batch.iter().map(|s| s.lease.claim).collect::<Vec<_>>())
        .bind(each_state.collect::<Vec<_>>())
        .bind(batch.iter().map(|s| retry(s).map(|(due_at, _)| due_at)).collect::<Vec<_>>())
        .bind(batch.iter().map(|s| retry(s).map(|(_, delay)| delay)).collect::<Vec<_>>())
        .bind(batch.iter().map(|s| i32::from(s.response.status)).collect::<Vec<_>>())
        .bind(headers)
        .bind(batch.iter().map(|s| &s.response.body[..]).collect::<Vec<_>>())
        .bind(batch.iter().map(|s| s.response.truncated).collect::<Vec<_>>())
        .bind(batch.iter().map(|s| signed(s.response.duration_ms)).collect::<Vec<_>>())
        .bind(batch.iter().map(|s| s.lease.until).collect::<Vec<_>>())
        .bind(now)
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(|(seq, queue, due_at)| (seq, (queue, due_at))).collect())
}

/// Copies what failed for good into the dead-letter queues, as publishes that say nothing but what
/// they carry: the callbacks have been called.
async fn bury(
    store: &PostgresStore,
    connection: &mut PgConnection,
    now: UnixMillis,
    batch: &[&Settlement],
    rows: &HashMap<i64, (i64, UnixMillis)>,
    wakes: &mut Vec<Wake>,
) -> Result<HashMap<i64, Uuid>, PgError> {
    let queues = store.queues.refresh(connection).await?;
    let mut copies = HashMap::new();
    for settlement in batch.iter().filter(|settlement| settlement.verdict == AttemptVerdict::Failed) {
        let seq = settlement.lease.seq;
        let target = rows
            .get(&seq)
            .and_then(|(queue, _)| queues.with_id(*queue))
            .and_then(|queue| queue.settings.dead_letter_queue.as_ref())
            .and_then(|name| queues.named(name));
        if let Some(target) = target {
            let id = store.ids.mint(now)?;
            bury_one(connection, now, seq, id, target).await?;
            copies.insert(seq, id);
            wakes.push(Wake::Due { queue: target.name.clone(), at: now });
        }
    }
    Ok(copies)
}

async fn bury_one(
    connection: &mut PgConnection,
    now: UnixMillis,
    failed: i64,
    id: Uuid,
    target: &QueueRow,
) -> Result<(), PgError> {
    let settings = &target.in_force;
    sqlx::query(
        "WITH copy AS ( \
             INSERT INTO contents (seq, id, queue, created_at, schedule, dead_letter_of, method, url, headers, \
                                   labels, body) \
             SELECT nextval('messages_seq'), $2, $3, $4, schedule, coalesce(dead_letter_of, id), method, url, \
                    headers, labels, body \
             FROM contents WHERE seq = $1 RETURNING seq \
         ), waiting AS ( \
             INSERT INTO messages (seq, queue, state, due_at, max_retries, timeout_ms, retry_delay_ms) \
             SELECT seq, $3, 0, $4, $5, $6, $7 FROM copy \
         ) \
         INSERT INTO message_labels (label, seq) \
         SELECT l.label, copy.seq FROM copy, message_labels l WHERE l.seq = $1",
    )
    .bind(failed)
    .bind(id)
    .bind(target.id)
    .bind(now)
    .bind(i32::try_from(settings.retry_limit).unwrap_or(i32::MAX))
    .bind(signed(settings.expire_ms))
    .bind(signed(settings.retry_delay_ms))
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn rescue(store: &PostgresStore, now: UnixMillis) -> Result<(u64, Vec<Wake>), PgError> {
    let rows: Vec<(i64, UnixMillis)> = sqlx::query_as(
        "UPDATE messages SET state = CASE WHEN retried = 0 THEN 0 ELSE 1 END, lease_until = NULL \
         WHERE seq IN (SELECT seq FROM messages WHERE state = 2 AND lease_until <= $1 \
                       ORDER BY lease_until LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING queue, due_at",
    )
    .bind(now)
    .bind(signed(RESCUE_ROWS))
    .fetch_all(&store.pool)
    .await?;
    Ok((rows.len() as u64, wakes_of(store, rows).await))
}

/// One wake per queue, for the first of its messages. What they are about is committed: where their
/// queues cannot be read, the next poll finds it.
async fn wakes_of(store: &PostgresStore, rows: Vec<(i64, UnixMillis)>) -> Vec<Wake> {
    let mut first: HashMap<i64, UnixMillis> = HashMap::new();
    for (queue, due_at) in rows {
        first.entry(queue).and_modify(|first| *first = due_at.min(*first)).or_insert(due_at);
    }
    if first.is_empty() {
        return Vec::new();
    }
    match named(store, first).await {
        Ok(wakes) => wakes,
        Err(error) => {
            tracing::debug!(error = %error.into_store(), "a wake-up was not sent");
            Vec::new()
        }
    }
}

async fn named(store: &PostgresStore, first: HashMap<i64, UnixMillis>) -> Result<Vec<Wake>, PgError> {
    let mut connection = store.pool.acquire().await?;
    let mut queues = store.queues.get(&mut connection).await?;
    if first.keys().any(|id| queues.with_id(*id).is_none()) {
        queues = store.queues.refresh(&mut connection).await?;
    }
    let wakes = first.into_iter().filter_map(|(queue, at)| {
        let queue: Name = queues.with_id(queue)?.name.clone();
        Some(Wake::Due { queue, at })
    });
    Ok(wakes.collect())
}

pub(super) async fn agenda(store: &PostgresStore) -> Result<Vec<QueueAgenda>, PgError> {
    let rows: Vec<(String, UnixMillis)> = sqlx::query_as(
        "SELECT q.name, first.due_at FROM queues q CROSS JOIN LATERAL \
         (SELECT due_at FROM messages m WHERE m.queue = q.id AND m.state < 2 ORDER BY due_at LIMIT 1) AS first",
    )
    .fetch_all(&store.pool)
    .await?;
    rows.into_iter()
        .map(|(queue, next_due)| Ok(QueueAgenda { queue: name_of(&queue)?, next_due }))
        .collect::<Result<_, StoreError>>()
        .map_err(PgError::from)
}
