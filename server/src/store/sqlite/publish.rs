//! Inserts messages: queue, duplicate and row are decided in one transaction.

use std::sync::{Arc, Mutex};

use chronq::contract::{MessageState, limits};
use rusqlite::{Connection, params};
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::store::draft::Draft;
use crate::store::encoding::{ACTIVE, name_of, signed, state_code};
use crate::store::error::StoreError;
use crate::store::types::UnixMillis;
use crate::store::types::claim::Lease;
use crate::store::types::message::{DeduplicationKey, EnqueueAnswer, Enqueued, HandOver};
use crate::store::types::queue::Wake;

use super::memory::{Effects, Memory, QueueRow, lock};
use super::near::bucket;
use super::rows::{execute, one};
use super::writer::Writing;

/// Decides and inserts each draft.
pub(super) fn enqueue(
    writing: &mut Writing<'_>,
    memory: &Arc<Mutex<Memory>>,
    wakes: &broadcast::Sender<Wake>,
    now: UnixMillis,
    drafts: Vec<Draft>,
    mut hand_over: HandOver,
) -> Result<EnqueueAnswer, StoreError> {
    let mut answer = EnqueueAnswer { outcomes: Vec::with_capacity(drafts.len()), claimed: Vec::new() };
    let mut effects = Effects::default();
    let mut locked = lock(memory);
    for draft in drafts {
        let outcome = enqueue_one(
            writing.connection,
            &mut locked,
            &mut effects,
            now,
            draft,
            &mut hand_over,
            &mut answer,
        )?;
        answer.outcomes.push(outcome);
    }
    drop(locked);
    effects.follow(memory, wakes, writing);
    Ok(answer)
}

fn enqueue_one(
    connection: &Connection,
    memory: &mut Memory,
    effects: &mut Effects,
    now: UnixMillis,
    draft: Draft,
    hand_over: &mut HandOver,
    answer: &mut EnqueueAnswer,
) -> Result<Enqueued, StoreError> {
    let Some(queue) = memory.queues(connection)?.named(&draft.message.queue).cloned() else {
        return Ok(Enqueued::UnknownQueue);
    };
    if !queue.in_force.enabled {
        return Ok(Enqueued::QueueDisabled);
    }
    if let Some(key) = draft.message.deduplication
        && let Some(duplicate) = duplicate_of(connection, key, &draft, now)?
    {
        return Ok(duplicate);
    }
    let seq = memory.take_seq();
    let due_at = draft.message.due.resolve(now);
    let place = if due_at > now {
        None
    } else {
        hand_over.places.iter_mut().find(|(name, places)| *name == queue.name && *places > 0)
    };
    let outcome = Enqueued::Queued { id: draft.id, queue: queue.name.clone() };
    if let Some((_, places)) = place {
        *places -= 1;
        let lease_until = draft.resolve(&queue.in_force).lease_until(now, hand_over.lease_ms);
        insert(connection, seq, &draft, &queue, now, Begin::Claimed { lease_until })?;
        answer.claimed.push(draft.into_claimed(
            Lease { seq, claim: 1, until: lease_until },
            &queue.in_force,
            now,
        ));
    } else {
        insert(connection, seq, &draft, &queue, now, Begin::Waiting { due_at })?;
        effects.wait(&queue, due_at, seq);
    }
    Ok(outcome)
}

/// The first message of the window, or nothing, and then this one is the first.
fn duplicate_of(
    connection: &Connection,
    key: DeduplicationKey,
    draft: &Draft,
    now: UnixMillis,
) -> Result<Option<Enqueued>, StoreError> {
    let known = one(
        connection,
        "SELECT message_id, queue FROM deduplications WHERE key = ?1 AND created_at > ?2",
        params![key.as_bytes(), now - limits::DEDUPLICATION_WINDOW_MS],
        |row| Ok((row.get::<_, [u8; 16]>(0)?, row.get::<_, String>(1)?)),
    )?;
    if let Some((id, queue)) = known {
        return Ok(Some(Enqueued::Duplicate { id: Uuid::from_bytes(id), queue: name_of(&queue)? }));
    }
    execute(
        connection,
        "INSERT OR REPLACE INTO deduplications (key, message_id, queue, created_at) VALUES (?1, ?2, ?3, ?4)",
        params![key.as_bytes(), draft.id.as_bytes(), draft.message.queue.as_str(), now],
    )?;
    Ok(None)
}

/// How a row begins.
#[derive(Clone, Copy)]
enum Begin {
    Waiting { due_at: UnixMillis },
    Claimed { lease_until: UnixMillis },
}

fn insert(
    connection: &Connection,
    seq: i64,
    draft: &Draft,
    queue: &QueueRow,
    now: UnixMillis,
    begin: Begin,
) -> Result<(), StoreError> {
    let message = &draft.message;
    let resolved = draft.resolve(&queue.in_force);
    let (state, due_at, due_bucket, claim, lease_until, started_at) = match begin {
        Begin::Waiting { due_at } => {
            (state_code(MessageState::Created), due_at, Some(bucket(due_at)), 0, None, None)
        }
        Begin::Claimed { lease_until } => (ACTIVE, now, None, 1, Some(lease_until), Some(now)),
    };
    execute(
        connection,
        "INSERT INTO messages (seq, id, queue, state, due_at, due_bucket, claim, lease_until, max_retries, \
         timeout_ms, retry_delay_ms, created_at, started_at, schedule, dead_letter_of) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        params![
            seq,
            draft.id.as_bytes(),
            queue.id,
            state,
            due_at,
            due_bucket,
            claim,
            lease_until,
            resolved.max_retries,
            signed(resolved.timeout_ms),
            signed(resolved.retry_delay_ms),
            now,
            started_at,
            message.schedule.as_ref().map(chronq::Name::as_str),
            draft.dead_letter_of.as_ref().map(Uuid::as_bytes),
        ],
    )?;
    execute(
        connection,
        "INSERT INTO contents (seq, method, url, headers, labels, callback, failure_callback, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            seq,
            message.method.as_str(),
            message.destination.as_str(),
            draft.headers,
            draft.labels,
            draft.callback,
            draft.failure_callback,
            &message.body[..],
        ],
    )?;
    for label in &message.labels {
        execute(
            connection,
            "INSERT OR IGNORE INTO message_labels (label, seq) VALUES (?1, ?2)",
            params![label, seq],
        )?;
    }
    Ok(())
}

/// Copies a message that failed for good into a dead-letter queue, as a publish that says nothing but
/// what it carries: the callbacks have been called.
pub(super) fn insert_dead_letter(
    connection: &Connection,
    memory: &mut Memory,
    effects: &mut Effects,
    now: UnixMillis,
    failed: i64,
    (id, target): (Uuid, &QueueRow),
) -> Result<(), StoreError> {
    let seq = memory.take_seq();
    let settings = &target.in_force;
    execute(
        connection,
        "INSERT INTO messages (seq, id, queue, state, due_at, due_bucket, max_retries, timeout_ms, \
         retry_delay_ms, created_at, schedule, dead_letter_of) \
         SELECT ?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?4, schedule, coalesce(dead_letter_of, id) \
         FROM messages WHERE seq = ?9",
        params![
            seq,
            id.as_bytes(),
            target.id,
            now,
            bucket(now),
            settings.retry_limit,
            signed(settings.expire_ms),
            signed(settings.retry_delay_ms),
            failed,
        ],
    )?;
    execute(
        connection,
        "INSERT INTO contents (seq, method, url, headers, labels, body) \
         SELECT ?1, method, url, headers, labels, body FROM contents WHERE seq = ?2",
        params![seq, failed],
    )?;
    execute(
        connection,
        "INSERT INTO message_labels (label, seq) SELECT label, ?1 FROM message_labels WHERE seq = ?2",
        params![seq, failed],
    )?;
    effects.wait(target, now, seq);
    Ok(())
}
