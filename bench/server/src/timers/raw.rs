//! The other side: the same rows, written and taken by hand into the same tables of the same database,
//! with nothing around them.

use std::path::Path;

use rusqlite::Connection;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{CALLERS, CLAIM, OPERATIONS, now_us};
use crate::Outcome;
use crate::load::BODY_BYTES;

/// A database that the store has made, and the hand that writes to it.
#[derive(Debug)]
pub(super) enum Raw {
    Sqlite(Connection),
    Postgres(PgPool),
}

/// One row.
#[derive(Clone, Debug)]
struct Timer {
    id: i64,
    message_id: Uuid,
    key: String,
    txn: String,
}

const PAYLOAD: [u8; BODY_BYTES] = [b'x'; BODY_BYTES];
const QUEUE: i64 = 1;
const PARTITION: &str = "Default";
const PRODUCER: &str = "bench";

fn timers(count: usize) -> Vec<Timer> {
    (1..=count)
        .map(|number| Timer {
            id: i64::try_from(number).unwrap_or(i64::MAX),
            message_id: Uuid::from_u128(number as u128),
            key: format!("due-{number}"),
            txn: format!("txn-{number}"),
        })
        .collect()
}

impl Raw {
    pub(super) fn sqlite(path: &Path) -> Outcome<Self> {
        let connection = Connection::open(path)?;
        // As the server opens it.
        connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "cache_size", -16_384)?;
        // The server keeps its claims in memory; whoever works on the rows by hand has to write them.
        connection.execute_batch(
            "CREATE TABLE timer_leases (timer_id INTEGER PRIMARY KEY, token BLOB NOT NULL, until_us INTEGER NOT NULL) \
             STRICT",
        )?;
        Ok(Self::Sqlite(connection))
    }

    pub(super) async fn postgres(url: &str) -> Outcome<Self> {
        let connections = u32::try_from(CALLERS)?;
        Ok(Self::Postgres(PgPoolOptions::new().max_connections(connections).connect(url).await?))
    }

    /// Inserts rows, as many a statement as a call has operations; each statement is a transaction.
    pub(super) async fn insert(&mut self, count: usize) -> Outcome<()> {
        let (timers, now_us) = (timers(count), now_us());
        match self {
            Self::Sqlite(connection) => {
                for chunk in timers.chunks(OPERATIONS) {
                    insert_sqlite(connection, now_us, chunk)?;
                }
            }
            Self::Postgres(pool) => {
                let mut tasks = JoinSet::new();
                for share in timers.chunks(timers.len().div_ceil(CALLERS)) {
                    let (pool, share) = (pool.clone(), share.to_vec());
                    tasks.spawn(async move {
                        for chunk in share.chunks(OPERATIONS) {
                            insert_postgres(&pool, now_us, chunk).await?;
                        }
                        Outcome::Ok(())
                    });
                }
                while let Some(done) = tasks.join_next().await {
                    done??;
                }
            }
        }
        Ok(())
    }

    /// Claims and deletes all rows, as many at once as the sweeper; answers how many they were.
    pub(super) async fn take(&mut self) -> Outcome<usize> {
        let mut taken = 0;
        loop {
            let claimed = match self {
                Self::Sqlite(connection) => take_sqlite(connection)?,
                Self::Postgres(pool) => take_postgres(pool).await?,
            };
            if claimed == 0 {
                return Ok(taken);
            }
            taken += claimed;
        }
    }
}

fn insert_sqlite(connection: &Connection, now_us: i64, chunk: &[Timer]) -> Outcome<()> {
    const COLUMNS: usize = 14;
    let row = format!("({})", vec!["?"; COLUMNS].join(","));
    let rows = vec![row; chunk.len()].join(",");
    let mut statement = connection.prepare_cached(&format!(
        "INSERT INTO timers (id, queue_id, timer_key, bucket, next_us, due_us, packing, message_id, \
         created_us, updated_us, partition, txn, producer, payload) VALUES {rows}"
    ))?;
    let second = now_us / 1_000_000;
    for (number, timer) in chunk.iter().enumerate() {
        let values: [&dyn rusqlite::ToSql; COLUMNS] = [
            &timer.id,
            &QUEUE,
            &timer.key,
            &(second - second % 60),
            &now_us,
            &now_us,
            &0,
            &timer.message_id.as_bytes().as_slice(),
            &now_us,
            &now_us,
            &PARTITION,
            &timer.txn,
            &PRODUCER,
            &PAYLOAD.as_slice(),
        ];
        for (column, value) in values.into_iter().enumerate() {
            statement.raw_bind_parameter(number * COLUMNS + column + 1, value)?;
        }
    }
    statement.raw_execute()?;
    Ok(())
}

fn take_sqlite(connection: &Connection) -> Outcome<usize> {
    let token = Uuid::now_v7();
    let claimed = connection
        .prepare_cached(
            "INSERT INTO timer_leases (timer_id, token, until_us) \
             SELECT id, ?1, ?2 FROM timers WHERE bucket <= ?2 ORDER BY bucket LIMIT ?3",
        )?
        .execute(rusqlite::params![token.as_bytes().as_slice(), i64::MAX, i64::from(CLAIM)])?;
    if claimed > 0 {
        let transaction = connection.unchecked_transaction()?;
        transaction
            .prepare_cached(
                "DELETE FROM timers WHERE id IN (SELECT timer_id FROM timer_leases WHERE token = ?1)",
            )?
            .execute([token.as_bytes().as_slice()])?;
        transaction
            .prepare_cached("DELETE FROM timer_leases WHERE token = ?1")?
            .execute([token.as_bytes().as_slice()])?;
        transaction.commit()?;
    }
    Ok(claimed)
}

async fn insert_postgres(pool: &PgPool, now_us: i64, chunk: &[Timer]) -> Outcome<()> {
    sqlx::query(
        "WITH input AS MATERIALIZED ( \
             SELECT * FROM unnest($1::bigint[], $2::text[], $3::uuid[], $4::text[], $5::bytea[]) \
                  AS i (id, timer_key, message_id, txn, payload) \
         ), bodies AS ( \
             INSERT INTO timer_payloads (timer_id, payload) SELECT id, payload FROM input \
         ) \
         INSERT INTO timers (id, queue_id, timer_key, next_us, due_us, packing, message_id, partition, txn, \
                             producer, created_us, updated_us) \
         SELECT id, $6, timer_key, $7, $7, 0, message_id, $8, txn, $9, $7, $7 FROM input",
    )
    .bind(chunk.iter().map(|timer| timer.id).collect::<Vec<_>>())
    .bind(chunk.iter().map(|timer| timer.key.as_str()).collect::<Vec<_>>())
    .bind(chunk.iter().map(|timer| timer.message_id).collect::<Vec<_>>())
    .bind(chunk.iter().map(|timer| timer.txn.as_str()).collect::<Vec<_>>())
    .bind(vec![PAYLOAD.as_slice(); chunk.len()])
    .bind(QUEUE)
    .bind(now_us)
    .bind(PARTITION)
    .bind(PRODUCER)
    .execute(pool)
    .await?;
    Ok(())
}

async fn take_postgres(pool: &PgPool) -> Outcome<usize> {
    let ids: Vec<i64> = sqlx::query_scalar(
        "UPDATE timers SET claim = $1, claimed_until_us = $2 WHERE id IN ( \
             SELECT id FROM timers WHERE next_us <= $2 AND claim IS NULL \
             ORDER BY next_us LIMIT $3 FOR UPDATE SKIP LOCKED) RETURNING id",
    )
    .bind(Uuid::now_v7())
    .bind(i64::MAX)
    .bind(i64::from(CLAIM))
    .fetch_all(pool)
    .await?;
    if !ids.is_empty() {
        sqlx::query(
            "WITH bodies AS (DELETE FROM timer_payloads WHERE timer_id = ANY($1)) \
             DELETE FROM timers WHERE id = ANY($1)",
        )
        .bind(&ids)
        .execute(pool)
        .await?;
    }
    Ok(ids.len())
}
