//! The store on Postgres, 15 or newer: several server processes on one database.
//!
//! A batch is one statement and one round trip: arrays in, rows out. Claims skip what others hold.
//! The clock is the database's, measured from time to time ([`Clock`]); NOTIFY is a hint and polling
//! the truth.

mod admin;
mod backlog;
mod deliver;
mod error;
mod frame_log;
mod groups;
mod hints;
mod log;
mod messages;
mod migrate;
mod publish;
mod purge;
mod queues;
mod rows;
mod schedules;
mod sweep;
mod timer_store;
mod timers;

use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::sync::broadcast;
use tokio::task::AbortHandle;

use super::clock::{Clock, machine_micros};
use super::error::OpenError;
use super::ids::IdMint;
use super::types::queue::Wake;
use super::{Store, StoreResult};

use backlog::Backlog;
pub(crate) use error::PgError;
use error::within;
use hints::Hints;
use queues::KnownQueues;

const CONNECTIONS: u32 = 12;
/// How long a verb waits for a connection before it answers that the store is unavailable.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long the database may take to say that it is there.
const PING_PATIENCE: Duration = Duration::from_secs(1);
/// A connection that rested longer is tried before it is used: the server may have gone away.
const REST: Duration = Duration::from_millis(500);
const CLOCK_INTERVAL: Duration = Duration::from_secs(30);
const WAKES: usize = 1_024;
/// The oldest server that is supported, as `server_version_num` counts.
const OLDEST: i32 = 150_000;

/// How statements are planned. All of them are short, so that compiling one would take longer than
/// running it. All of them find rows by keys: a plan made while a table was nearly empty, which reads it
/// whole, would be kept while it grows, and each row would cost more than the one before.
const PLANNING: [(&str, &str); 4] =
    [("jit", "off"), ("enable_seqscan", "off"), ("enable_hashjoin", "off"), ("enable_mergejoin", "off")];

/// How long a transaction may wait for its next statement, far longer than any of ours does: a process
/// that stands still, or whose machine is gone, must not keep its locks.
const PATIENCE: [(&str, &str); 1] = [("idle_in_transaction_session_timeout", "5s")];

/// The store on Postgres.
#[derive(Debug)]
pub struct PostgresStore {
    pool: PgPool,
    ids: Arc<IdMint>,
    clock: Clock,
    queues: KnownQueues,
    backlog: Backlog,
    wakes: broadcast::Sender<Wake>,
    hints: Hints,
    timers: timer_store::TimerHints,
    background: Mutex<Vec<AbortHandle>>,
}

impl PostgresStore {
    /// Connects and migrates.
    pub(crate) async fn open(url: &str, clock: Clock) -> Result<Self, OpenError> {
        let options = PgConnectOptions::from_str(url)
            .map_err(|_| OpenError::BadUrl("postgres://…".to_owned()))?
            .application_name("chronq")
            .options(PLANNING)
            .options(PATIENCE);
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .test_before_acquire(false)
            .before_acquire(|connection, metadata| {
                Box::pin(async move {
                    if metadata.idle_for < REST {
                        return Ok(true);
                    }
                    Ok(sqlx::Connection::ping(connection).await.is_ok())
                })
            })
            .connect_with(options)
            .await
            .map_err(PgError::from)
            .map_err(PgError::into_store)?;
        let version: i32 = sqlx::query_scalar("SELECT current_setting('server_version_num')::int")
            .fetch_one(&pool)
            .await
            .map_err(PgError::from)
            .map_err(PgError::into_store)?;
        if version < OLDEST {
            return Err(OpenError::PostgresTooOld((version / 10_000).to_string()));
        }
        migrate::run(&pool).await?;
        follow_clock(&pool, &clock).await.map_err(PgError::into_store)?;
        let wakes = broadcast::channel(WAKES).0;
        let timers = timer_store::TimerHints::default();
        let (hints, mut background) =
            Hints::start(&pool, &wakes, timers.on_put()).await.map_err(PgError::into_store)?;
        background.push(keep_clock(pool.clone(), clock.clone()));
        Ok(Self {
            pool,
            ids: Arc::new(IdMint::new()),
            clock,
            queues: KnownQueues::default(),
            backlog: Backlog::default(),
            wakes,
            hints,
            timers,
            background: Mutex::new(background),
        })
    }

    /// The connections.
    pub(crate) fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn wake_all(&self, wakes: impl IntoIterator<Item = Wake>) {
        for wake in wakes {
            self.wake(wake);
        }
    }

    /// Wakes who sleeps in this process and in others.
    fn wake(&self, wake: Wake) {
        self.hints.send(&wake);
        // Without a listener nobody sleeps here.
        let _ = self.wakes.send(wake);
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn wakes(&self) -> broadcast::Receiver<Wake> {
        self.wakes.subscribe()
    }

    fn parallel_publishes(&self) -> usize {
        // One is being committed while the next one is collected.
        2
    }

    fn parallel_settlements(&self) -> usize {
        1
    }

    async fn ping(&self) -> StoreResult<()> {
        // Who asks wants to know whether it answers now.
        within(PING_PATIENCE, sqlx::query("SELECT 1").execute(&self.pool))
            .await
            .map_err(PgError::into_store)?;
        Ok(())
    }

    async fn close(&self) {
        for task in self.background.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            task.abort();
        }
        self.pool.close().await;
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        for task in self.background.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            task.abort();
        }
    }
}

/// Asks the database for its time and takes the middle of the round trip for the instant it answered.
async fn follow_clock(pool: &PgPool, clock: &Clock) -> Result<(), PgError> {
    let mut connection = pool.acquire().await?;
    let asked = machine_micros();
    let theirs: i64 = sqlx::query_scalar("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        .fetch_one(&mut *connection)
        .await?;
    clock.follow_database(theirs, asked + (machine_micros() - asked) / 2);
    Ok(())
}

fn keep_clock(pool: PgPool, clock: Clock) -> AbortHandle {
    let task = tokio::spawn(async move {
        loop {
            tokio::time::sleep(CLOCK_INTERVAL).await;
            if let Err(error) = follow_clock(&pool, &clock).await {
                tracing::warn!(error = %error.into_store(), "the database's clock could not be read");
            }
        }
    });
    task.abort_handle()
}
