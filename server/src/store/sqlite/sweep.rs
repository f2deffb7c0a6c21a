//! What the sweeper does to timers on SQLite: looks for those that come near, claims them, fires them, and
//! puts back or buries what could not be fired.

use std::collections::HashSet;

use rusqlite::{Connection, params};

use super::claims::Held;
use super::due::{self, DueSoon};
use super::frames::Appender;
use super::timers::{PutEntry, count, delete};
use crate::store::timers::{ClaimedTimer, Consequence, TimerFailure, UnixMicros};

/// Entries of the buckets in (after, up to], in chunks by id.
pub(super) fn load(
    conn: &Connection,
    after: i64,
    up_to: i64,
    beyond: (i64, i64),
    limit: usize,
) -> rusqlite::Result<Vec<(i64, i64, UnixMicros)>> {
    conn.prepare_cached(
        "SELECT bucket, id, next_us FROM timers
         WHERE bucket > ?1 AND bucket <= ?2 AND (bucket, id) > (?3, ?4) ORDER BY bucket, id LIMIT ?5",
    )?
    .query_map(params![after, up_to, beyond.0, beyond.1, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?
    .collect()
}

/// What a claim's look at the rows made of the entries.
#[derive(Default)]
pub(super) struct ClaimedEntries {
    pub(super) timers: Vec<ClaimedTimer>,
    pub(super) held: Vec<Held>,
    /// Entries whose timer is due later after all: in other hands, or moved.
    pub(super) later: Vec<(i64, UnixMicros)>,
}

/// Looks at the rows of entries that are due. `held_until` tells of a timer that is in other hands until
/// when it is.
pub(super) fn claim(
    conn: &Connection,
    now_us: UnixMicros,
    entries: &[(UnixMicros, i64)],
    held_until: impl Fn(i64) -> Option<UnixMicros>,
) -> rusqlite::Result<ClaimedEntries> {
    let mut claimed = ClaimedEntries::default();
    let mut ids = Vec::with_capacity(entries.len());
    // Entries are hints: there may be two for one timer.
    let mut seen = HashSet::with_capacity(entries.len());
    for (_, id) in entries {
        match held_until(*id) {
            Some(until_us) => claimed.later.push((*id, until_us)),
            None if seen.insert(*id) => ids.push(*id),
            None => {}
        }
    }
    // Rows that are not there were cancelled, or fired by an entry before this one.
    let mut look = conn.prepare_cached(
        "SELECT t.next_us, t.queue_id, t.partition, q.tenant, q.name, t.timer_key, t.due_us, t.attempts, t.id
         FROM json_each(?1) j CROSS JOIN timers t ON t.id = j.value CROSS JOIN log_queues q ON q.id = t.queue_id",
    )?;
    let mut rows = look.query([json_array(&ids)])?;
    while let Some(row) = rows.next()? {
        let (next_us, id): (UnixMicros, i64) = (row.get(0)?, row.get(8)?);
        if next_us > now_us {
            // Its own entry is on its way, or in the file.
            claimed.later.push((id, next_us));
            continue;
        }
        let timer = ClaimedTimer {
            id,
            tenant: row.get(3)?,
            queue: row.get(4)?,
            timer_key: row.get(5)?,
            due_us: row.get(6)?,
            attempts: row.get(7)?,
        };
        let (due_us, tenant) = (timer.due_us, timer.tenant.clone());
        claimed.held.push(Held { id, due_us, queue_id: row.get(1)?, partition: row.get(2)?, tenant });
        claimed.timers.push(timer);
    }
    claimed.timers.sort_by_key(|timer| (timer.due_us, timer.id));
    Ok(claimed)
}

/// Appends the frames of timers whose claim holds, in expiry order, and deletes the timers; answers
/// how late each of them was.
pub(super) fn fire(conn: &Connection, now_us: UnixMicros, mut held: Vec<Held>) -> rusqlite::Result<Vec<i64>> {
    held.sort_by_key(|timer| (timer.due_us, timer.id));
    let mut appender = Appender::new(conn, now_us);
    let mut partitions: Vec<(i64, &str, Vec<i64>)> = Vec::new();
    let mut fired: Vec<(&str, u64)> = Vec::new();
    for timer in &held {
        let place = (timer.queue_id, timer.partition.as_str());
        match partitions.iter_mut().find(|(queue_id, partition, _)| (*queue_id, *partition) == place) {
            Some((.., ids)) => ids.push(timer.id),
            None => partitions.push((place.0, place.1, vec![timer.id])),
        }
        match fired.iter_mut().find(|(tenant, _)| *tenant == timer.tenant) {
            Some((_, count)) => *count += 1,
            None => fired.push((&timer.tenant, 1)),
        }
    }
    for (queue_id, partition, ids) in partitions {
        let all = json_array(&ids);
        appender.append_timers(queue_id, partition, &all, ids.len())?;
        conn.prepare_cached("DELETE FROM timers WHERE id IN (SELECT value FROM json_each(?1))")?
            .execute([all])?;
    }
    appender.finish()?;
    for (tenant, removed) in fired {
        count(conn, tenant, 0, removed, 0)?;
    }
    Ok(held.iter().map(|timer| now_us - timer.due_us).collect())
}

/// Puts back, or buries, timers that could not be fired, each beside its tenant; answers the dead letters
/// and the new entries.
pub(super) fn fail(
    conn: &Connection,
    now_us: UnixMicros,
    failures: &[(String, TimerFailure)],
) -> rusqlite::Result<(u64, Vec<PutEntry>)> {
    let (mut dead, mut entries) = (0, Vec::new());
    for (tenant, failure) in failures {
        match failure.consequence {
            Consequence::Backoff { after_us, spend } => {
                let next_us = now_us.saturating_add(after_us);
                let bucket = due::bucket(next_us, now_us);
                conn.prepare_cached(
                    "UPDATE timers SET bucket = ?2, next_us = ?3, attempts = attempts + ?4, last_error = ?5
                     WHERE id = ?1",
                )?
                .execute(params![
                    failure.id,
                    bucket,
                    next_us,
                    i64::from(spend),
                    failure.error
                ])?;
                entries.push(PutEntry { id: failure.id, next_us, bucket });
            }
            Consequence::DeadLetter => {
                conn.prepare_cached(
                    "UPDATE log_queues SET created_us = ?2
                     WHERE created_us IS NULL AND id = (SELECT queue_id FROM timers WHERE id = ?1)",
                )?
                .execute(params![failure.id, now_us])?;
                conn.prepare_cached(
                    "INSERT INTO log_dead_letters (queue_id, consumer_group, partition, partition_id, frame_offset,
                         txn, message_id, packing, producer, created_us, payload, error, attempts, failed_us)
                     SELECT queue_id, ?2, partition, 0, -1, txn, message_id, packing, producer, created_us, payload,
                            ?3, attempts + 1, ?4
                     FROM timers WHERE id = ?1",
                )?
                .execute(params![
                    failure.id,
                    chronq::contract::limits::TIMER_DEAD_LETTER_GROUP,
                    failure.error,
                    now_us
                ])?;
                delete(conn, failure.id)?;
                count(conn, tenant, 0, 1, 0)?;
                dead += 1;
            }
        }
    }
    Ok((dead, entries))
}

/// Timers that are due and not fired, and when the oldest of them was.
pub(super) fn due(conn: &Connection, now_us: UnixMicros) -> rusqlite::Result<(u64, Option<UnixMicros>)> {
    conn.prepare_cached("SELECT count(*), min(due_us) FROM timers WHERE bucket <= ?1 AND next_us <= ?2")?
        .query_row(params![now_us.div_euclid(1_000_000), now_us], |row| {
            Ok((row.get::<_, i64>(0).map(|count| u64::try_from(count).unwrap_or(0))?, row.get(1)?))
        })
}

/// Puts what a write committed into the near heap; answers the earliest instant.
pub(super) fn remember(due: &mut DueSoon, entries: &[PutEntry]) -> Option<UnixMicros> {
    for entry in entries {
        due.put(entry.id, entry.next_us, entry.bucket);
    }
    entries.iter().map(|entry| entry.next_us).min()
}

/// Numbers as one parameter: a statement for many rows costs each of them less than one of its own.
fn json_array(ids: &[i64]) -> String {
    serde_json::Value::from(ids).to_string()
}
