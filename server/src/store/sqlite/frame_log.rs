//! The log on SQLite: each verb is one closure on the writer's connection, or one read.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use uuid::Uuid;

use chronq::contract::limits::TIMER_DEAD_LETTER_GROUP;
use chronq::log::AckStatus;

use super::frames::{Appender, OFFSET_BITS, position};
use super::timers::uuid_of;
use crate::store::log::{
    AckWrite, Acked, DeadLetter, DeadLetterQuery, Frame, FrameQuery, LogDeleted, LogOptions, NewFrame,
    PopRequest, Replayed, Taken,
};
use crate::store::timers::{Packing, UnixMicros};

pub(super) fn options(
    conn: &Connection,
    tenant: &str,
    queues: &[String],
) -> rusqlite::Result<Vec<(String, LogOptions)>> {
    let mut look = conn.prepare_cached(
        "SELECT encrypts, retention_s, lease_s, retry_limit FROM log_queues
         WHERE tenant = ?1 AND name = ?2 AND created_us IS NOT NULL",
    )?;
    let mut found = Vec::new();
    for queue in queues {
        let options = look.query_row(params![tenant, queue], |row| {
            Ok(LogOptions {
                encrypts: row.get(0)?,
                retention_seconds: row.get(1)?,
                lease_seconds: row.get(2)?,
                retry_limit: row.get(3)?,
            })
        });
        found.extend(options.optional()?.map(|options| (queue.clone(), options)));
    }
    Ok(found)
}

pub(super) fn configure(
    conn: &Connection,
    now_us: UnixMicros,
    tenant: &str,
    queue: &str,
    options: &LogOptions,
) -> rusqlite::Result<()> {
    let id = Appender::new(conn, now_us).open_queue(tenant, queue)?;
    conn.prepare_cached(
        "UPDATE log_queues SET encrypts = ?2, retention_s = ?3, lease_s = ?4, retry_limit = ?5 WHERE id = ?1",
    )?
    .execute(params![
        id,
        options.encrypts,
        options.retention_seconds,
        options.lease_seconds,
        options.retry_limit
    ])?;
    Ok(())
}

pub(super) fn append(
    conn: &Connection,
    now_us: UnixMicros,
    tenant: &str,
    producer: Option<&str>,
    frames: &[NewFrame],
) -> rusqlite::Result<()> {
    let mut appender = Appender::new(conn, now_us);
    let mut known: Vec<(&str, i64)> = Vec::new();
    for frame in frames {
        let queue_id = if let Some((_, id)) = known.iter().find(|(name, _)| *name == frame.queue) {
            *id
        } else {
            let id = appender.open_queue(tenant, &frame.queue)?;
            known.push((&frame.queue, id));
            id
        };
        appender.append(queue_id, producer, frame)?;
    }
    appender.finish()
}

const FRAME: &str = "SELECT q.name, p.name, p.id, f.position, f.message_id, f.txn, f.producer, f.created_us,
           f.payload, f.packing
    FROM log_frames f JOIN log_partitions p ON p.id = f.position >> 40 JOIN log_queues q ON q.id = f.queue_id";

fn frame(row: &rusqlite::Row<'_>) -> rusqlite::Result<Frame> {
    Ok(Frame {
        queue: row.get(0)?,
        partition: row.get(1)?,
        partition_id: row.get(2)?,
        offset: row.get::<_, i64>(3)? & ((1 << OFFSET_BITS) - 1),
        message_id: uuid_of(row, 4)?,
        txn: row.get(5)?,
        producer: row.get(6)?,
        created_us: row.get(7)?,
        payload: row.get(8)?,
        packing: Packing::from_bits(row.get(9)?),
    })
}

pub(super) fn pop(
    conn: &Connection,
    now_us: UnixMicros,
    request: &PopRequest,
) -> rusqlite::Result<Option<Taken>> {
    let Some(queue) = conn
        .prepare_cached(
            "SELECT id, lease_s FROM log_queues WHERE tenant = ?1 AND name = ?2 AND created_us IS NOT NULL",
        )?
        .query_row(params![request.tenant.as_ref(), request.queue], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })
        .optional()?
    else {
        return Ok(None);
    };
    let (queue_id, lease_s) = queue;
    register_group(conn, now_us, queue_id, request)?;
    // A partition whose waiting frames were all settled or trimmed is moved on, and the next one tried.
    loop {
        let Some((partition_id, cursor, end)) = next_partition(conn, now_us, queue_id, request)? else {
            return Ok(None);
        };
        let frames = waiting(conn, partition_id, cursor, request)?;
        let (Some(first), Some(last)) = (frames.first(), frames.last()) else {
            put_cursor(conn, now_us, partition_id, &request.group, end, None)?;
            continue;
        };
        let (from, to) = (first.offset, last.offset + 1);
        if request.auto_ack {
            put_cursor(conn, now_us, partition_id, &request.group, to, None)?;
            return Ok(Some(Taken { lease: None, frames }));
        }
        let lease = Uuid::now_v7();
        let until_us = now_us.saturating_add(lease_s.saturating_mul(1_000_000));
        put_cursor(conn, now_us, partition_id, &request.group, cursor, Some((lease, until_us, from, to)))?;
        return Ok(Some(Taken { lease: Some(lease), frames }));
    }
}

/// A group's first pop decides where it begins; partitions that come later are read whole.
fn register_group(
    conn: &Connection,
    now_us: UnixMicros,
    queue_id: i64,
    request: &PopRequest,
) -> rusqlite::Result<()> {
    let is_new = conn
        .prepare_cached(
            "INSERT INTO log_groups (queue_id, name, created_us) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        )?
        .execute(params![queue_id, request.group, now_us])?
        > 0;
    if is_new && request.from_end {
        conn.prepare_cached(
            "INSERT INTO log_cursors (partition_id, consumer_group, next_offset)
             SELECT id, ?2, next_offset FROM log_partitions WHERE queue_id = ?1",
        )?
        .execute(params![queue_id, request.group])?;
    }
    Ok(())
}

/// The partition with frames waiting and no live lease that was popped longest ago, as (id, cursor, end).
fn next_partition(
    conn: &Connection,
    now_us: UnixMicros,
    queue_id: i64,
    request: &PopRequest,
) -> rusqlite::Result<Option<(i64, i64, i64)>> {
    conn.prepare_cached(
        "SELECT p.id, coalesce(c.next_offset, 0), p.next_offset
         FROM log_partitions p LEFT JOIN log_cursors c ON c.partition_id = p.id AND c.consumer_group = ?2
         WHERE p.queue_id = ?1 AND (?3 IS NULL OR p.name = ?3) AND p.next_offset > coalesce(c.next_offset, 0)
           AND (c.lease_until_us IS NULL OR c.lease_until_us <= ?4)
         ORDER BY coalesce(c.popped_us, 0), p.id LIMIT 1",
    )?
    .query_row(params![queue_id, request.group, request.partition, now_us], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })
    .optional()
}

fn waiting(
    conn: &Connection,
    partition_id: i64,
    cursor: i64,
    request: &PopRequest,
) -> rusqlite::Result<Vec<Frame>> {
    let sql = format!(
        "{FRAME} WHERE f.position >= ?1 AND f.position < ?2 AND NOT EXISTS (
             SELECT 1 FROM log_settled s WHERE s.partition_id = ?3 AND s.consumer_group = ?4
               AND s.frame_offset = f.position - ?5 AND s.done = 1)
         ORDER BY f.position LIMIT ?6"
    );
    conn.prepare_cached(&sql)?
        .query_map(
            params![
                position(partition_id, cursor),
                position(partition_id + 1, 0),
                partition_id,
                request.group,
                position(partition_id, 0),
                request.batch
            ],
            frame,
        )?
        .collect()
}

/// Lease, its end, and the offsets [from, to) that it holds.
type LeaseRow = (Uuid, UnixMicros, i64, i64);

fn put_cursor(
    conn: &Connection,
    now_us: UnixMicros,
    partition_id: i64,
    group: &str,
    next_offset: i64,
    lease: Option<LeaseRow>,
) -> rusqlite::Result<()> {
    let (id, until_us, from, to) = match lease {
        Some((id, until_us, from, to)) => {
            (Some(id.as_bytes().to_vec()), Some(until_us), Some(from), Some(to))
        }
        None => (None, None, None, None),
    };
    conn.prepare_cached(
        "INSERT INTO log_cursors (partition_id, consumer_group, next_offset, popped_us, lease, lease_until_us,
                                  lease_from, lease_to)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (partition_id, consumer_group) DO UPDATE SET
             next_offset = excluded.next_offset, popped_us = excluded.popped_us, lease = excluded.lease,
             lease_until_us = excluded.lease_until_us, lease_from = excluded.lease_from,
             lease_to = excluded.lease_to",
    )?
    .execute(params![partition_id, group, next_offset, now_us, id, until_us, from, to])?;
    Ok(())
}

/// The queue of a partition, if it is the tenant's: (queue id, retry limit).
fn owned_partition(
    conn: &Connection,
    tenant: &str,
    partition_id: i64,
) -> rusqlite::Result<Option<(i64, u32)>> {
    conn.prepare_cached(
        "SELECT q.id, q.retry_limit FROM log_partitions p JOIN log_queues q ON q.id = p.queue_id
         WHERE p.id = ?1 AND q.tenant = ?2",
    )?
    .query_row(params![partition_id, tenant], |row| Ok((row.get(0)?, row.get(1)?)))
    .optional()
}

pub(super) fn ack(
    conn: &Connection,
    now_us: UnixMicros,
    tenant: &str,
    ack: &AckWrite,
) -> rusqlite::Result<Acked> {
    let Some((queue_id, retry_limit)) = owned_partition(conn, tenant, ack.partition_id)? else {
        return Ok(Acked::NoLease);
    };
    let held: Option<(i64, Vec<u8>, i64, i64)> = conn
        .prepare_cached(
            "SELECT next_offset, lease, lease_from, lease_to FROM log_cursors
             WHERE partition_id = ?1 AND consumer_group = ?2 AND lease IS NOT NULL AND lease_until_us > ?3",
        )?
        .query_row(params![ack.partition_id, ack.group, now_us], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?;
    let Some((cursor, lease, from, to)) = held else { return Ok(Acked::NoLease) };
    if ack.lease.is_some_and(|named| named.as_bytes().as_slice() != lease) {
        return Ok(Acked::NoLease);
    }
    // The first occurrence under this lease that it has not answered yet.
    let found: Option<(i64, u32)> = conn
        .prepare_cached(
            "SELECT f.position - ?5, coalesce(s.attempts, 0)
             FROM log_frames f LEFT JOIN log_settled s ON s.partition_id = ?1 AND s.consumer_group = ?2
                  AND s.frame_offset = f.position - ?5
             WHERE f.position >= ?3 AND f.position < ?4 AND f.txn = ?6
               AND coalesce(s.done, 0) = 0 AND (s.lease IS NULL OR s.lease <> ?7)
             ORDER BY f.position LIMIT 1",
        )?
        .query_row(
            params![
                ack.partition_id,
                ack.group,
                position(ack.partition_id, from),
                position(ack.partition_id, to),
                position(ack.partition_id, 0),
                ack.txn,
                lease
            ],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let Some((offset, attempts)) = found else { return Ok(Acked::NoMessage) };
    let (done, attempts, dead) = match ack.status {
        AckStatus::Completed => (true, attempts, false),
        AckStatus::Retry => (false, attempts, false),
        AckStatus::Failed if attempts < retry_limit => (false, attempts + 1, false),
        AckStatus::Failed | AckStatus::Dlq => (true, attempts + 1, true),
    };
    if dead {
        bury(conn, now_us, queue_id, ack, offset, attempts)?;
    }
    conn.prepare_cached(
        "INSERT INTO log_settled (partition_id, consumer_group, frame_offset, done, attempts, lease)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (partition_id, consumer_group, frame_offset)
         DO UPDATE SET done = excluded.done, attempts = excluded.attempts, lease = excluded.lease",
    )?
    .execute(params![ack.partition_id, ack.group, offset, done, attempts, lease])?;
    release_when_answered(conn, ack, cursor, &lease, from, to)?;
    Ok(Acked::Taken)
}

fn bury(
    conn: &Connection,
    now_us: UnixMicros,
    queue_id: i64,
    ack: &AckWrite,
    offset: i64,
    attempts: u32,
) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO log_dead_letters (queue_id, consumer_group, partition, partition_id, frame_offset, txn,
             message_id, packing, producer, created_us, payload, error, attempts, failed_us)
         SELECT ?1, ?2, p.name, p.id, ?4, f.txn, f.message_id, f.packing, f.producer, f.created_us, f.payload, ?5,
                ?6, ?7
         FROM log_frames f JOIN log_partitions p ON p.id = ?3 WHERE f.position = ?8",
    )?
    .execute(params![
        queue_id,
        ack.group,
        ack.partition_id,
        offset,
        ack.error,
        attempts,
        now_us,
        position(ack.partition_id, offset)
    ])?;
    Ok(())
}

/// A lease that has answered for all of its frames ends, and the cursor moves to the first frame that
/// is not done.
fn release_when_answered(
    conn: &Connection,
    ack: &AckWrite,
    cursor: i64,
    lease: &[u8],
    from: i64,
    to: i64,
) -> rusqlite::Result<()> {
    let open: Option<i64> = conn
        .prepare_cached(
            "SELECT min(f.position) - ?5 FROM log_frames f
             LEFT JOIN log_settled s ON s.partition_id = ?1 AND s.consumer_group = ?2
                  AND s.frame_offset = f.position - ?5
             WHERE f.position >= ?3 AND f.position < ?4 AND coalesce(s.done, 0) = 0
               AND (s.lease IS NULL OR s.lease <> ?6)",
        )?
        .query_row(
            params![
                ack.partition_id,
                ack.group,
                position(ack.partition_id, from),
                position(ack.partition_id, to),
                position(ack.partition_id, 0),
                lease
            ],
            |row| row.get(0),
        )?;
    if open.is_some() {
        return Ok(());
    }
    let undone: Option<i64> = conn
        .prepare_cached(
            "SELECT min(frame_offset) FROM log_settled
             WHERE partition_id = ?1 AND consumer_group = ?2 AND done = 0 AND frame_offset >= ?3 AND frame_offset < ?4",
        )?
        .query_row(params![ack.partition_id, ack.group, cursor, to], |row| row.get(0))?;
    let next_offset = undone.unwrap_or(to);
    conn.prepare_cached(
        "UPDATE log_cursors SET next_offset = ?3, lease = NULL, lease_until_us = NULL, lease_from = NULL,
             lease_to = NULL WHERE partition_id = ?1 AND consumer_group = ?2",
    )?
    .execute(params![ack.partition_id, ack.group, next_offset])?;
    conn.prepare_cached(
        "DELETE FROM log_settled WHERE partition_id = ?1 AND consumer_group = ?2 AND frame_offset < ?3",
    )?
    .execute(params![ack.partition_id, ack.group, next_offset])?;
    Ok(())
}

pub(super) fn extend_lease(
    conn: &Connection,
    now_us: UnixMicros,
    tenant: &str,
    lease: Uuid,
) -> rusqlite::Result<Option<UnixMicros>> {
    conn.prepare_cached(
        "UPDATE log_cursors SET lease_until_us = ?3 + 1000000 * (
             SELECT q.lease_s FROM log_partitions p JOIN log_queues q ON q.id = p.queue_id
             WHERE p.id = log_cursors.partition_id)
         WHERE lease = ?1 AND lease_until_us > ?3 AND EXISTS (
             SELECT 1 FROM log_partitions p JOIN log_queues q ON q.id = p.queue_id
             WHERE p.id = log_cursors.partition_id AND q.tenant = ?2)
         RETURNING lease_until_us",
    )?
    .query_row(params![lease.as_bytes().as_slice(), tenant, now_us], |row| row.get(0))
    .optional()
}

pub(super) fn frames(conn: &Connection, tenant: &str, query: &FrameQuery) -> rusqlite::Result<Vec<Frame>> {
    let sql = format!(
        "{FRAME} WHERE q.tenant = ? AND q.name = ?{}{}{}{} ORDER BY f.created_us, f.position LIMIT ?",
        if query.txn.is_some() { " AND f.txn = ?" } else { "" },
        if query.partition.is_some() { " AND p.name = ?" } else { "" },
        if query.from_us.is_some() { " AND f.created_us >= ?" } else { "" },
        if query.to_us.is_some() { " AND f.created_us < ?" } else { "" },
    );
    let mut values: Vec<Value> = vec![tenant.to_owned().into(), query.queue.clone().into()];
    values.extend(query.txn.clone().map(Value::from));
    values.extend(query.partition.clone().map(Value::from));
    values.extend(query.from_us.map(Value::from));
    values.extend(query.to_us.map(Value::from));
    values.push(i64::from(query.limit).into());
    conn.prepare_cached(&sql)?.query_map(params_from_iter(values), frame)?.collect()
}

pub(super) fn newest_frame(
    conn: &Connection,
    tenant: &str,
    partition_id: i64,
    txn: &str,
) -> rusqlite::Result<Option<Frame>> {
    let sql = format!(
        "{FRAME} WHERE q.tenant = ?1 AND f.queue_id = p.queue_id AND p.id = ?2 AND f.txn = ?3
         ORDER BY f.position DESC LIMIT 1"
    );
    conn.prepare_cached(&sql)?.query_row(params![tenant, partition_id, txn], frame).optional()
}

pub(super) fn dead_letters(
    conn: &Connection,
    tenant: &str,
    query: &DeadLetterQuery,
) -> rusqlite::Result<(Vec<DeadLetter>, u64)> {
    let matching = "FROM log_dead_letters d JOIN log_queues q ON q.id = d.queue_id
         WHERE q.tenant = ?1 AND (?2 IS NULL OR q.name = ?2) AND (?3 IS NULL OR d.consumer_group = ?3)
           AND (?4 IS NULL OR d.partition = ?4)";
    let total: i64 = conn
        .prepare_cached(&format!("SELECT count(*) {matching}"))?
        .query_row(params![tenant, query.queue, query.group, query.partition], |row| row.get(0))?;
    let sql = format!(
        "SELECT d.id, d.consumer_group, d.error, d.attempts, d.failed_us, q.name, d.partition, d.partition_id,
                d.frame_offset, d.message_id, d.txn, d.producer, d.created_us, d.payload, d.packing
         {matching} ORDER BY d.id DESC LIMIT ?5 OFFSET ?6"
    );
    let letters = conn
        .prepare_cached(&sql)?
        .query_map(
            params![tenant, query.queue, query.group, query.partition, query.limit, query.offset],
            |row| {
                let frame = Frame {
                    queue: row.get(5)?,
                    partition: row.get(6)?,
                    partition_id: row.get(7)?,
                    offset: row.get(8)?,
                    message_id: uuid_of(row, 9)?,
                    txn: row.get(10)?,
                    producer: row.get(11)?,
                    created_us: row.get(12)?,
                    payload: row.get(13)?,
                    packing: Packing::from_bits(row.get(14)?),
                };
                Ok(DeadLetter {
                    id: row.get(0)?,
                    group: row.get(1)?,
                    error: row.get(2)?,
                    attempts: row.get(3)?,
                    failed_us: row.get(4)?,
                    frame,
                })
            },
        )?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    Ok((letters, u64::try_from(total).unwrap_or(0)))
}

pub(super) fn replay(
    conn: &Connection,
    now_us: UnixMicros,
    tenant: &str,
    id: i64,
    message_id: Uuid,
) -> rusqlite::Result<Replayed> {
    let found: Option<(i64, String, String)> = conn
        .prepare_cached(
            "SELECT d.queue_id, d.partition, d.consumer_group FROM log_dead_letters d
             JOIN log_queues q ON q.id = d.queue_id WHERE d.id = ?1 AND q.tenant = ?2",
        )?
        .query_row(params![id, tenant], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((queue_id, partition, group)) = found else { return Ok(Replayed::Unknown) };
    if group == TIMER_DEAD_LETTER_GROUP {
        return Ok(Replayed::NotReplayable);
    }
    let mut appender = Appender::new(conn, now_us);
    appender.append_dead_letter(id, queue_id, &partition, message_id.as_bytes())?;
    appender.finish()?;
    conn.prepare_cached("DELETE FROM log_dead_letters WHERE id = ?1")?.execute([id])?;
    Ok(Replayed::Appended(message_id))
}

pub(super) fn delete(conn: &Connection, tenant: &str, id: i64) -> rusqlite::Result<LogDeleted> {
    let existed =
        conn.query_row("SELECT created_us IS NOT NULL FROM log_queues WHERE id = ?1", [id], |row| {
            row.get::<_, bool>(0)
        })?;
    let timers = conn.execute("DELETE FROM timers WHERE queue_id = ?1", [id])?;
    conn.execute(
        "UPDATE timer_counts SET pending = max(pending - ?2, 0) WHERE tenant = ?1",
        params![tenant, i64::try_from(timers).unwrap_or(0)],
    )?;
    let messages = conn.execute("DELETE FROM log_frames WHERE queue_id = ?1", [id])?;
    for sql in [
        "DELETE FROM log_settled WHERE partition_id IN (SELECT id FROM log_partitions WHERE queue_id = ?1)",
        "DELETE FROM log_cursors WHERE partition_id IN (SELECT id FROM log_partitions WHERE queue_id = ?1)",
        "DELETE FROM log_partitions WHERE queue_id = ?1",
        "DELETE FROM log_groups WHERE queue_id = ?1",
        "DELETE FROM log_dead_letters WHERE queue_id = ?1",
        "DELETE FROM log_queues WHERE id = ?1",
    ] {
        conn.execute(sql, [id])?;
    }
    let count = |rows: usize| u64::try_from(rows).unwrap_or(u64::MAX);
    Ok(LogDeleted { existed: existed || timers > 0, messages: count(messages), timers: count(timers) })
}

pub(super) fn trim(conn: &Connection, now_us: UnixMicros, limit: u32) -> rusqlite::Result<u64> {
    let partitions: Vec<(i64, i64)> = conn
        .prepare_cached(
            "SELECT p.id, q.retention_s FROM log_queues q JOIN log_partitions p ON p.queue_id = q.id
             WHERE q.retention_s > 0",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut left = usize::try_from(limit).unwrap_or(usize::MAX);
    for (partition_id, retention_s) in partitions {
        if left == 0 {
            break;
        }
        // Frames of a partition are in the order of their instants, so its oldest ones are its first rows.
        left -= conn
            .prepare_cached(
                "DELETE FROM log_frames WHERE position IN (
                     SELECT position FROM (
                         SELECT position, created_us FROM log_frames WHERE position >= ?1 AND position < ?2
                         ORDER BY position LIMIT ?3)
                     WHERE created_us < ?4)",
            )?
            .execute(params![
                position(partition_id, 0),
                position(partition_id + 1, 0),
                i64::try_from(left).unwrap_or(i64::MAX),
                now_us.saturating_sub(retention_s.saturating_mul(1_000_000)),
            ])?;
    }
    Ok(u64::from(limit) - u64::try_from(left).unwrap_or(0))
}
