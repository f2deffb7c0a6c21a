//! The event log: lookup, cancel, retry by hand, pages, figures.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chronq::contract::MessageState;
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::store::encoding::{name_of, state_code, state_of, unsigned};
use crate::store::error::StoreError;
use crate::store::types::UnixMillis;
use crate::store::types::claim::{Cancelled, RetriedByHand};
use crate::store::types::event::{EventFilter, EventPage, Message};
use crate::store::types::queue::{QueueMetrics, Wake};

use super::failure;
use super::memory::{Effects, Memory, QueueRow, lock};
use super::near::bucket;
use super::rows::{MESSAGE_COLUMNS, MESSAGE_TABLES, all, column, execute, message as message_of, one};
use super::writer::Writing;

pub(super) fn message(connection: &Connection, id: Uuid) -> Result<Option<Message>, StoreError> {
    let sql = format!("SELECT {MESSAGE_COLUMNS} FROM {MESSAGE_TABLES} WHERE m.id = ?1");
    Ok(all(connection, &sql, params![id.as_bytes()], message_of)?.pop())
}

/// A message by its id, unless its queue is deleted.
struct Found {
    seq: i64,
    queue: Arc<QueueRow>,
    state: MessageState,
}

fn find(connection: &Connection, memory: &Mutex<Memory>, id: Uuid) -> Result<Option<Found>, StoreError> {
    let sql = "SELECT seq, queue, state FROM messages WHERE id = ?1";
    let row = one(connection, sql, params![id.as_bytes()], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i16>(2)?))
    })?;
    let Some((seq, queue, state)) = row else { return Ok(None) };
    let queue = lock(memory).queues(connection)?.with_id(queue).cloned();
    queue.map(|queue| Ok(Found { seq, queue, state: state_of(state)? })).transpose()
}

pub(super) fn cancel(
    connection: &Connection,
    memory: &Mutex<Memory>,
    now: UnixMillis,
    id: Uuid,
) -> Result<Cancelled, StoreError> {
    let Some(found) = find(connection, memory, id)? else { return Ok(Cancelled::NotFound) };
    let changed = execute(
        connection,
        "UPDATE messages SET state = ?2, due_bucket = NULL, finished_at = ?3 WHERE seq = ?1 AND state < 2",
        params![found.seq, state_code(MessageState::Cancelled), now],
    )?;
    Ok(if changed > 0 { Cancelled::Cancelled } else { Cancelled::NotCancellable(found.state) })
}

pub(super) fn retry_failed(
    writing: &mut Writing<'_>,
    memory: &Arc<Mutex<Memory>>,
    wakes: &broadcast::Sender<Wake>,
    now: UnixMillis,
    id: Uuid,
) -> Result<RetriedByHand, StoreError> {
    let Some(found) = find(writing.connection, memory, id)? else { return Ok(RetriedByHand::NotFound) };
    let changed = execute(
        writing.connection,
        "UPDATE messages SET state = 1, due_at = ?2, due_bucket = ?3, finished_at = NULL, \
         retried = retried + 1, max_retries = retried + 1 WHERE seq = ?1 AND state = 5",
        params![found.seq, now, bucket(now)],
    )?;
    if changed == 0 {
        return Ok(RetriedByHand::NotFailed(found.state));
    }
    let mut effects = Effects::default();
    effects.wait(&found.queue, now, found.seq);
    effects.follow(memory, wakes, writing);
    Ok(RetriedByHand::Queued)
}

pub(super) fn events(connection: &Connection, filter: &EventFilter) -> Result<EventPage, StoreError> {
    let mut conditions = String::from("TRUE");
    let mut values: Vec<Value> = Vec::new();
    if let Some(name) = &filter.queue {
        let id = one(connection, "SELECT id FROM queues WHERE name = ?1", params![name.as_str()], |row| {
            row.get::<_, i64>(0)
        })?;
        let Some(id) = id else { return Ok(EventPage { messages: Vec::new(), total: 0 }) };
        conditions.push_str(" AND m.queue = ?");
        values.push(Value::Integer(id));
    } else {
        conditions.push_str(" AND m.queue IN (SELECT id FROM queues)");
    }
    if let Some(state) = filter.state {
        conditions.push_str(" AND m.state = ?");
        values.push(Value::Integer(i64::from(state_code(state))));
    }
    if let Some(schedule) = &filter.schedule {
        conditions.push_str(" AND m.schedule = ?");
        values.push(Value::Text(schedule.as_str().to_owned()));
    }
    if let Some(label) = &filter.label {
        conditions.push_str(" AND m.seq IN (SELECT seq FROM message_labels WHERE label = ?)");
        values.push(Value::Text(label.clone()));
    }
    let total = one(
        connection,
        &format!("SELECT count(*) FROM messages m WHERE {conditions}"),
        params_from_iter(&values),
        |row| row.get::<_, i64>(0),
    )?;
    values.push(Value::Integer(i64::from(filter.limit)));
    values.push(Value::Integer(i64::from(filter.offset)));
    let messages = all(
        connection,
        &format!(
            "SELECT {MESSAGE_COLUMNS} FROM {MESSAGE_TABLES} WHERE {conditions} \
             ORDER BY m.seq DESC LIMIT ? OFFSET ?"
        ),
        params_from_iter(&values),
        message_of,
    )?;
    Ok(EventPage { messages, total: unsigned(total.unwrap_or_default()) })
}

pub(super) fn metrics(connection: &Connection, since: UnixMillis) -> Result<Vec<QueueMetrics>, StoreError> {
    let (waiting, active) = (
        counts(
            connection,
            "SELECT queue, count(*) FROM messages WHERE due_bucket IS NOT NULL GROUP BY queue",
        )?,
        counts(
            connection,
            "SELECT queue, count(*) FROM messages WHERE lease_until IS NOT NULL GROUP BY queue",
        )?,
    );
    let queues = all(connection, "SELECT id, name FROM queues ORDER BY name", [], |row| {
        Ok((column::<i64>(row, 0)?, name_of(&column::<String>(row, 1)?)?))
    })?;
    queues
        .into_iter()
        .map(|(id, queue)| {
            let (succeeded, mut durations) = finished(connection, id, since)?;
            durations.sort_unstable();
            Ok(QueueMetrics {
                queue,
                finished: durations.len() as u64,
                succeeded,
                p50_ms: percentile(&durations, 50),
                p95_ms: percentile(&durations, 95),
                waiting: waiting.get(&id).copied().unwrap_or_default(),
                active: active.get(&id).copied().unwrap_or_default(),
            })
        })
        .collect()
}

fn counts(connection: &Connection, sql: &str) -> Result<HashMap<i64, u64>, StoreError> {
    let rows = all(connection, sql, [], |row| Ok((column::<i64>(row, 0)?, unsigned(column(row, 1)?))))?;
    Ok(rows.into_iter().collect())
}

/// How many succeeded, and the last attempt's duration of each that finished; from the index alone.
fn finished(connection: &Connection, queue: i64, since: UnixMillis) -> Result<(u64, Vec<u32>), StoreError> {
    let sql = "SELECT state, duration_ms FROM messages \
               WHERE finished_at IS NOT NULL AND queue = ?1 AND finished_at >= ?2 AND state IN (3, 5)";
    let mut statement = connection.prepare_cached(sql).map_err(failure)?;
    let mut rows = statement.query(params![queue, since]).map_err(failure)?;
    let (mut succeeded, mut durations) = (0, Vec::new());
    while let Some(row) = rows.next().map_err(failure)? {
        succeeded += u64::from(column::<i16>(row, 0)? == state_code(MessageState::Completed));
        let duration = column::<Option<i64>>(row, 1)?.unwrap_or_default();
        durations.push(u32::try_from(duration).unwrap_or(u32::MAX));
    }
    Ok((succeeded, durations))
}

/// The nearest rank, as `percentile_disc` gives it.
fn percentile(sorted: &[u32], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).map(|value| u64::from(*value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_nearest_rank() {
        let hundred: Vec<u32> = (1..=100).collect();
        assert_eq!(percentile(&hundred, 50), Some(50));
        assert_eq!(percentile(&hundred, 95), Some(95));
        assert_eq!(percentile(&[7], 50), Some(7));
        assert_eq!(percentile(&[1, 2], 95), Some(2));
        assert_eq!(percentile(&[], 50), None);
    }
}
