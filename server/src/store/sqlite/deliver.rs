//! Claims and settles: every change is conditional on the state and the claim that the caller holds.

use std::sync::{Arc, Mutex};

use chronq::contract::MessageState;
use rusqlite::{Connection, Row, params};
use tokio::sync::broadcast;

use crate::store::encoding::{headers_json, signed, state_code};
use crate::store::error::StoreError;
use crate::store::ids::IdMint;
use crate::store::types::UnixMillis;
use crate::store::types::claim::{AttemptVerdict, ClaimRequest, Claimed, Lease, Settled, Settlement};
use crate::store::types::queue::{QueueAgenda, Wake};

use super::memory::{Effects, Memory, lock};
use super::near::{BUCKET_MS, Cursor, bucket, end_of};
use super::publish::insert_dead_letter;
use super::rows::{ClaimedRow, all, column, execute, one};
use super::writer::Writing;

/// Rows of one load: bounds how long the writer is away.
const LOAD_ROWS: i64 = 20_000;

/// A row goes back to where it waited: the attempt is made again and nothing is spent.
macro_rules! put_back {
    ($condition:literal) => {
        concat!(
            "UPDATE messages SET state = CASE WHEN retried = 0 THEN 0 ELSE 1 END, ",
            "due_bucket = due_at / ?1, lease_until = NULL WHERE state = 2 AND ",
            $condition,
            " RETURNING queue, due_at, seq"
        )
    };
}

const CLAIM: &str = "UPDATE messages SET state = 2, claim = claim + 1, lease_until = ?3 + timeout_ms + ?4, \
     started_at = ?3, due_bucket = NULL WHERE seq = ?1 AND due_at = ?2 AND state < 2 \
     RETURNING id, claim, lease_until, retried, max_retries, timeout_ms, retry_delay_ms, created_at, \
     schedule, dead_letter_of";

/// The rest of the cursor's bucket and queue, then what follows: two walks of the index, each from its
/// place. One comparison of three columns would begin at the queue's first row every time.
const LOAD_REST: &str = "SELECT due_bucket, queue, seq, due_at FROM messages \
     WHERE due_bucket = ?1 AND queue = ?2 AND seq > ?3 ORDER BY seq LIMIT ?4";
const LOAD_NEXT: &str = "SELECT due_bucket, queue, seq, due_at FROM messages \
     WHERE (due_bucket, queue) > (?1, ?2) AND due_bucket <= ?3 ORDER BY due_bucket, queue, seq LIMIT ?4";

/// At the start of the one server: leases of the process before are void.
pub(super) fn take_back_all(connection: &Connection) -> Result<(), StoreError> {
    all(connection, put_back!("lease_until IS NOT NULL"), params![BUCKET_MS], |_| Ok(()))?;
    Ok(())
}

pub(super) fn rescue(
    writing: &mut Writing<'_>,
    memory: &Arc<Mutex<Memory>>,
    wakes: &broadcast::Sender<Wake>,
    now: UnixMillis,
) -> Result<u64, StoreError> {
    let rows = all(writing.connection, put_back!("lease_until <= ?2"), params![BUCKET_MS, now], |row| {
        Ok((column(row, 0)?, column(row, 1)?, column(row, 2)?))
    })?;
    let count = rows.len() as u64;
    waiting_again(writing, memory, wakes, rows)?;
    Ok(count)
}

fn waiting_again(
    writing: &mut Writing<'_>,
    memory: &Arc<Mutex<Memory>>,
    wakes: &broadcast::Sender<Wake>,
    rows: Vec<(i64, UnixMillis, i64)>,
) -> Result<(), StoreError> {
    let mut effects = Effects::default();
    let mut locked = lock(memory);
    let queues = locked.queues(writing.connection)?;
    for (queue, due_at, seq) in rows {
        if let Some(queue) = queues.with_id(queue) {
            effects.wait(queue, due_at, seq);
        }
    }
    drop(locked);
    effects.follow(memory, wakes, writing);
    Ok(())
}

pub(super) fn claim(
    writing: &mut Writing<'_>,
    memory: &Arc<Mutex<Memory>>,
    now: UnixMillis,
    request: &ClaimRequest,
) -> Result<Vec<Claimed>, StoreError> {
    let Some(queue) = lock(memory).queues(writing.connection)?.named(&request.queue).cloned() else {
        return Ok(Vec::new());
    };
    let mut claimed = Vec::new();
    while claimed.len() < request.limit {
        let taken = take_due(writing, memory, queue.id, now, request.limit - claimed.len());
        if taken.is_empty() {
            break;
        }
        for (due_at, seq) in taken {
            let row = one(
                writing.connection,
                CLAIM,
                params![seq, due_at, now, signed(request.lease_ms)],
                ClaimedRow::read,
            )?;
            // A message that was cancelled, or waits for another instant by now, is not there.
            if let Some(row) = row {
                claimed.push(row.with_content(writing.connection, seq, (&queue.name, &queue.in_force))?);
            }
        }
    }
    Ok(claimed)
}

/// Takes entries that are due out of memory; they come back if the job fails.
fn take_due(
    writing: &mut Writing<'_>,
    memory: &Arc<Mutex<Memory>>,
    queue: i64,
    now: UnixMillis,
    limit: usize,
) -> Vec<(UnixMillis, i64)> {
    let mut locked = lock(memory);
    let taken: Vec<_> = std::iter::from_fn(|| locked.near.pop_due(queue, now)).take(limit).collect();
    drop(locked);
    let (memory, back) = (Arc::clone(memory), taken.clone());
    writing.on_rollback(move || {
        let mut locked = lock(&memory);
        for (due_at, seq) in back {
            locked.near.wait(queue, due_at, seq);
        }
    });
    taken
}

pub(super) fn settle(
    writing: &mut Writing<'_>,
    memory: &Arc<Mutex<Memory>>,
    wakes: &broadcast::Sender<Wake>,
    ids: &IdMint,
    now: UnixMillis,
    settlements: &[Settlement],
) -> Result<Vec<Settled>, StoreError> {
    let mut effects = Effects::default();
    let mut locked = lock(memory);
    let mut settled = Vec::with_capacity(settlements.len());
    for settlement in settlements {
        settled.push(settle_one(writing.connection, &mut locked, &mut effects, ids, now, settlement)?);
    }
    drop(locked);
    effects.follow(memory, wakes, writing);
    Ok(settled)
}

fn settle_one(
    connection: &Connection,
    memory: &mut Memory,
    effects: &mut Effects,
    ids: &IdMint,
    now: UnixMillis,
    settlement: &Settlement,
) -> Result<Settled, StoreError> {
    let Lease { seq, claim, .. } = settlement.lease;
    let settled = match settlement.verdict {
        AttemptVerdict::Completed => {
            if finish(connection, MessageState::Completed, now, settlement)?.is_none() {
                return Ok(Settled::Stale);
            }
            Settled::Done
        }
        AttemptVerdict::Failed => {
            let Some(queue) = finish(connection, MessageState::Failed, now, settlement)? else {
                return Ok(Settled::Stale);
            };
            let queues = memory.queues(connection)?;
            let dead_letters = queues
                .with_id(queue)
                .and_then(|queue| queue.settings.dead_letter_queue.as_ref())
                .and_then(|name| queues.named(name))
                .cloned();
            match dead_letters {
                Some(target) => {
                    let id = ids.mint(now)?;
                    insert_dead_letter(connection, memory, effects, now, seq, (id, &target))?;
                    Settled::DeadLettered { id }
                }
                None => Settled::Done,
            }
        }
        AttemptVerdict::Retry { wait_ms, retry_delay_ms } => {
            let due_at = now.saturating_add(signed(wait_ms));
            let queue = one(
                connection,
                "UPDATE messages SET state = 1, lease_until = NULL, due_at = ?3, due_bucket = ?4, \
                 retried = retried + 1, retry_delay_ms = ?5, duration_ms = ?6 \
                 WHERE seq = ?1 AND claim = ?2 AND state = 2 RETURNING queue",
                params![
                    seq,
                    claim,
                    due_at,
                    bucket(due_at),
                    signed(retry_delay_ms),
                    signed(settlement.response.duration_ms)
                ],
                |row| row.get::<_, i64>(0),
            )?;
            let Some(queue) = queue else { return Ok(Settled::Stale) };
            if let Some(queue) = memory.queues(connection)?.with_id(queue) {
                effects.wait(queue, due_at, seq);
            }
            Settled::Done
        }
    };
    keep_response(connection, seq, settlement)?;
    Ok(settled)
}

/// Ends a message; answers its queue, or nothing where the lease is stale.
fn finish(
    connection: &Connection,
    state: MessageState,
    now: UnixMillis,
    settlement: &Settlement,
) -> Result<Option<i64>, StoreError> {
    one(
        connection,
        "UPDATE messages SET state = ?3, lease_until = NULL, finished_at = ?4, duration_ms = ?5 \
         WHERE seq = ?1 AND claim = ?2 AND state = 2 RETURNING queue",
        params![
            settlement.lease.seq,
            settlement.lease.claim,
            state_code(state),
            now,
            signed(settlement.response.duration_ms)
        ],
        |row| row.get(0),
    )
}

fn keep_response(connection: &Connection, seq: i64, settlement: &Settlement) -> Result<(), StoreError> {
    let response = &settlement.response;
    execute(
        connection,
        "INSERT OR REPLACE INTO responses (seq, status, headers, body, truncated, duration_ms) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            seq,
            response.status,
            headers_json(&response.headers)?,
            &response.body[..],
            response.truncated,
            signed(response.duration_ms)
        ],
    )?;
    Ok(())
}

/// Each queue that waits for something near; `None` where the queues must be read again first.
pub(super) fn agenda(memory: &Memory) -> Option<Vec<QueueAgenda>> {
    let queues = memory.known_queues()?;
    let agenda = memory.near.first_due().filter_map(|(queue, next_due)| {
        Some(QueueAgenda { queue: queues.with_id(queue)?.name.clone(), next_due })
    });
    Some(agenda.collect())
}

/// One step of the load of what is due soon.
pub(super) fn load(
    writing: &mut Writing<'_>,
    memory: &Arc<Mutex<Memory>>,
    wakes: &broadcast::Sender<Wake>,
    wanted: i64,
) -> Result<(), StoreError> {
    let mut locked = lock(memory);
    let from = locked.near.cursor();
    if from >= end_of(wanted) {
        return Ok(());
    }
    let read =
        |row: &Row<'_>| Ok(((column(row, 0)?, column(row, 1)?, column(row, 2)?), column::<i64>(row, 3)?));
    let mut rows: Vec<(Cursor, UnixMillis)> =
        all(writing.connection, LOAD_REST, params![from.0, from.1, from.2, LOAD_ROWS], read)?;
    let room = LOAD_ROWS - i64::try_from(rows.len()).unwrap_or(LOAD_ROWS);
    rows.extend(all(writing.connection, LOAD_NEXT, params![from.0, from.1, wanted, room], read)?);
    let last = rows.last().map(|(place, _)| *place);
    let is_full = i64::try_from(rows.len()).is_ok_and(|count| count >= LOAD_ROWS);
    let cursor = last.filter(|_| is_full).unwrap_or_else(|| end_of(wanted));
    let queues = locked.queues(writing.connection)?;
    let entries: Vec<_> = rows
        .into_iter()
        .filter(|((_, queue, _), _)| queues.with_id(*queue).is_some())
        .map(|((_, queue, seq), due_at)| (queue, due_at, seq))
        .collect();
    drop(locked);
    let (memory, wakes) = (Arc::clone(memory), wakes.clone());
    writing.on_commit(move || {
        let mut locked = lock(&memory);
        locked.near.loaded(entries, cursor);
        for due in agenda(&locked).unwrap_or_default() {
            // Without a listener nobody sleeps.
            let _ = wakes.send(Wake::Due { queue: due.queue, at: due.next_due });
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::migrate;

    #[test]
    fn a_load_walks_the_index_in_order() {
        let mut connection = Connection::open_in_memory().expect("opens");
        migrate::run(&mut connection).expect("migrates");
        let plan = |sql: &str| -> Vec<String> {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("prepares");
            let rows = statement.query_map([1, 1, 2, 10], |row| row.get(3)).expect("explains");
            rows.map(|row| row.expect("a row")).collect()
        };
        assert_eq!(
            plan(LOAD_REST),
            ["SEARCH messages USING INDEX messages_due (due_bucket=? AND queue=? AND rowid>?)"]
        );
        assert_eq!(
            plan(LOAD_NEXT),
            ["SEARCH messages USING INDEX messages_due ((due_bucket,queue)>(?,?) AND due_bucket<?)"]
        );
    }
}
