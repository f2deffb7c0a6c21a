//! Timers on SQLite: each verb is one closure on the writer's connection, or one read.

use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use chronq::Instant;
use chronq::timer::{PeekedTimer, TimerRow};

use super::due;
use crate::store::timers::{
    Change, Packing, PutTimer, Standing, Tally, TenantQuota, TenantTotals, TimerCall, TimerSwitches,
    TimerWrite, TimersApplied, UnixMicros, decide,
};

/// A timer that was put: what the near heap has to know after the commit.
#[derive(Clone, Copy, Debug)]
pub(super) struct PutEntry {
    pub(super) id: i64,
    pub(super) next_us: UnixMicros,
    pub(super) bucket: i64,
}

/// What a call came to, and what memory has to know of it.
pub(super) struct Applied {
    pub(super) answer: TimersApplied,
    pub(super) entries: Vec<PutEntry>,
    /// Timers that were replaced or deleted.
    pub(super) gone: Vec<i64>,
}

/// Applies a call; nothing is written where it is over quota. `is_held` tells of a timer whether a claim
/// holds it.
pub(super) fn apply(
    conn: &Connection,
    now_us: UnixMicros,
    call: &TimerCall,
    is_held: impl Fn(i64) -> bool,
) -> rusqlite::Result<Applied> {
    let mut queue_ids = QueueIds::new(conn, &call.tenant);
    let mut decided = Vec::with_capacity(call.writes.len());
    for write in &call.writes {
        let (queue, timer_key) = write.identity();
        let standing = match queue_ids.find(queue)? {
            Some(queue_id) => standing(conn, queue_id, timer_key, &is_held)?,
            None => None,
        };
        decided.push(decide(write, standing.as_ref(), now_us));
    }
    let tally = Tally::of(&decided);
    let held = pending(conn, &call.tenant)?;
    if tally.exceeds(held, call.max_pending) {
        let answer = TimersApplied::OverQuota { held, adding: tally.added };
        return Ok(Applied { answer, entries: Vec::new(), gone: Vec::new() });
    }
    let (mut entries, mut gone) = (Vec::new(), Vec::new());
    for (write, (_, change)) in call.writes.iter().zip(&decided) {
        match (write, change) {
            (TimerWrite::Put(put), Change::Insert) => {
                let queue_id = queue_ids.find_or_name(&put.put.queue)?;
                entries.push(insert(conn, queue_id, put, call.producer.as_deref(), now_us)?);
            }
            (TimerWrite::Put(put), Change::Replace(id)) => {
                entries.push(replace(conn, *id, put, call.producer.as_deref(), now_us)?);
                gone.push(*id);
            }
            (_, Change::Delete(id)) => {
                delete(conn, *id)?;
                gone.push(*id);
            }
            (_, Change::Nothing) | (TimerWrite::Cancel { .. }, Change::Insert | Change::Replace(_)) => {}
        }
    }
    count(conn, &call.tenant, tally.added, tally.removed, tally.metered)?;
    let answer = TimersApplied::Done(decided.into_iter().map(|(outcome, _)| outcome).collect());
    Ok(Applied { answer, entries, gone })
}

/// Ids of the queues of one tenant, looked up once per call.
struct QueueIds<'a> {
    conn: &'a Connection,
    tenant: &'a str,
    known: Vec<(String, i64)>,
}

impl<'a> QueueIds<'a> {
    fn new(conn: &'a Connection, tenant: &'a str) -> Self {
        Self { conn, tenant, known: Vec::new() }
    }

    fn find(&mut self, queue: &str) -> rusqlite::Result<Option<i64>> {
        if let Some((_, id)) = self.known.iter().find(|(name, _)| name == queue) {
            return Ok(Some(*id));
        }
        let found = queue_id(self.conn, self.tenant, queue)?;
        if let Some(id) = found {
            self.known.push((queue.to_owned(), id));
        }
        Ok(found)
    }

    fn find_or_name(&mut self, queue: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.find(queue)? {
            return Ok(id);
        }
        self.conn
            .prepare_cached("INSERT INTO log_queues (tenant, name) VALUES (?1, ?2)")?
            .execute(params![self.tenant, queue])?;
        let id = self.conn.last_insert_rowid();
        self.known.push((queue.to_owned(), id));
        Ok(id)
    }
}

/// The id of a queue, existing or only named.
pub(super) fn queue_id(conn: &Connection, tenant: &str, queue: &str) -> rusqlite::Result<Option<i64>> {
    conn.prepare_cached("SELECT id FROM log_queues WHERE tenant = ?1 AND name = ?2")?
        .query_row(params![tenant, queue], |row| row.get(0))
        .optional()
}

fn standing(
    conn: &Connection,
    queue_id: i64,
    timer_key: &str,
    is_held: impl Fn(i64) -> bool,
) -> rusqlite::Result<Option<Standing>> {
    conn.prepare_cached("SELECT id, txn FROM timers WHERE queue_id = ?1 AND timer_key = ?2")?
        .query_row(params![queue_id, timer_key], |row| {
            let id = row.get(0)?;
            Ok(Standing { id, txn: row.get(1)?, claimed: is_held(id) })
        })
        .optional()
}

fn insert(
    conn: &Connection,
    queue_id: i64,
    put: &PutTimer,
    producer: Option<&str>,
    now_us: UnixMicros,
) -> rusqlite::Result<PutEntry> {
    let due_us = put.due_us(now_us);
    let bucket = due::bucket(due_us, now_us);
    conn.prepare_cached(
        "INSERT INTO timers (queue_id, timer_key, bucket, next_us, due_us, packing, message_id, created_us,
                             updated_us, partition, txn, producer, payload)
         VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?7, ?8, ?9, ?10, ?11)",
    )?
    .execute(params![
        queue_id,
        put.put.timer_key,
        bucket,
        due_us,
        put.packing().bits(),
        put.message_id.as_bytes().as_slice(),
        now_us,
        put.put.partition,
        put.put.txn,
        producer,
        put.put.payload.as_ref(),
    ])?;
    Ok(PutEntry { id: conn.last_insert_rowid(), next_us: due_us, bucket })
}

/// A new timer under an old name: everything but its identity and `created_us` is new.
fn replace(
    conn: &Connection,
    id: i64,
    put: &PutTimer,
    producer: Option<&str>,
    now_us: UnixMicros,
) -> rusqlite::Result<PutEntry> {
    let due_us = put.due_us(now_us);
    let bucket = due::bucket(due_us, now_us);
    conn.prepare_cached(
        "UPDATE timers SET bucket = ?2, next_us = ?3, due_us = ?3, attempts = 0, packing = ?4, message_id = ?5,
                           updated_us = ?6, partition = ?7, txn = ?8, producer = ?9, last_error = NULL,
                           payload = ?10
         WHERE id = ?1",
    )?
    .execute(params![
        id,
        bucket,
        due_us,
        put.packing().bits(),
        put.message_id.as_bytes().as_slice(),
        now_us,
        put.put.partition,
        put.put.txn,
        producer,
        put.put.payload.as_ref(),
    ])?;
    Ok(PutEntry { id, next_us: due_us, bucket })
}

pub(super) fn delete(conn: &Connection, id: i64) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM timers WHERE id = ?1")?.execute([id])?;
    Ok(())
}

fn pending(conn: &Connection, tenant: &str) -> rusqlite::Result<u64> {
    let pending = conn
        .prepare_cached("SELECT pending FROM timer_counts WHERE tenant = ?1")?
        .query_row([tenant], |row| row.get::<_, i64>(0))
        .optional()?;
    Ok(pending.and_then(|count| u64::try_from(count).ok()).unwrap_or(0))
}

pub(super) fn count(
    conn: &Connection,
    tenant: &str,
    added: u64,
    removed: u64,
    metered: u64,
) -> rusqlite::Result<()> {
    if added == 0 && removed == 0 && metered == 0 {
        return Ok(());
    }
    let change = i64::try_from(added).unwrap_or(i64::MAX) - i64::try_from(removed).unwrap_or(i64::MAX);
    conn.prepare_cached(
        "INSERT INTO timer_counts (tenant, pending, metered) VALUES (?1, max(?2, 0), ?3)
         ON CONFLICT (tenant) DO UPDATE SET pending = max(pending + ?2, 0), metered = metered + ?3",
    )?
    .execute(params![tenant, change, i64::try_from(metered).unwrap_or(i64::MAX)])?;
    Ok(())
}

const ROW: &str =
    "SELECT q.name, t.timer_key, t.partition, t.due_us, t.txn, t.message_id, t.packing, t.producer,
           t.attempts, t.last_error, t.id, t.created_us, t.updated_us";

fn timer_row(row: &rusqlite::Row<'_>, is_held: impl Fn(i64) -> bool) -> rusqlite::Result<TimerRow> {
    let packing = Packing::from_bits(row.get(6)?);
    Ok(TimerRow {
        queue: row.get(0)?,
        timer_key: row.get(1)?,
        partition: row.get(2)?,
        deliver_at: Instant::from_micros(row.get(3)?),
        txn: row.get(4)?,
        message_id: uuid_of(row, 5)?.hyphenated().to_string(),
        payload_zstd: packing.zstd,
        encrypted: packing.encrypted || packing.sealed,
        producer_sub: row.get(7)?,
        attempts: row.get(8)?,
        last_error: row.get(9)?,
        claimed: is_held(row.get(10)?),
        created_at: Instant::from_micros(row.get(11)?),
        updated_at: Instant::from_micros(row.get(12)?),
    })
}

/// A UUID as it is kept: 16 bytes.
pub(super) fn uuid_of(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Uuid> {
    row.get::<_, [u8; 16]>(column).map(Uuid::from_bytes)
}

pub(super) fn peek(
    conn: &Connection,
    tenant: &str,
    queue: &str,
    timer_key: &str,
    is_held: impl Fn(i64) -> bool,
) -> rusqlite::Result<Option<PeekedTimer>> {
    let sql = format!(
        "{ROW}, t.payload FROM timers t JOIN log_queues q ON q.id = t.queue_id
         WHERE q.tenant = ?1 AND q.name = ?2 AND t.timer_key = ?3"
    );
    conn.prepare_cached(&sql)?
        .query_row(params![tenant, queue, timer_key], |row| {
            Ok(PeekedTimer { row: timer_row(row, is_held)?, payload: row.get::<_, Vec<u8>>(13)?.into() })
        })
        .optional()
}

pub(super) fn list(
    conn: &Connection,
    tenant: &str,
    queue: &str,
    after: Option<&str>,
    limit: u32,
    is_held: impl Fn(i64) -> bool,
) -> rusqlite::Result<Vec<TimerRow>> {
    // Every key is longer than the empty text, so the empty cursor is the beginning.
    let sql = format!(
        "{ROW} FROM log_queues q JOIN timers t ON t.queue_id = q.id
         WHERE q.tenant = ?1 AND q.name = ?2 AND t.timer_key > ?3 ORDER BY t.timer_key LIMIT ?4"
    );
    conn.prepare_cached(&sql)?
        .query_map(params![tenant, queue, after.unwrap_or(""), limit], |row| timer_row(row, &is_held))?
        .collect()
}

pub(super) fn tenant_totals(conn: &Connection) -> rusqlite::Result<Vec<TenantTotals>> {
    conn.prepare_cached("SELECT tenant, pending, metered FROM timer_counts ORDER BY tenant")?
        .query_map([], |row| {
            let count = |column| row.get::<_, i64>(column).map(|count| u64::try_from(count).unwrap_or(0));
            Ok(TenantTotals { tenant: row.get(0)?, pending: count(1)?, metered: count(2)? })
        })?
        .collect()
}

pub(super) fn switches(conn: &Connection) -> rusqlite::Result<TimerSwitches> {
    let found = conn
        .prepare_cached("SELECT schedule, fire FROM timer_switches WHERE id = 1")?
        .query_row([], |row| Ok(TimerSwitches { schedule: row.get(0)?, fire: row.get(1)? }))
        .optional()?;
    Ok(found.unwrap_or_default())
}

pub(super) fn put_switches(conn: &Connection, switches: TimerSwitches) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO timer_switches (id, schedule, fire) VALUES (1, ?1, ?2)
         ON CONFLICT (id) DO UPDATE SET schedule = excluded.schedule, fire = excluded.fire",
    )?
    .execute(params![switches.schedule, switches.fire])?;
    Ok(())
}

pub(super) fn tenants(conn: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    conn.prepare_cached("SELECT name, quota FROM tenants ORDER BY name")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

pub(super) fn put_tenant(conn: &Connection, name: &str, quota: &TenantQuota) -> rusqlite::Result<()> {
    let quota = serde_json::to_string(quota)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    conn.prepare_cached(
        "INSERT INTO tenants (name, quota) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET quota = excluded.quota",
    )?
    .execute(params![name, quota])?;
    Ok(())
}

pub(super) fn delete_tenant(conn: &Connection, name: &str) -> rusqlite::Result<bool> {
    Ok(conn.prepare_cached("DELETE FROM tenants WHERE name = ?1")?.execute([name])? > 0)
}
