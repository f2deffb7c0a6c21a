//! Inserts messages: one statement decides queue, duplicate and rows.

use std::collections::HashMap;
use std::sync::Arc;

use chronq::Name;
use chronq::contract::{MessageState, limits};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::store::draft::Draft;
use crate::store::encoding::{ACTIVE, name_of, signed, state_code};
use crate::store::error::StoreError;
use crate::store::types::UnixMillis;
use crate::store::types::claim::Lease;
use crate::store::types::message::{DeduplicationKey, EnqueueAnswer, Enqueued, HandOver};
use crate::store::types::queue::Wake;

use super::error::PgError;
use super::queues::{KnownQueues, QueueRow};

/// Rows go in only where the queue is as the caller knows it: the settings in a row are never older
/// than the queue's.
macro_rules! input {
    () => {
        "\
WITH input AS MATERIALIZED (
    SELECT nextval('messages_seq') AS seq, i.*
    FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::smallint[], $5::bigint[], $6::int[], $7::bigint[],
                $8::int[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[],
                $15::text[], $16::text[], $17::text[], $18::text[], $19::bytea[], $20::bytea[])
         AS i (id, queue, version, state, due_at, claim, lease_until, max_retries, timeout_ms, retry_delay_ms,
               started_at, schedule, method, url, headers, labels, callback, failure_callback, body, key)
    JOIN queues q ON q.id = i.queue AND q.version = i.version
)"
    };
}

macro_rules! rows_from {
    ($source:literal) => {
        concat!(
            "\
, rows AS (
    INSERT INTO messages (seq, queue, state, due_at, claim, lease_until, max_retries, timeout_ms,
                          retry_delay_ms, started_at)
    SELECT seq, queue, state, due_at, claim, lease_until, max_retries, timeout_ms, retry_delay_ms, started_at
    FROM ",
            $source,
            "
), bodies AS (
    INSERT INTO contents (seq, id, queue, created_at, schedule, method, url, headers, labels, callback,
                          failure_callback, body)
    SELECT seq, id, queue, $21, schedule, method, url, headers, labels, callback, failure_callback, body
    FROM ",
            $source,
            "
)"
        )
    };
}

/// For a batch without keys and labels: each table that a statement may write costs, even if no row comes.
const INSERT_PLAIN: &str = concat!(input!(), rows_from!("input"), " SELECT id, seq FROM input");

/// A key is taken by the row that inserts it; the others are duplicates. Keys are taken in order, so
/// that two batches can't wait for each other.
const INSERT: &str = concat!(
    input!(),
    "\
, keys AS (
    INSERT INTO deduplications AS d (key, message_id, queue, created_at)
    SELECT i.key, i.id, q.name, $21 FROM input i JOIN queues q ON q.id = i.queue
    WHERE i.key IS NOT NULL ORDER BY i.key
    ON CONFLICT (key) DO UPDATE
        SET message_id = excluded.message_id, queue = excluded.queue, created_at = excluded.created_at
        WHERE d.created_at <= $22
    RETURNING message_id
), fresh AS MATERIALIZED (
    SELECT * FROM input WHERE key IS NULL OR id IN (SELECT message_id FROM keys)
)",
    rows_from!("fresh"),
    "\
, labelled AS (
    INSERT INTO message_labels (label, seq)
    SELECT DISTINCT label, f.seq
    FROM fresh f CROSS JOIN LATERAL json_array_elements_text(f.labels::json) AS label
    WHERE f.labels IS NOT NULL
)
SELECT id, CASE WHEN key IS NULL OR id IN (SELECT message_id FROM keys) THEN seq END FROM input"
);

/// How often a batch is sent again because a queue changed under it.
const ATTEMPTS: usize = 5;

/// Decides and inserts each draft. Ids are minted already, so the outcome of each is found by its id.
pub(super) async fn enqueue(
    connection: &mut PgConnection,
    known: &KnownQueues,
    now: UnixMillis,
    drafts: Vec<Draft>,
    mut hand_over: HandOver,
) -> Result<(EnqueueAnswer, Vec<Wake>), PgError> {
    let mut outcomes: Vec<Option<Enqueued>> = vec![None; drafts.len()];
    let mut left: Vec<(usize, Draft)> = drafts.into_iter().enumerate().collect();
    let mut answer = EnqueueAnswer::default();
    let mut due: HashMap<Name, UnixMillis> = HashMap::new();
    for _ in 0..ATTEMPTS {
        if left.is_empty() {
            break;
        }
        let mut queues = known.get(connection).await?;
        // A refusal is not believed to what was read earlier.
        if left.iter().any(|(_, draft)| queues.accepts(&draft.message.queue).is_err()) {
            queues = known.refresh(connection).await?;
        }
        let mut batch = Batch::default();
        // Whose first message stands elsewhere: further up in this batch, or in an earlier one.
        let mut repeated: Vec<(usize, DeduplicationKey, Draft)> = Vec::new();
        for (index, draft) in left.drain(..) {
            let queue = match queues.accepts(&draft.message.queue) {
                Ok(queue) => queue,
                Err(refusal) => {
                    outcomes[index] = Some(refusal);
                    continue;
                }
            };
            match draft.message.deduplication {
                Some(key) if batch.has_key(key) => repeated.push((index, key, draft)),
                _ => batch.push(index, draft, queue, now, &mut hand_over),
            }
        }
        let sent = batch.insert(connection, now).await?;
        for Entry { index, draft, queue, due_at, lease_until } in batch.entries {
            match sent.get(&draft.id) {
                // The queue is not as we knew it: again, with its settings of now.
                None => {
                    give_back(&mut hand_over, lease_until, &queue.name);
                    known.forget();
                    left.push((index, draft));
                }
                Some(None) => {
                    give_back(&mut hand_over, lease_until, &queue.name);
                    if let Some(key) = draft.message.deduplication {
                        repeated.push((index, key, draft));
                    }
                }
                Some(Some(seq)) => {
                    outcomes[index] =
                        Some(Enqueued::Queued { id: draft.id, queue: draft.message.queue.clone() });
                    match lease_until {
                        Some(until) => answer.claimed.push(draft.into_claimed(
                            Lease { seq: *seq, claim: 1, until },
                            &queue.in_force,
                            now,
                        )),
                        None => {
                            due.entry(queue.name.clone())
                                .and_modify(|first| *first = due_at.min(*first))
                                .or_insert(due_at);
                        }
                    }
                }
            }
        }
        let keys: Vec<DeduplicationKey> = repeated.iter().map(|(_, key, _)| *key).collect();
        let first = first_of(connection, now, &keys).await?;
        for (index, key, draft) in repeated {
            match first.get(key.as_bytes().as_slice()) {
                Some(duplicate) => outcomes[index] = Some(duplicate.clone()),
                // The first one's queue was not as we knew it, or its window ended between two statements.
                None => left.push((index, draft)),
            }
        }
        // Of several with one key the first one is made.
        left.sort_unstable_by_key(|(index, _)| *index);
    }
    answer.outcomes = outcomes
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| StoreError::Unavailable(QUEUES_CHANGED.to_owned()))?;
    let wakes = due.into_iter().map(|(queue, at)| Wake::Due { queue, at }).collect();
    Ok((answer, wakes))
}

const QUEUES_CHANGED: &str = "the queues changed too often while a batch was written";

fn give_back(hand_over: &mut HandOver, lease_until: Option<UnixMillis>, queue: &Name) {
    if lease_until.is_some()
        && let Some((_, places)) = hand_over.places.iter_mut().find(|(name, _)| name == queue)
    {
        *places += 1;
    }
}

/// The first message under each key whose window lasts.
async fn first_of(
    connection: &mut PgConnection,
    now: UnixMillis,
    keys: &[DeduplicationKey],
) -> Result<HashMap<Vec<u8>, Enqueued>, PgError> {
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes().as_slice()).collect();
    let rows: Vec<(Vec<u8>, Uuid, String)> = sqlx::query_as(
        "SELECT key, message_id, queue FROM deduplications WHERE key = ANY($1) AND created_at > $2",
    )
    .bind(keys)
    .bind(now - limits::DEDUPLICATION_WINDOW_MS)
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|(key, id, queue)| Ok((key, Enqueued::Duplicate { id, queue: name_of(&queue)? })))
        .collect::<Result<_, StoreError>>()
        .map_err(PgError::from)
}

/// One draft of a statement.
struct Entry {
    index: usize,
    draft: Draft,
    queue: Arc<QueueRow>,
    due_at: UnixMillis,
    lease_until: Option<UnixMillis>,
}

/// The drafts of a statement.
#[derive(Default)]
struct Batch {
    entries: Vec<Entry>,
}

impl Batch {
    fn has_key(&self, key: DeduplicationKey) -> bool {
        self.entries.iter().any(|entry| entry.draft.message.deduplication == Some(key))
    }

    fn push(
        &mut self,
        index: usize,
        draft: Draft,
        queue: &Arc<QueueRow>,
        now: UnixMillis,
        hand_over: &mut HandOver,
    ) {
        let due_at = draft.message.due.resolve(now);
        let place = hand_over.places.iter_mut().find(|(name, places)| *name == queue.name && *places > 0);
        let lease_until = place.filter(|_| due_at <= now).map(|(_, places)| {
            *places -= 1;
            draft.resolve(&queue.in_force).lease_until(now, hand_over.lease_ms)
        });
        self.entries.push(Entry { index, draft, queue: Arc::clone(queue), due_at, lease_until });
    }

    /// Sends the statement; answers, per id, nothing where the queue was stale, and the row's number
    /// unless it is a duplicate.
    async fn insert(
        &self,
        connection: &mut PgConnection,
        now: UnixMillis,
    ) -> Result<HashMap<Uuid, Option<i64>>, PgError> {
        if self.entries.is_empty() {
            return Ok(HashMap::new());
        }
        let resolved: Vec<_> =
            self.entries.iter().map(|entry| entry.draft.resolve(&entry.queue.in_force)).collect();
        let column = |entry: &Entry| entry.lease_until.is_some();
        let plain =
            |entry: &Entry| entry.draft.message.deduplication.is_none() && entry.draft.labels.is_none();
        let statement = if self.entries.iter().all(plain) { INSERT_PLAIN } else { INSERT };
        let rows: Vec<(Uuid, Option<i64>)> = sqlx::query_as(statement)
            .bind(self.each(|entry| entry.draft.id))
            .bind(self.each(|entry| entry.queue.id))
            .bind(self.each(|entry| entry.queue.version))
            .bind(self.each(|entry| if column(entry) { ACTIVE } else { state_code(MessageState::Created) }))
            .bind(self.each(|entry| entry.due_at))
            .bind(self.each(|entry| i32::from(column(entry))))
            .bind(self.each(|entry| entry.lease_until))
            .bind(
                resolved.iter().map(|r| i32::try_from(r.max_retries).unwrap_or(i32::MAX)).collect::<Vec<_>>(),
            )
            .bind(resolved.iter().map(|r| signed(r.timeout_ms)).collect::<Vec<_>>())
            .bind(resolved.iter().map(|r| signed(r.retry_delay_ms)).collect::<Vec<_>>())
            .bind(self.each(|entry| entry.lease_until.map(|_| now)))
            .bind(self.each(|entry| entry.draft.message.schedule.as_ref().map(Name::as_str)))
            .bind(self.each(|entry| entry.draft.message.method.as_str()))
            .bind(self.each(|entry| entry.draft.message.destination.as_str()))
            .bind(self.each(|entry| entry.draft.headers.as_str()))
            .bind(self.each(|entry| entry.draft.labels.as_deref()))
            .bind(self.each(|entry| entry.draft.callback.as_deref()))
            .bind(self.each(|entry| entry.draft.failure_callback.as_deref()))
            .bind(self.each(|entry| &entry.draft.message.body[..]))
            .bind(
                self.each(|entry| {
                    entry.draft.message.deduplication.as_ref().map(|k| k.as_bytes().as_slice())
                }),
            )
            .bind(now)
            .bind(now - limits::DEDUPLICATION_WINDOW_MS)
            .fetch_all(connection)
            .await?;
        Ok(rows.into_iter().collect())
    }

    fn each<'a, T>(&'a self, value: impl Fn(&'a Entry) -> T) -> Vec<T> {
        self.entries.iter().map(value).collect()
    }
}
