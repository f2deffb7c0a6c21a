//! The log on Postgres. Offsets of a partition are handed out under its row's lock, held to the commit:
//! a reader never sees a gap that is filled later.

use std::collections::{BTreeMap, HashMap};

use chronq::contract::limits::TIMER_DEAD_LETTER_GROUP;
use chronq::log::AckStatus;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row};
use uuid::Uuid;

use super::PgError;
use crate::store::log::{
    AckWrite, Acked, DeadLetter, DeadLetterQuery, Frame, FrameQuery, LogDeleted, LogOptions, NewFrame,
    PopRequest, Replayed, Taken,
};
use crate::store::timers::{Packing, UnixMicros};

/// Takes one place per (queue id, partition) given, in order, making partitions and queues that do not
/// exist: (partition id, offset) each.
pub(super) async fn take_places(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    wanted: &[(i64, String)],
) -> Result<Vec<(i64, i64)>, PgError> {
    let mut counts: BTreeMap<(i64, &str), i64> = BTreeMap::new();
    for (queue_id, partition) in wanted {
        *counts.entry((*queue_id, partition)).or_default() += 1;
    }
    let (queues, names): (Vec<i64>, Vec<&str>) = counts.keys().copied().unzip();
    let mut next = lock_partitions(conn, &queues, &names).await?;
    if next.len() < counts.len() {
        sqlx::query("UPDATE log_queues SET created_us = $2 WHERE id = ANY($1) AND created_us IS NULL")
            .bind(&queues)
            .bind(now_us)
            .execute(&mut *conn)
            .await?;
        sqlx::query(
            "INSERT INTO log_partitions (queue_id, name)
             SELECT * FROM unnest($1::bigint[], $2::text[]) AS i (queue_id, name) ON CONFLICT DO NOTHING",
        )
        .bind(&queues)
        .bind(&names)
        .execute(&mut *conn)
        .await?;
        next = lock_partitions(conn, &queues, &names).await?;
    }
    let mut places = Vec::with_capacity(wanted.len());
    for (queue_id, partition) in wanted {
        let place = next.get_mut(&(*queue_id, partition.clone())).ok_or(sqlx::Error::RowNotFound)?;
        places.push(*place);
        place.1 += 1;
    }
    let (ids, offsets): (Vec<i64>, Vec<i64>) = next.into_values().unzip();
    sqlx::query(
        "UPDATE log_partitions p SET next_offset = i.next_offset
         FROM unnest($1::bigint[], $2::bigint[]) AS i (id, next_offset) WHERE p.id = i.id",
    )
    .bind(&ids)
    .bind(&offsets)
    .execute(&mut *conn)
    .await?;
    Ok(places)
}

/// (partition id, next offset) of each partition that exists; locked in one order.
async fn lock_partitions(
    conn: &mut PgConnection,
    queues: &[i64],
    names: &[&str],
) -> Result<HashMap<(i64, String), (i64, i64)>, PgError> {
    let rows = sqlx::query(
        "SELECT p.queue_id, p.name, p.id, p.next_offset
         FROM log_partitions p JOIN unnest($1::bigint[], $2::text[]) AS i (queue_id, name)
           ON p.queue_id = i.queue_id AND p.name = i.name
         ORDER BY p.id FOR UPDATE OF p",
    )
    .bind(queues)
    .bind(names)
    .fetch_all(&mut *conn)
    .await?;
    rows.iter()
        .map(|row| Ok(((row.try_get(0)?, row.try_get(1)?), (row.try_get(2)?, row.try_get(3)?))))
        .collect()
}

pub(super) async fn options(
    conn: &mut PgConnection,
    tenant: &str,
    queues: &[String],
) -> Result<Vec<(String, LogOptions)>, PgError> {
    let rows = sqlx::query(
        "SELECT name, encrypts, retention_s, lease_s, retry_limit FROM log_queues
         WHERE tenant = $1 AND name = ANY($2) AND created_us IS NOT NULL",
    )
    .bind(tenant)
    .bind(queues)
    .fetch_all(&mut *conn)
    .await?;
    rows.iter()
        .map(|row| {
            let seconds =
                |column| row.try_get::<i64, _>(column).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
            let options = LogOptions {
                encrypts: row.try_get(1)?,
                retention_seconds: seconds(2)?,
                lease_seconds: seconds(3)?,
                retry_limit: u32::try_from(row.try_get::<i32, _>(4)?).unwrap_or(0),
            };
            Ok((row.try_get(0)?, options))
        })
        .collect()
}

/// A queue that is only named by now exists from now on.
async fn open_queue(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    tenant: &str,
    queue: &str,
) -> Result<i64, PgError> {
    Ok(sqlx::query_scalar(
        "INSERT INTO log_queues AS q (tenant, name, created_us) VALUES ($1, $2, $3)
         ON CONFLICT (tenant, name) DO UPDATE SET created_us = coalesce(q.created_us, excluded.created_us)
         RETURNING id",
    )
    .bind(tenant)
    .bind(queue)
    .bind(now_us)
    .fetch_one(&mut *conn)
    .await?)
}

pub(super) async fn configure(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    tenant: &str,
    queue: &str,
    options: &LogOptions,
) -> Result<(), PgError> {
    let id = open_queue(conn, now_us, tenant, queue).await?;
    sqlx::query(
        "UPDATE log_queues SET encrypts = $2, retention_s = $3, lease_s = $4, retry_limit = $5 WHERE id = $1",
    )
    .bind(id)
    .bind(options.encrypts)
    .bind(i64::from(options.retention_seconds))
    .bind(i64::from(options.lease_seconds))
    .bind(i32::try_from(options.retry_limit).unwrap_or(i32::MAX))
    .execute(&mut *conn)
    .await?;
    Ok(())
}

pub(super) async fn append(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    tenant: &str,
    producer: Option<&str>,
    frames: &[NewFrame],
) -> Result<(), PgError> {
    let names: std::collections::BTreeSet<&str> = frames.iter().map(|frame| frame.queue.as_str()).collect();
    let mut ids = HashMap::new();
    for name in names {
        ids.insert(name, open_queue(conn, now_us, tenant, name).await?);
    }
    let queue_of = |frame: &NewFrame| ids.get(frame.queue.as_str()).copied().unwrap_or_default();
    let wanted: Vec<_> = frames.iter().map(|frame| (queue_of(frame), frame.partition.clone())).collect();
    let places = take_places(conn, now_us, &wanted).await?;
    sqlx::query(
        "INSERT INTO log_frames (partition_id, frame_offset, queue_id, created_us, message_id, packing, txn, producer, payload)
         SELECT i.partition_id, i.frame_offset, i.queue_id, $9, i.message_id, i.packing, i.txn, $8, i.payload
         FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::uuid[], $5::int[], $6::text[], $7::bytea[])
              AS i (partition_id, frame_offset, queue_id, message_id, packing, txn, payload)",
    )
    .bind(places.iter().map(|place| place.0).collect::<Vec<_>>())
    .bind(places.iter().map(|place| place.1).collect::<Vec<_>>())
    .bind(wanted.iter().map(|(queue_id, _)| *queue_id).collect::<Vec<_>>())
    .bind(frames.iter().map(|frame| frame.message_id).collect::<Vec<_>>())
    .bind(frames.iter().map(|frame| frame.packing.bits()).collect::<Vec<_>>())
    .bind(frames.iter().map(|frame| frame.txn.as_str()).collect::<Vec<_>>())
    .bind(frames.iter().map(|frame| frame.payload.as_slice()).collect::<Vec<_>>())
    .bind(producer)
    .bind(now_us)
    .execute(&mut *conn)
    .await?;
    Ok(())
}

const FRAME: &str =
    "SELECT q.name, p.name, p.id, f.frame_offset, f.message_id, f.txn, f.producer, f.created_us,
           f.payload, f.packing
    FROM log_frames f JOIN log_partitions p ON p.id = f.partition_id JOIN log_queues q ON q.id = f.queue_id";

fn frame(row: &PgRow, first: usize) -> Result<Frame, PgError> {
    Ok(Frame {
        queue: row.try_get(first)?,
        partition: row.try_get(first + 1)?,
        partition_id: row.try_get(first + 2)?,
        offset: row.try_get(first + 3)?,
        message_id: row.try_get(first + 4)?,
        txn: row.try_get(first + 5)?,
        producer: row.try_get(first + 6)?,
        created_us: row.try_get(first + 7)?,
        payload: row.try_get(first + 8)?,
        packing: Packing::from_bits(row.try_get(first + 9)?),
    })
}

pub(super) async fn pop(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    request: &PopRequest,
) -> Result<Option<Taken>, PgError> {
    let queue: Option<(i64, i64)> = sqlx::query_as(
        "SELECT id, lease_s FROM log_queues WHERE tenant = $1 AND name = $2 AND created_us IS NOT NULL",
    )
    .bind(request.tenant.as_ref())
    .bind(&request.queue)
    .fetch_optional(&mut *conn)
    .await?;
    let Some((queue_id, lease_s)) = queue else { return Ok(None) };
    register_group(conn, now_us, queue_id, request).await?;
    // A partition whose waiting frames were all settled or trimmed is moved on, and the next one tried.
    loop {
        let Some((partition_id, cursor, end)) = next_partition(conn, now_us, queue_id, request).await? else {
            return Ok(None);
        };
        let frames = waiting(conn, partition_id, cursor, request).await?;
        let (Some(first), Some(last)) = (frames.first(), frames.last()) else {
            put_cursor(conn, now_us, partition_id, &request.group, end, None).await?;
            continue;
        };
        let (from, to) = (first.offset, last.offset + 1);
        if request.auto_ack {
            put_cursor(conn, now_us, partition_id, &request.group, to, None).await?;
            return Ok(Some(Taken { lease: None, frames }));
        }
        let lease = Uuid::now_v7();
        let until_us = now_us.saturating_add(lease_s.saturating_mul(1_000_000));
        put_cursor(conn, now_us, partition_id, &request.group, cursor, Some((lease, until_us, from, to)))
            .await?;
        return Ok(Some(Taken { lease: Some(lease), frames }));
    }
}

/// A group's first pop decides where it begins; partitions that come later are read whole. Every
/// partition has a cursor from then on: it is the row that two pops of a group meet at.
async fn register_group(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    queue_id: i64,
    request: &PopRequest,
) -> Result<(), PgError> {
    let registered = sqlx::query(
        "INSERT INTO log_groups (queue_id, name, created_us) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    )
    .bind(queue_id)
    .bind(&request.group)
    .bind(now_us)
    .execute(&mut *conn)
    .await?;
    let from_end = registered.rows_affected() > 0 && request.from_end;
    sqlx::query(
        "INSERT INTO log_cursors (partition_id, consumer_group, next_offset)
         SELECT p.id, $2, CASE WHEN $3 THEN p.next_offset ELSE 0 END FROM log_partitions p
         WHERE p.queue_id = $1 AND NOT EXISTS (
             SELECT 1 FROM log_cursors c WHERE c.partition_id = p.id AND c.consumer_group = $2)
         ON CONFLICT DO NOTHING",
    )
    .bind(queue_id)
    .bind(&request.group)
    .bind(from_end)
    .execute(&mut *conn)
    .await?;
    Ok(())
}

/// The partition with frames waiting and no live lease that was popped longest ago, as (id, cursor, end).
async fn next_partition(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    queue_id: i64,
    request: &PopRequest,
) -> Result<Option<(i64, i64, i64)>, PgError> {
    Ok(sqlx::query_as(
        "SELECT p.id, c.next_offset, p.next_offset
         FROM log_cursors c JOIN log_partitions p ON p.id = c.partition_id
         WHERE p.queue_id = $1 AND c.consumer_group = $2 AND ($3::text IS NULL OR p.name = $3)
           AND p.next_offset > c.next_offset AND (c.lease_until_us IS NULL OR c.lease_until_us <= $4)
         ORDER BY c.popped_us, p.id LIMIT 1 FOR UPDATE OF c SKIP LOCKED",
    )
    .bind(queue_id)
    .bind(&request.group)
    .bind(&request.partition)
    .bind(now_us)
    .fetch_optional(&mut *conn)
    .await?)
}

async fn waiting(
    conn: &mut PgConnection,
    partition_id: i64,
    cursor: i64,
    request: &PopRequest,
) -> Result<Vec<Frame>, PgError> {
    let sql = format!(
        "{FRAME} WHERE f.partition_id = $1 AND f.frame_offset >= $2 AND NOT EXISTS (
             SELECT 1 FROM log_settled s WHERE s.partition_id = $1 AND s.consumer_group = $3
               AND s.frame_offset = f.frame_offset AND s.done)
         ORDER BY f.frame_offset LIMIT $4"
    );
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(partition_id)
        .bind(cursor)
        .bind(&request.group)
        .bind(i64::from(request.batch))
        .fetch_all(&mut *conn)
        .await?;
    rows.iter().map(|row| frame(row, 0)).collect()
}

/// Lease, its end, and the offsets [from, to) that it holds.
type LeaseRow = (Uuid, UnixMicros, i64, i64);

async fn put_cursor(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    partition_id: i64,
    group: &str,
    next_offset: i64,
    lease: Option<LeaseRow>,
) -> Result<(), PgError> {
    sqlx::query(
        "UPDATE log_cursors SET next_offset = $3, popped_us = $4, lease = $5, lease_until_us = $6, lease_from = $7,
             lease_to = $8 WHERE partition_id = $1 AND consumer_group = $2",
    )
    .bind(partition_id)
    .bind(group)
    .bind(next_offset)
    .bind(now_us)
    .bind(lease.map(|lease| lease.0))
    .bind(lease.map(|lease| lease.1))
    .bind(lease.map(|lease| lease.2))
    .bind(lease.map(|lease| lease.3))
    .execute(&mut *conn)
    .await?;
    Ok(())
}

pub(super) async fn ack(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    tenant: &str,
    ack: &AckWrite,
) -> Result<Acked, PgError> {
    let owned: Option<(i64, i32)> = sqlx::query_as(
        "SELECT q.id, q.retry_limit FROM log_partitions p JOIN log_queues q ON q.id = p.queue_id
         WHERE p.id = $1 AND q.tenant = $2",
    )
    .bind(ack.partition_id)
    .bind(tenant)
    .fetch_optional(&mut *conn)
    .await?;
    let Some((queue_id, retry_limit)) = owned else { return Ok(Acked::NoLease) };
    let held: Option<(i64, Uuid, i64, i64)> = sqlx::query_as(
        "SELECT next_offset, lease, lease_from, lease_to FROM log_cursors
         WHERE partition_id = $1 AND consumer_group = $2 AND lease IS NOT NULL AND lease_until_us > $3 FOR UPDATE",
    )
    .bind(ack.partition_id)
    .bind(&ack.group)
    .bind(now_us)
    .fetch_optional(&mut *conn)
    .await?;
    let Some((cursor, lease, from, to)) = held else { return Ok(Acked::NoLease) };
    if ack.lease.is_some_and(|named| named != lease) {
        return Ok(Acked::NoLease);
    }
    // The first occurrence under this lease that it has not answered yet.
    let found: Option<(i64, i32)> = sqlx::query_as(
        "SELECT f.frame_offset, coalesce(s.attempts, 0)
         FROM log_frames f LEFT JOIN log_settled s ON s.partition_id = f.partition_id AND s.consumer_group = $2
              AND s.frame_offset = f.frame_offset
         WHERE f.partition_id = $1 AND f.frame_offset >= $3 AND f.frame_offset < $4 AND f.txn = $5
           AND NOT coalesce(s.done, false) AND s.lease IS DISTINCT FROM $6
         ORDER BY f.frame_offset LIMIT 1",
    )
    .bind(ack.partition_id)
    .bind(&ack.group)
    .bind(from)
    .bind(to)
    .bind(&ack.txn)
    .bind(lease)
    .fetch_optional(&mut *conn)
    .await?;
    let Some((offset, attempts)) = found else { return Ok(Acked::NoMessage) };
    let (done, attempts, dead) = match ack.status {
        AckStatus::Completed => (true, attempts, false),
        AckStatus::Retry => (false, attempts, false),
        AckStatus::Failed if attempts < retry_limit => (false, attempts + 1, false),
        AckStatus::Failed | AckStatus::Dlq => (true, attempts + 1, true),
    };
    if dead {
        bury(conn, now_us, queue_id, ack, offset, attempts).await?;
    }
    sqlx::query(
        "INSERT INTO log_settled (partition_id, consumer_group, frame_offset, done, attempts, lease)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (partition_id, consumer_group, frame_offset)
         DO UPDATE SET done = excluded.done, attempts = excluded.attempts, lease = excluded.lease",
    )
    .bind(ack.partition_id)
    .bind(&ack.group)
    .bind(offset)
    .bind(done)
    .bind(attempts)
    .bind(lease)
    .execute(&mut *conn)
    .await?;
    release_when_answered(conn, ack, cursor, lease, from, to).await?;
    Ok(Acked::Taken)
}

async fn bury(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    queue_id: i64,
    ack: &AckWrite,
    offset: i64,
    attempts: i32,
) -> Result<(), PgError> {
    sqlx::query(
        "INSERT INTO log_dead_letters (queue_id, consumer_group, partition, partition_id, frame_offset, txn,
             message_id, packing, producer, created_us, payload, error, attempts, failed_us)
         SELECT $1, $2, p.name, p.id, f.frame_offset, f.txn, f.message_id, f.packing, f.producer, f.created_us,
                f.payload, $5, $6, $7
         FROM log_frames f JOIN log_partitions p ON p.id = f.partition_id
         WHERE f.partition_id = $3 AND f.frame_offset = $4",
    )
    .bind(queue_id)
    .bind(&ack.group)
    .bind(ack.partition_id)
    .bind(offset)
    .bind(&ack.error)
    .bind(attempts)
    .bind(now_us)
    .execute(&mut *conn)
    .await?;
    Ok(())
}

/// A lease that has answered for all of its frames ends, and the cursor moves to the first frame that
/// is not done.
async fn release_when_answered(
    conn: &mut PgConnection,
    ack: &AckWrite,
    cursor: i64,
    lease: Uuid,
    from: i64,
    to: i64,
) -> Result<(), PgError> {
    let open: bool = sqlx::query_scalar(
        "SELECT EXISTS (
             SELECT 1 FROM log_frames f LEFT JOIN log_settled s ON s.partition_id = f.partition_id
                  AND s.consumer_group = $2 AND s.frame_offset = f.frame_offset
             WHERE f.partition_id = $1 AND f.frame_offset >= $3 AND f.frame_offset < $4
               AND NOT coalesce(s.done, false) AND s.lease IS DISTINCT FROM $5)",
    )
    .bind(ack.partition_id)
    .bind(&ack.group)
    .bind(from)
    .bind(to)
    .bind(lease)
    .fetch_one(&mut *conn)
    .await?;
    if open {
        return Ok(());
    }
    let undone: Option<i64> = sqlx::query_scalar(
        "SELECT min(frame_offset) FROM log_settled
         WHERE partition_id = $1 AND consumer_group = $2 AND NOT done AND frame_offset >= $3 AND frame_offset < $4",
    )
    .bind(ack.partition_id)
    .bind(&ack.group)
    .bind(cursor)
    .bind(to)
    .fetch_one(&mut *conn)
    .await?;
    let next_offset = undone.unwrap_or(to);
    sqlx::query(
        "UPDATE log_cursors SET next_offset = $3, lease = NULL, lease_until_us = NULL, lease_from = NULL,
             lease_to = NULL WHERE partition_id = $1 AND consumer_group = $2",
    )
    .bind(ack.partition_id)
    .bind(&ack.group)
    .bind(next_offset)
    .execute(&mut *conn)
    .await?;
    sqlx::query(
        "DELETE FROM log_settled WHERE partition_id = $1 AND consumer_group = $2 AND frame_offset < $3",
    )
    .bind(ack.partition_id)
    .bind(&ack.group)
    .bind(next_offset)
    .execute(&mut *conn)
    .await?;
    Ok(())
}

pub(super) async fn extend_lease(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    tenant: &str,
    lease: Uuid,
) -> Result<Option<UnixMicros>, PgError> {
    Ok(sqlx::query_scalar(
        "UPDATE log_cursors c SET lease_until_us = $3 + 1000000 * q.lease_s
         FROM log_partitions p JOIN log_queues q ON q.id = p.queue_id
         WHERE c.lease = $1 AND c.lease_until_us > $3 AND p.id = c.partition_id AND q.tenant = $2
         RETURNING c.lease_until_us",
    )
    .bind(lease)
    .bind(tenant)
    .bind(now_us)
    .fetch_optional(&mut *conn)
    .await?)
}

pub(super) async fn frames(
    conn: &mut PgConnection,
    tenant: &str,
    query: &FrameQuery,
) -> Result<Vec<Frame>, PgError> {
    // A condition that is not asked for must not be in the statement: the plan follows the index on txn.
    let mut sql =
        format!("{FRAME} WHERE q.tenant = $1 AND q.name = $2 AND ($3::text IS NULL OR p.name = $3)");
    if query.txn.is_some() {
        sql.push_str(" AND f.txn = $7");
    }
    sql.push_str(
        " AND ($4::bigint IS NULL OR f.created_us >= $4) AND ($5::bigint IS NULL OR f.created_us < $5)
          ORDER BY f.created_us, f.partition_id, f.frame_offset LIMIT $6",
    );
    let mut statement = sqlx::query(AssertSqlSafe(sql))
        .bind(tenant)
        .bind(&query.queue)
        .bind(&query.partition)
        .bind(query.from_us)
        .bind(query.to_us)
        .bind(i64::from(query.limit));
    if let Some(txn) = &query.txn {
        statement = statement.bind(txn);
    }
    let rows = statement.fetch_all(&mut *conn).await?;
    rows.iter().map(|row| frame(row, 0)).collect()
}

pub(super) async fn newest_frame(
    conn: &mut PgConnection,
    tenant: &str,
    partition_id: i64,
    txn: &str,
) -> Result<Option<Frame>, PgError> {
    let sql = format!(
        "{FRAME} WHERE q.tenant = $1 AND f.queue_id = p.queue_id AND p.id = $2 AND f.txn = $3
         ORDER BY f.frame_offset DESC LIMIT 1"
    );
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(tenant)
        .bind(partition_id)
        .bind(txn)
        .fetch_optional(&mut *conn)
        .await?;
    row.map(|row| frame(&row, 0)).transpose()
}

pub(super) async fn dead_letters(
    conn: &mut PgConnection,
    tenant: &str,
    query: &DeadLetterQuery,
) -> Result<(Vec<DeadLetter>, u64), PgError> {
    let matching = "FROM log_dead_letters d JOIN log_queues q ON q.id = d.queue_id
         WHERE q.tenant = $1 AND ($2::text IS NULL OR q.name = $2)
           AND ($3::text IS NULL OR d.consumer_group = $3) AND ($4::text IS NULL OR d.partition = $4)";
    let total: i64 = sqlx::query_scalar(AssertSqlSafe(format!("SELECT count(*) {matching}")))
        .bind(tenant)
        .bind(&query.queue)
        .bind(&query.group)
        .bind(&query.partition)
        .fetch_one(&mut *conn)
        .await?;
    let sql = format!(
        "SELECT d.id, d.consumer_group, d.error, d.attempts, d.failed_us, q.name, d.partition, d.partition_id,
                d.frame_offset, d.message_id, d.txn, d.producer, d.created_us, d.payload, d.packing
         {matching} ORDER BY d.id DESC LIMIT $5 OFFSET $6"
    );
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(tenant)
        .bind(&query.queue)
        .bind(&query.group)
        .bind(&query.partition)
        .bind(i64::from(query.limit))
        .bind(i64::from(query.offset))
        .fetch_all(&mut *conn)
        .await?;
    let letters = rows.iter().map(|row| {
        Ok(DeadLetter {
            id: row.try_get(0)?,
            group: row.try_get(1)?,
            error: row.try_get(2)?,
            attempts: u32::try_from(row.try_get::<i32, _>(3)?).unwrap_or(0),
            failed_us: row.try_get(4)?,
            frame: frame(row, 5)?,
        })
    });
    Ok((letters.collect::<Result<_, PgError>>()?, u64::try_from(total).unwrap_or(0)))
}

pub(super) async fn replay(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    tenant: &str,
    id: i64,
    message_id: Uuid,
) -> Result<Replayed, PgError> {
    let found: Option<(i64, String, String)> = sqlx::query_as(
        "SELECT d.queue_id, d.partition, d.consumer_group FROM log_dead_letters d
         JOIN log_queues q ON q.id = d.queue_id WHERE d.id = $1 AND q.tenant = $2 FOR UPDATE OF d",
    )
    .bind(id)
    .bind(tenant)
    .fetch_optional(&mut *conn)
    .await?;
    let Some((queue_id, partition, group)) = found else { return Ok(Replayed::Unknown) };
    if group == TIMER_DEAD_LETTER_GROUP {
        return Ok(Replayed::NotReplayable);
    }
    let places = take_places(conn, now_us, &[(queue_id, partition)]).await?;
    let (partition_id, offset) = places.first().copied().ok_or(sqlx::Error::RowNotFound)?;
    sqlx::query(
        "WITH gone AS (DELETE FROM log_dead_letters WHERE id = $1 RETURNING *)
         INSERT INTO log_frames (partition_id, frame_offset, queue_id, created_us, message_id, packing, txn, producer, payload)
         SELECT $2, $3, queue_id, $5, $4, packing, txn, producer, payload FROM gone",
    )
    .bind(id)
    .bind(partition_id)
    .bind(offset)
    .bind(message_id)
    .bind(now_us)
    .execute(&mut *conn)
    .await?;
    Ok(Replayed::Appended(message_id))
}

pub(super) async fn delete(
    conn: &mut PgConnection,
    tenant: &str,
    queue: &str,
) -> Result<LogDeleted, PgError> {
    let found: Option<(i64, bool)> = sqlx::query_as(
        "SELECT id, created_us IS NOT NULL FROM log_queues WHERE tenant = $1 AND name = $2 FOR UPDATE",
    )
    .bind(tenant)
    .bind(queue)
    .fetch_optional(&mut *conn)
    .await?;
    let Some((id, existed)) = found else { return Ok(LogDeleted::default()) };
    sqlx::query("DELETE FROM timer_payloads WHERE timer_id IN (SELECT id FROM timers WHERE queue_id = $1)")
        .bind(id)
        .execute(&mut *conn)
        .await?;
    let timers = sqlx::query("DELETE FROM timers WHERE queue_id = $1")
        .bind(id)
        .execute(&mut *conn)
        .await?
        .rows_affected();
    if timers > 0 {
        sqlx::query(
            "INSERT INTO timer_counts AS c (tenant, shard, pending, metered) VALUES ($1, 0, -$2, 0)
             ON CONFLICT (tenant, shard) DO UPDATE SET pending = c.pending + excluded.pending",
        )
        .bind(tenant)
        .bind(i64::try_from(timers).unwrap_or(0))
        .execute(&mut *conn)
        .await?;
    }
    let messages = sqlx::query("DELETE FROM log_frames WHERE queue_id = $1")
        .bind(id)
        .execute(&mut *conn)
        .await?
        .rows_affected();
    for sql in [
        "DELETE FROM log_settled WHERE partition_id IN (SELECT id FROM log_partitions WHERE queue_id = $1)",
        "DELETE FROM log_cursors WHERE partition_id IN (SELECT id FROM log_partitions WHERE queue_id = $1)",
        "DELETE FROM log_partitions WHERE queue_id = $1",
        "DELETE FROM log_groups WHERE queue_id = $1",
        "DELETE FROM log_dead_letters WHERE queue_id = $1",
        "DELETE FROM log_queues WHERE id = $1",
    ] {
        sqlx::query(sql).bind(id).execute(&mut *conn).await?;
    }
    Ok(LogDeleted { existed: existed || timers > 0, messages, timers })
}

pub(super) async fn trim(conn: &mut PgConnection, now_us: UnixMicros, limit: u32) -> Result<u64, PgError> {
    // Frames of a partition are in the order of their instants, so its oldest ones have its first offsets.
    let deleted = sqlx::query(
        "DELETE FROM log_frames WHERE (partition_id, frame_offset) IN (
             SELECT f.partition_id, f.frame_offset
             FROM log_queues q JOIN log_partitions p ON p.queue_id = q.id
             CROSS JOIN LATERAL (
                 SELECT partition_id, frame_offset, created_us FROM log_frames
                 WHERE partition_id = p.id ORDER BY frame_offset LIMIT $2) f
             WHERE q.retention_s > 0 AND f.created_us < $1 - q.retention_s * 1000000 LIMIT $2)",
    )
    .bind(now_us)
    .bind(i64::from(limit))
    .execute(&mut *conn)
    .await?;
    Ok(deleted.rows_affected())
}
