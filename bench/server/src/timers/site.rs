//! A server to measure: its process, its database, and the store opened beside it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chronq::timer::accept::Put;
use chronq::timer::rules::Delay;
use chronq::{Destination, Name};
use chronq_server::store::log::{Frame, FrameQuery};
use chronq_server::store::timers::{PutTimer, TimerCall, TimerWrite, TimersApplied};
use chronq_server::store::types::message::{Due, HandOver, NewMessage};
use chronq_server::store::{Clock, Role, Store, open};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tempfile::TempDir;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::raw::Raw;
use super::{CALLERS, far_us};
use crate::Outcome;
use crate::contender::{Contender, Kind, Programs};
use crate::load::BODY_BYTES;

/// Rows of one transaction when a database is filled.
const FILL: usize = 2_000;

/// A database of its own: a file, or a schema.
#[derive(Debug)]
pub(super) struct Database {
    kind: Kind,
    url: String,
    file: PathBuf,
    _folder: TempDir,
}

impl Database {
    pub(super) async fn make(kind: Kind, programs: &Programs, name: &str) -> Outcome<Self> {
        let folder = TempDir::new()?;
        let file = folder.path().join("chronq.db");
        let url = match (kind, &programs.postgres) {
            (Kind::Sqlite, _) => format!("sqlite:{}", file.display()),
            (_, Some(url)) => {
                let schema = format!("bench_timers_{name}");
                execute(url, &format!("DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}"))
                    .await?;
                let separator = if url.contains('?') { '&' } else { '?' };
                format!("{url}{separator}options=-csearch_path%3D{schema}")
            }
            (_, None) => return Err("Postgres is measured with --postgres".into()),
        };
        Ok(Self { kind, url, file, _folder: folder })
    }

    async fn store(&self) -> Outcome<Arc<dyn Store>> {
        Ok(open(&self.url.parse()?, Role::Tool, Clock::new()).await?)
    }

    /// The database for the other side, made by the store and then left to it.
    pub(super) async fn raw(&self) -> Outcome<Raw> {
        self.store().await?.close().await;
        match self.kind {
            Kind::Sqlite => Raw::sqlite(&self.file),
            Kind::Postgres | Kind::PgBoss => Raw::postgres(&self.url).await,
        }
    }
}

async fn execute(url: &str, sql: &str) -> Outcome<()> {
    let mut connection = PgConnection::connect(url).await?;
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await?;
    connection.close().await?;
    Ok(())
}

/// A server on its database.
pub(super) struct Site {
    pub(super) server: Contender,
    store: Arc<dyn Store>,
    _database: Database,
}

impl Site {
    /// Starts it with so many far timers and delayed messages already pending.
    pub(super) async fn start(kind: Kind, programs: &Programs, name: &str, pending: usize) -> Outcome<Self> {
        let database = Database::make(kind, programs, name).await?;
        let store = database.store().await?;
        if pending > 0 {
            eprintln!("{}: {pending} timers and messages are put", kind.store());
            fill(&store, pending).await?;
        }
        if kind == Kind::Postgres {
            // What autovacuum would do in the middle of a measurement.
            execute(&database.url, "VACUUM ANALYZE").await?;
            execute(&database.url, "CHECKPOINT").await?;
        }
        let server = Contender::on(kind, programs, database.url.clone()).await?;
        Ok(Self { server, store, _database: database })
    }

    /// The frames of a queue, oldest first.
    pub(super) async fn frames(&self, queue: &str) -> Outcome<Vec<Frame>> {
        let query = FrameQuery {
            queue: queue.to_owned(),
            txn: None,
            partition: None,
            from_us: None,
            to_us: None,
            limit: u32::MAX >> 1,
        };
        Ok(self.store.frames(super::TENANT, query).await?)
    }

    /// Deletes a queue with its log.
    pub(super) async fn forget(&self, queue: &str) -> Outcome<()> {
        self.store.delete_log(super::TENANT, queue).await?;
        Ok(())
    }

    /// Waits for the last frame without looking at the log more often than it can bear.
    pub(super) async fn wait_for_frames(&self, queue: &str, count: usize) -> Outcome<Vec<Frame>> {
        let deadline = tokio::time::Instant::now() + Duration::from_mins(2);
        loop {
            let frames = self.frames(queue).await?;
            if frames.len() >= count {
                return Ok(frames);
            }
            if tokio::time::Instant::now() > deadline {
                return Err(format!("only {} of {count} timers were fired", frames.len()).into());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    pub(super) async fn stop(self) -> Outcome<()> {
        self.server.stop().await?;
        self.store.close().await;
        Ok(())
    }
}

async fn fill(store: &Arc<dyn Store>, count: usize) -> Outcome<()> {
    let mut tasks = JoinSet::new();
    for caller in 0..CALLERS {
        let store = Arc::clone(store);
        tasks.spawn(async move {
            for first in (caller * FILL..count).step_by(CALLERS * FILL) {
                let numbers = first..count.min(first + FILL);
                put_timers(store.as_ref(), numbers.clone()).await?;
                put_messages(store.as_ref(), numbers).await?;
            }
            Outcome::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

async fn put_timers(store: &dyn Store, numbers: std::ops::Range<usize>) -> Outcome<()> {
    let payload = Bytes::from(vec![b'x'; BODY_BYTES]);
    let writes = numbers
        .map(|number| {
            let put = Put {
                queue: "far".to_owned(),
                timer_key: format!("far-{number}"),
                partition: "Default".to_owned(),
                delay: Delay::from_micros(far_us(number)),
                txn: format!("far-{number}"),
                payload: payload.clone(),
                zstd: false,
                encrypted: false,
            };
            TimerWrite::Put(PutTimer { put, message_id: Uuid::now_v7(), sealed: false })
        })
        .collect();
    let call = TimerCall { tenant: super::TENANT.into(), producer: None, max_pending: None, writes };
    match store.apply_timer_ops(call).await? {
        TimersApplied::Done(_) => Ok(()),
        TimersApplied::OverQuota { .. } => Err("a fill was over quota".into()),
    }
}

async fn put_messages(store: &dyn Store, numbers: std::ops::Range<usize>) -> Outcome<()> {
    let destination = Destination::parse("destination", "http://127.0.0.1:9/hook")?;
    let body = Bytes::from(vec![b'x'; BODY_BYTES]);
    let messages = numbers
        .map(|number| {
            let due = Due::After(u64::try_from(far_us(number) / 1_000).unwrap_or(u64::MAX));
            NewMessage { due, ..NewMessage::new(Name::default_queue(), destination.clone(), body.clone()) }
        })
        .collect();
    store.enqueue(messages, HandOver::default()).await?;
    Ok(())
}
