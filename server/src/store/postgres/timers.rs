//! Timers on Postgres: a call is a handful of statements over arrays, in one transaction.

use std::collections::HashMap;

use chronq::Instant;
use chronq::timer::{PeekedTimer, TimerRow};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row};
use uuid::Uuid;

use super::PgError;
use crate::store::timers::{
    Change, Packing, PutTimer, Standing, Tally, TenantTotals, TimerCall, TimerSwitches, TimerWrite,
    TimersApplied, UnixMicros, decide,
};

/// Counters of one tenant are spread over so many rows.
const COUNT_SHARDS: i32 = 16;

/// A row with these values of a unique index exists.
const UNIQUE_VIOLATION: &str = "23505";

/// Another call put a timer between our look and our insert: the call is made again.
#[derive(Debug)]
pub(super) struct Overtaken;

/// Applies a call inside the caller's transaction. Where this answers over quota or overtaken, the
/// caller rolls it back.
pub(super) async fn apply(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    call: &TimerCall,
) -> Result<Result<TimersApplied, Overtaken>, PgError> {
    let queue_ids = queue_ids(conn, call).await?;
    let standing = standing(conn, now_us, call, &queue_ids).await?;
    let decided: Vec<_> = call
        .writes
        .iter()
        .map(|write| {
            let (queue, timer_key) = write.identity();
            let found = queue_ids.get(queue).and_then(|id| standing.get(&(*id, timer_key)));
            decide(write, found, now_us)
        })
        .collect();
    let tally = Tally::of(&decided);
    if call.max_pending.is_some() && tally.added > 0 {
        // Calls of a tenant with a quota count one after the other.
        sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('chronq timers ' || $1, 0))")
            .bind(call.tenant.as_ref())
            .execute(&mut *conn)
            .await?;
        let held = pending(conn, &call.tenant).await?;
        if tally.exceeds(held, call.max_pending) {
            return Ok(Ok(TimersApplied::OverQuota { held, adding: tally.added }));
        }
    }
    let (mut inserts, mut replaces, mut deletes) = (Vec::new(), Vec::new(), Vec::new());
    for (write, (_, change)) in call.writes.iter().zip(&decided) {
        match (write, change) {
            (TimerWrite::Put(put), Change::Insert) => {
                let queue_id = queue_ids.get(put.put.queue.as_str()).copied().unwrap_or_default();
                inserts.push((queue_id, put));
            }
            (TimerWrite::Put(put), Change::Replace(id)) => replaces.push((*id, put)),
            (_, Change::Delete(id)) => deletes.push(*id),
            (_, Change::Nothing) | (TimerWrite::Cancel { .. }, Change::Insert | Change::Replace(_)) => {}
        }
    }
    if insert(conn, now_us, call.producer.as_deref(), inserts).await?.is_err() {
        return Ok(Err(Overtaken));
    }
    replace(conn, now_us, call.producer.as_deref(), &replaces).await?;
    delete(conn, &deletes).await?;
    count(conn, &call.tenant, tally.added, tally.removed, tally.metered).await?;
    Ok(Ok(TimersApplied::Done(decided.into_iter().map(|(outcome, _)| outcome).collect())))
}

/// Ids of the queues of a call; those that a put names are made where they do not exist.
async fn queue_ids<'a>(
    conn: &mut PgConnection,
    call: &'a TimerCall,
) -> Result<HashMap<&'a str, i64>, PgError> {
    let mut names: Vec<&str> = call.writes.iter().map(|write| write.identity().0).collect();
    names.sort_unstable();
    names.dedup();
    let mut ids = read_queue_ids(conn, &call.tenant, &names).await?;
    let is_put = |name: &&str| {
        call.writes.iter().any(|write| matches!(write, TimerWrite::Put(put) if put.put.queue == **name))
    };
    let missing: Vec<&str> =
        names.iter().copied().filter(|name| !ids.contains_key(name) && is_put(name)).collect();
    if !missing.is_empty() {
        sqlx::query("INSERT INTO log_queues (tenant, name) SELECT $1, name FROM unnest($2::text[]) name ON CONFLICT DO NOTHING")
            .bind(call.tenant.as_ref())
            .bind(&missing)
            .execute(&mut *conn)
            .await?;
        ids = read_queue_ids(conn, &call.tenant, &names).await?;
    }
    Ok(ids)
}

async fn read_queue_ids<'a>(
    conn: &mut PgConnection,
    tenant: &str,
    names: &[&'a str],
) -> Result<HashMap<&'a str, i64>, PgError> {
    let rows = sqlx::query("SELECT name, id FROM log_queues WHERE tenant = $1 AND name = ANY($2)")
        .bind(tenant)
        .bind(names)
        .fetch_all(&mut *conn)
        .await?;
    let mut ids = HashMap::with_capacity(rows.len());
    for row in rows {
        let found: &str = row.try_get(0)?;
        if let Some(name) = names.iter().find(|name| **name == found) {
            ids.insert(*name, row.try_get(1)?);
        }
    }
    Ok(ids)
}

async fn standing<'a>(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    call: &'a TimerCall,
    queue_ids: &HashMap<&str, i64>,
) -> Result<HashMap<(i64, &'a str), Standing>, PgError> {
    let identities: Vec<(i64, &str)> = call
        .writes
        .iter()
        .filter_map(|write| {
            let (queue, timer_key) = write.identity();
            Some((*queue_ids.get(queue)?, timer_key))
        })
        .collect();
    let (ids, keys): (Vec<i64>, Vec<&str>) = identities.iter().copied().unzip();
    // Locked in one order, so that two calls never wait for each other.
    let rows = sqlx::query(
        // A join to the keys could be planned as a walk over all timers: see `PLANNING`.
        "SELECT t.id, t.queue_id, t.timer_key, t.txn, coalesce(t.claimed_until_us > $3, false)
         FROM timers t WHERE t.id = ANY(ARRAY(
             SELECT found.id FROM unnest($1::bigint[], $2::text[]) AS i (queue_id, timer_key) CROSS JOIN LATERAL (
                 SELECT k.id FROM timers k WHERE k.queue_id = i.queue_id AND k.timer_key = i.timer_key LIMIT 1
             ) AS found))
         ORDER BY t.id FOR UPDATE OF t",
    )
    .bind(&ids)
    .bind(&keys)
    .bind(now_us)
    .fetch_all(&mut *conn)
    .await?;
    let known: HashMap<(i64, &str), &'a str> =
        identities.into_iter().map(|(id, key)| ((id, key), key)).collect();
    let mut standing = HashMap::with_capacity(rows.len());
    for row in rows {
        let queue_id: i64 = row.try_get(1)?;
        if let Some(key) = known.get(&(queue_id, row.try_get::<&str, _>(2)?)) {
            let found = Standing { id: row.try_get(0)?, txn: row.try_get(3)?, claimed: row.try_get(4)? };
            standing.insert((queue_id, *key), found);
        }
    }
    Ok(standing)
}

async fn insert(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    producer: Option<&str>,
    mut puts: Vec<(i64, &PutTimer)>,
) -> Result<Result<(), Overtaken>, PgError> {
    if puts.is_empty() {
        return Ok(Ok(()));
    }
    puts.sort_by(|a, b| (a.0, &a.1.put.timer_key).cmp(&(b.0, &b.1.put.timer_key)));
    let column = |read: fn(&PutTimer) -> &str| puts.iter().map(|(_, put)| read(put)).collect::<Vec<&str>>();
    // A key that another call has put since is an error here: to look for it in the statement, with ON
    // CONFLICT, would cost every row as much again as inserting it.
    let inserted = sqlx::query(
        "WITH input AS MATERIALIZED (
             SELECT nextval('timers_seq') AS id, i.*
             FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::int[], $5::uuid[], $6::text[], $7::text[], $8::bytea[])
                  AS i (queue_id, timer_key, due_us, packing, message_id, partition, txn, payload)
         ), rows AS (
             INSERT INTO timers (id, queue_id, timer_key, next_us, due_us, packing, message_id, partition, txn, producer, created_us, updated_us)
             SELECT id, queue_id, timer_key, due_us, due_us, packing, message_id, partition, txn, $9, $10, $10 FROM input
         )
         INSERT INTO timer_payloads (timer_id, payload) SELECT id, payload FROM input",
    )
    .bind(puts.iter().map(|(queue_id, _)| *queue_id).collect::<Vec<_>>())
    .bind(column(|put| &put.put.timer_key))
    .bind(puts.iter().map(|(_, put)| put.due_us(now_us)).collect::<Vec<_>>())
    .bind(puts.iter().map(|(_, put)| put.packing().bits()).collect::<Vec<_>>())
    .bind(puts.iter().map(|(_, put)| put.message_id).collect::<Vec<_>>())
    .bind(column(|put| &put.put.partition))
    .bind(column(|put| &put.put.txn))
    .bind(puts.iter().map(|(_, put)| put.put.payload.as_ref()).collect::<Vec<&[u8]>>())
    .bind(producer)
    .bind(now_us)
    .execute(&mut *conn)
    .await
    .map_err(PgError::from);
    match inserted {
        Ok(_) => Ok(Ok(())),
        Err(error) if error.code().as_deref() == Some(UNIQUE_VIOLATION) => Ok(Err(Overtaken)),
        Err(error) => Err(error),
    }
}

/// A new timer under an old name: everything but its identity and `created_us` is new.
async fn replace(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    producer: Option<&str>,
    puts: &[(i64, &PutTimer)],
) -> Result<(), PgError> {
    if puts.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "WITH input AS MATERIALIZED (
             SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::uuid[], $5::text[], $6::text[], $7::bytea[])
                  AS i (id, due_us, packing, message_id, partition, txn, payload)
         ), bodies AS (
             UPDATE timer_payloads p SET payload = i.payload FROM input i WHERE p.timer_id = i.id
         )
         UPDATE timers t SET next_us = i.due_us, due_us = i.due_us, attempts = 0, packing = i.packing,
             message_id = i.message_id, updated_us = $9, partition = i.partition, txn = i.txn, producer = $8,
             last_error = NULL, claim = NULL, claimed_until_us = NULL
         FROM input i WHERE t.id = i.id",
    )
    .bind(puts.iter().map(|(id, _)| *id).collect::<Vec<_>>())
    .bind(puts.iter().map(|(_, put)| put.due_us(now_us)).collect::<Vec<_>>())
    .bind(puts.iter().map(|(_, put)| put.packing().bits()).collect::<Vec<_>>())
    .bind(puts.iter().map(|(_, put)| put.message_id).collect::<Vec<_>>())
    .bind(puts.iter().map(|(_, put)| put.put.partition.as_str()).collect::<Vec<_>>())
    .bind(puts.iter().map(|(_, put)| put.put.txn.as_str()).collect::<Vec<_>>())
    .bind(puts.iter().map(|(_, put)| put.put.payload.as_ref()).collect::<Vec<&[u8]>>())
    .bind(producer)
    .bind(now_us)
    .execute(&mut *conn)
    .await?;
    Ok(())
}

async fn delete(conn: &mut PgConnection, ids: &[i64]) -> Result<(), PgError> {
    if ids.is_empty() {
        return Ok(());
    }
    sqlx::query("WITH bodies AS (DELETE FROM timer_payloads WHERE timer_id = ANY($1)) DELETE FROM timers WHERE id = ANY($1)")
        .bind(ids)
        .execute(&mut *conn)
        .await?;
    Ok(())
}

async fn pending(conn: &mut PgConnection, tenant: &str) -> Result<u64, PgError> {
    let pending: i64 =
        sqlx::query_scalar("SELECT coalesce(sum(pending), 0)::bigint FROM timer_counts WHERE tenant = $1")
            .bind(tenant)
            .fetch_one(&mut *conn)
            .await?;
    Ok(u64::try_from(pending).unwrap_or(0))
}

pub(super) async fn count(
    conn: &mut PgConnection,
    tenant: &str,
    added: u64,
    removed: u64,
    metered: u64,
) -> Result<(), PgError> {
    if added == 0 && removed == 0 && metered == 0 {
        return Ok(());
    }
    let change = i64::try_from(added).unwrap_or(i64::MAX) - i64::try_from(removed).unwrap_or(i64::MAX);
    sqlx::query(
        "INSERT INTO timer_counts AS c (tenant, shard, pending, metered) VALUES ($1, floor(random() * $2)::int, $3, $4)
         ON CONFLICT (tenant, shard) DO UPDATE SET pending = c.pending + excluded.pending, metered = c.metered + excluded.metered",
    )
    .bind(tenant)
    .bind(COUNT_SHARDS)
    .bind(change)
    .bind(i64::try_from(metered).unwrap_or(i64::MAX))
    .execute(&mut *conn)
    .await?;
    Ok(())
}

const ROW: &str =
    "SELECT q.name, t.timer_key, t.partition, t.due_us, t.txn, t.message_id, t.packing, t.producer,
           t.attempts, t.last_error, coalesce(t.claimed_until_us > $1, false), t.created_us, t.updated_us";

fn timer_row(row: &PgRow) -> Result<TimerRow, PgError> {
    let packing = Packing::from_bits(row.try_get(6)?);
    Ok(TimerRow {
        queue: row.try_get(0)?,
        timer_key: row.try_get(1)?,
        partition: row.try_get(2)?,
        deliver_at: Instant::from_micros(row.try_get(3)?),
        txn: row.try_get(4)?,
        message_id: row.try_get::<Uuid, _>(5)?.hyphenated().to_string(),
        payload_zstd: packing.zstd,
        encrypted: packing.encrypted || packing.sealed,
        producer_sub: row.try_get(7)?,
        attempts: u32::try_from(row.try_get::<i32, _>(8)?).unwrap_or(0),
        last_error: row.try_get(9)?,
        claimed: row.try_get(10)?,
        created_at: Instant::from_micros(row.try_get(11)?),
        updated_at: Instant::from_micros(row.try_get(12)?),
    })
}

pub(super) async fn peek(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    tenant: &str,
    queue: &str,
    timer_key: &str,
) -> Result<Option<PeekedTimer>, PgError> {
    let sql = format!(
        "{ROW}, p.payload FROM timers t JOIN log_queues q ON q.id = t.queue_id JOIN timer_payloads p ON p.timer_id = t.id
         WHERE q.tenant = $2 AND q.name = $3 AND t.timer_key = $4"
    );
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(now_us)
        .bind(tenant)
        .bind(queue)
        .bind(timer_key)
        .fetch_optional(&mut *conn)
        .await?;
    row.map(|row| Ok(PeekedTimer { row: timer_row(&row)?, payload: row.try_get::<Vec<u8>, _>(13)?.into() }))
        .transpose()
}

pub(super) async fn list(
    conn: &mut PgConnection,
    now_us: UnixMicros,
    tenant: &str,
    queue: &str,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<TimerRow>, PgError> {
    // Every key is longer than the empty text, so the empty cursor is the beginning.
    let sql = format!(
        "{ROW} FROM timers t JOIN log_queues q ON q.id = t.queue_id
         WHERE q.tenant = $2 AND q.name = $3 AND t.timer_key > $4 ORDER BY t.timer_key LIMIT $5"
    );
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(now_us)
        .bind(tenant)
        .bind(queue)
        .bind(after.unwrap_or(""))
        .bind(i64::from(limit))
        .fetch_all(&mut *conn)
        .await?;
    rows.iter().map(timer_row).collect()
}

pub(super) async fn tenant_totals(conn: &mut PgConnection) -> Result<Vec<TenantTotals>, PgError> {
    let rows = sqlx::query(
        "SELECT tenant, sum(pending)::bigint, sum(metered)::bigint FROM timer_counts GROUP BY tenant ORDER BY tenant",
    )
    .fetch_all(&mut *conn)
    .await?;
    rows.iter()
        .map(|row| {
            let count = |column| row.try_get::<i64, _>(column).map(|count| u64::try_from(count).unwrap_or(0));
            Ok(TenantTotals { tenant: row.try_get(0)?, pending: count(1)?, metered: count(2)? })
        })
        .collect()
}

pub(super) async fn switches(conn: &mut PgConnection) -> Result<TimerSwitches, PgError> {
    let row = sqlx::query("SELECT schedule, fire FROM timer_switches WHERE id = 1")
        .fetch_optional(&mut *conn)
        .await?;
    match row {
        Some(row) => Ok(TimerSwitches { schedule: row.try_get(0)?, fire: row.try_get(1)? }),
        None => Ok(TimerSwitches::default()),
    }
}

pub(super) async fn put_switches(conn: &mut PgConnection, switches: TimerSwitches) -> Result<(), PgError> {
    sqlx::query(
        "INSERT INTO timer_switches (id, schedule, fire) VALUES (1, $1, $2)
         ON CONFLICT (id) DO UPDATE SET schedule = excluded.schedule, fire = excluded.fire",
    )
    .bind(switches.schedule)
    .bind(switches.fire)
    .execute(&mut *conn)
    .await?;
    Ok(())
}

pub(super) async fn tenants(conn: &mut PgConnection) -> Result<Vec<(String, String)>, PgError> {
    Ok(sqlx::query_as("SELECT name, quota FROM tenants ORDER BY name").fetch_all(&mut *conn).await?)
}

pub(super) async fn put_tenant(conn: &mut PgConnection, name: &str, quota: &str) -> Result<(), PgError> {
    sqlx::query("INSERT INTO tenants (name, quota) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET quota = excluded.quota")
        .bind(name)
        .bind(quota)
        .execute(&mut *conn)
        .await?;
    Ok(())
}

pub(super) async fn delete_tenant(conn: &mut PgConnection, name: &str) -> Result<bool, PgError> {
    let deleted = sqlx::query("DELETE FROM tenants WHERE name = $1").bind(name).execute(&mut *conn).await?;
    Ok(deleted.rows_affected() > 0)
}
