//! The verbs of timers and the log on SQLite: writer, readers and the near heap put together.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;
use chronq::timer::{PeekedTimer, TimerRow};
use rusqlite::ErrorCode;
use tokio::sync::watch;
use uuid::Uuid;

use super::claims::Ended;
use super::due::DueSoon;
use super::timers::{Applied, PutEntry};
use super::{SqliteStore, Writing, failure, frame_log, sweep, timers};
use crate::store::StoreResult;
use crate::store::error::StoreError;
use crate::store::log::{
    AckWrite, Acked, DeadLetter, DeadLetterQuery, Frame, FrameQuery, LogDeleted, LogOptions, LogStore,
    NewFrame, PopRequest, Replayed, Taken,
};
use crate::store::timers::{
    TenantQuota, TimerCall, TimerClaim, TimerFailure, TimerStore, TimerSwitches, TimerTotals, TimersApplied,
    TimersFired, UnixMicros,
};
use crate::timers::failure::{FailureClass, FireFailed};

/// Rows of one read when buckets come near: a reader is not held for long.
const LOAD_ROWS: usize = 4_096;

type OnPut = Arc<dyn Fn(UnixMicros) + Send + Sync>;

/// What this process holds in memory of the timers and the log.
#[derive(Clone, Default)]
pub(super) struct TimerMemory {
    due: Arc<Mutex<DueSoon>>,
    on_put: Arc<OnceLock<OnPut>>,
    appended: watch::Sender<u64>,
}

impl std::fmt::Debug for TimerMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TimerMemory").finish_non_exhaustive()
    }
}

impl TimerMemory {
    fn due(&self) -> MutexGuard<'_, DueSoon> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the near heap in step with what the job commits.
    fn follow(&self, writing: &mut Writing<'_>, entries: Vec<PutEntry>) {
        if entries.is_empty() {
            return;
        }
        let memory = self.clone();
        writing.on_commit(move || {
            let earliest = sweep::remember(&mut memory.due(), &entries);
            if let (Some(earliest), Some(on_put)) = (earliest, memory.on_put.get()) {
                on_put(earliest);
            }
        });
    }

    /// Whether a claim holds a timer.
    fn is_held(&self, id: i64, now_us: UnixMicros) -> bool {
        self.due().claims.held_until(id, now_us).is_some()
    }

    /// Timers have left their claims; where the transaction fails, they never did. The writer's jobs see
    /// it at once, since those of one transaction see each other's rows as well.
    fn end(&self, writing: &mut Writing<'_>, ended: Vec<Ended>) {
        if ended.is_empty() {
            return;
        }
        let memory = self.clone();
        writing.on_rollback(move || memory.due().claims.restore(ended));
    }

    /// Tells poppers once the job is committed.
    fn announce(&self, writing: &mut Writing<'_>) {
        let appended = self.appended.clone();
        writing.on_commit(move || appended.send_modify(|count| *count = count.wrapping_add(1)));
    }
}

impl SqliteStore {
    /// Reads the buckets that come near into the heap. What is committed meanwhile is put there by its
    /// own hook, so that nothing falls between the two.
    async fn load_due(&self) -> StoreResult<()> {
        let Some((after, up_to)) = self.timers.due().begin_load(self.clock.now_micros()) else {
            return Ok(());
        };
        let mut beyond = (i64::MIN, i64::MIN);
        loop {
            let rows = self
                .read(move |conn| sweep::load(conn, after, up_to, beyond, LOAD_ROWS).map_err(failure))
                .await
                .inspect_err(|_| self.timers.due().undo_load(after))?;
            let mut due = self.timers.due();
            for (_, id, next_us) in &rows {
                due.add(*id, *next_us);
            }
            match rows.last() {
                Some((bucket, id, _)) if rows.len() == LOAD_ROWS => beyond = (*bucket, *id),
                _ => return Ok(()),
            }
        }
    }

    /// Claims the timers of up to `limit` due entries, as far as their rows agree. Entries leave the
    /// heap on the writer's thread alone, so that a transaction that fails brings them back.
    async fn claim_entries(&self, limit: u32, lease_us: i64) -> StoreResult<TimerClaim> {
        let token = Uuid::now_v7();
        if !self.timers.due().any_due(self.clock.now_micros()) {
            return Ok(TimerClaim { token, until_us: 0, timers: Vec::new(), full: false });
        }
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let (memory, clock) = (self.timers.clone(), self.clock.clone());
        self.write(move |writing| {
            let now_us = clock.now_micros();
            let until_us = now_us.saturating_add(lease_us);
            let entries = memory.due().take(now_us, most);
            let back = (memory.clone(), entries.clone());
            writing.on_rollback(move || {
                let (memory, entries) = back;
                let mut due = memory.due();
                due.claims.undo(token);
                for (next_us, id) in entries {
                    due.add(id, next_us);
                }
            });
            let held_until = |id| memory.due().claims.held_until(id, now_us);
            let claimed = sweep::claim(writing.connection, now_us, &entries, held_until).map_err(failure)?;
            let mut due = memory.due();
            due.claims.put(token, until_us, claimed.held);
            for (id, next_us) in claimed.later {
                due.add(id, next_us);
            }
            Ok(TimerClaim { token, until_us, timers: claimed.timers, full: entries.len() == most })
        })
        .await
    }
}

#[async_trait]
impl TimerStore for SqliteStore {
    async fn apply_timer_ops(&self, call: TimerCall) -> StoreResult<TimersApplied> {
        let (memory, clock) = (self.timers.clone(), self.clock.clone());
        self.write(move |writing| {
            let now_us = clock.now_micros();
            let is_held = |id| memory.is_held(id, now_us);
            let Applied { answer, entries, gone } =
                timers::apply(writing.connection, now_us, &call, is_held).map_err(failure)?;
            // Their leases have passed, or they would stand; whoever held one must not fire what is new.
            let ended = memory.due().claims.forget(&gone);
            memory.end(writing, ended);
            memory.follow(writing, entries);
            Ok(answer)
        })
        .await
    }

    async fn peek_timer(
        &self,
        tenant: &str,
        queue: &str,
        timer_key: &str,
    ) -> StoreResult<Option<PeekedTimer>> {
        let now_us = self.clock.now_micros();
        let (tenant, queue, timer_key) = (tenant.to_owned(), queue.to_owned(), timer_key.to_owned());
        let memory = self.timers.clone();
        self.read(move |conn| {
            let is_held = |id| memory.is_held(id, now_us);
            timers::peek(conn, &tenant, &queue, &timer_key, is_held).map_err(failure)
        })
        .await
    }

    async fn list_timers(
        &self,
        tenant: &str,
        queue: &str,
        after: Option<&str>,
        limit: u32,
    ) -> StoreResult<Vec<TimerRow>> {
        let now_us = self.clock.now_micros();
        let (tenant, queue, after) = (tenant.to_owned(), queue.to_owned(), after.map(str::to_owned));
        let memory = self.timers.clone();
        self.read(move |conn| {
            let is_held = |id| memory.is_held(id, now_us);
            timers::list(conn, &tenant, &queue, after.as_deref(), limit, is_held).map_err(failure)
        })
        .await
    }

    async fn claim_due_timers(&self, limit: u32, lease_us: i64) -> StoreResult<TimerClaim> {
        self.load_due().await?;
        loop {
            let claim = self.claim_entries(limit, lease_us).await?;
            // Entries are hints: where all of them were out of date, the next ones are looked at.
            if !claim.timers.is_empty() || !claim.full {
                return Ok(claim);
            }
        }
    }

    async fn fire_timers(&self, token: Uuid, ids: Vec<i64>) -> Result<TimersFired, FireFailed> {
        let (memory, clock) = (self.timers.clone(), self.clock.clone());
        // The job answers as the store does; what the failure means to a fire is told beside it.
        let class = Arc::new(OnceLock::new());
        let told = Arc::clone(&class);
        let fired = self
            .write(move |writing| {
                let now_us = clock.now_micros();
                // A stale one stays in its claim: that is how it comes back once its lease has passed.
                let held = memory.due().claims.holding(token, &ids, now_us);
                let held_ids: Vec<i64> = held.iter().map(|held| held.id).collect();
                let lags_us = sweep::fire(writing.connection, now_us, held)
                    .inspect_err(|error| _ = told.set(class_of(error)))
                    .map_err(failure)?;
                let ended = memory.due().claims.end(token, &held_ids);
                memory.end(writing, ended);
                memory.announce(writing);
                Ok(TimersFired { stale: ids.len() - lags_us.len(), lags_us })
            })
            .await;
        fired.map_err(|error: StoreError| {
            let by_store =
                if error.is_temporary() { FailureClass::Transient } else { FailureClass::Permanent };
            FireFailed { class: class.get().copied().unwrap_or(by_store), error: error.to_string() }
        })
    }

    async fn fail_timers(&self, token: Uuid, failures: Vec<TimerFailure>) -> StoreResult<u64> {
        let (memory, clock) = (self.timers.clone(), self.clock.clone());
        self.write(move |writing| {
            // Where the claim is somebody else's by now, or the timer was rescheduled, its failure is history.
            let claimed = |failure: TimerFailure| {
                let tenant = memory.due().claims.claimed(token, failure.id)?.tenant.clone();
                Some((tenant, failure))
            };
            let failures: Vec<(String, TimerFailure)> = failures.into_iter().filter_map(claimed).collect();
            let (dead, entries) =
                sweep::fail(writing.connection, clock.now_micros(), &failures).map_err(failure)?;
            let ids: Vec<i64> = failures.iter().map(|(_, failure)| failure.id).collect();
            let ended = memory.due().claims.end(token, &ids);
            memory.end(writing, ended);
            memory.follow(writing, entries);
            Ok(dead)
        })
        .await
    }

    async fn next_timer_due(&self) -> StoreResult<Option<UnixMicros>> {
        Ok(self.timers.due().next())
    }

    fn on_timer_put(&self, wake: OnPut) {
        // Set once, when the server starts; a second server on one store does not exist.
        let _ = self.timers.on_put.set(wake);
    }

    async fn timer_totals(&self) -> StoreResult<TimerTotals> {
        let now_us = self.clock.now_micros();
        self.read(move |conn| {
            let (due, oldest_us) = sweep::due(conn, now_us).map_err(failure)?;
            let tenants = timers::tenant_totals(conn).map_err(failure)?;
            let oldest_late_us = oldest_us.map_or(0, |oldest| now_us.saturating_sub(oldest).max(0));
            Ok(TimerTotals { due, oldest_late_us, tenants })
        })
        .await
    }

    async fn timer_switches(&self) -> StoreResult<TimerSwitches> {
        self.read(|conn| timers::switches(conn).map_err(failure)).await
    }

    async fn put_timer_switches(&self, switches: TimerSwitches) -> StoreResult<()> {
        self.write(move |writing| timers::put_switches(writing.connection, switches).map_err(failure)).await
    }

    async fn tenants(&self) -> StoreResult<Vec<(String, TenantQuota)>> {
        let rows = self.read(|conn| timers::tenants(conn).map_err(failure)).await?;
        rows.into_iter()
            .map(|(name, quota)| {
                let quota = serde_json::from_str(&quota)
                    .map_err(|error| StoreError::Corrupt(format!("the quota of tenant {name}: {error}")))?;
                Ok((name, quota))
            })
            .collect()
    }

    async fn put_tenant(&self, name: &str, quota: TenantQuota) -> StoreResult<()> {
        let name = name.to_owned();
        self.write(move |writing| timers::put_tenant(writing.connection, &name, &quota).map_err(failure))
            .await
    }

    async fn delete_tenant(&self, name: &str) -> StoreResult<bool> {
        let name = name.to_owned();
        self.write(move |writing| timers::delete_tenant(writing.connection, &name).map_err(failure)).await
    }
}

/// What a failed fire means: see the classes of the contract.
fn class_of(error: &rusqlite::Error) -> FailureClass {
    let missing =
        |message: &str| message.starts_with("no such table") || message.starts_with("no such column");
    match error {
        rusqlite::Error::SqliteFailure(code, message) => match code.code {
            ErrorCode::PermissionDenied
            | ErrorCode::ReadOnly
            | ErrorCode::AuthorizationForStatementDenied => FailureClass::Configuration,
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationInterrupted
            | ErrorCode::OperationAborted => FailureClass::Transient,
            _ if message.as_deref().is_some_and(missing) => FailureClass::Configuration,
            _ => FailureClass::Permanent,
        },
        rusqlite::Error::SqlInputError { msg, .. } if missing(msg) => FailureClass::Configuration,
        _ => FailureClass::Permanent,
    }
}

#[async_trait]
impl LogStore for SqliteStore {
    async fn log_options(&self, tenant: &str, queues: Vec<String>) -> StoreResult<Vec<(String, LogOptions)>> {
        let tenant = tenant.to_owned();
        self.read(move |conn| frame_log::options(conn, &tenant, &queues).map_err(failure)).await
    }

    async fn configure_log(&self, tenant: &str, queue: &str, options: LogOptions) -> StoreResult<()> {
        let (tenant, queue, clock) = (tenant.to_owned(), queue.to_owned(), self.clock.clone());
        self.write(move |writing| {
            frame_log::configure(writing.connection, clock.now_micros(), &tenant, &queue, &options)
                .map_err(failure)
        })
        .await
    }

    async fn append(
        &self,
        tenant: &str,
        producer: Option<Arc<str>>,
        frames: Vec<NewFrame>,
    ) -> StoreResult<()> {
        let (tenant, clock, memory) = (tenant.to_owned(), self.clock.clone(), self.timers.clone());
        self.write(move |writing| {
            frame_log::append(writing.connection, clock.now_micros(), &tenant, producer.as_deref(), &frames)
                .map_err(failure)?;
            memory.announce(writing);
            Ok(())
        })
        .await
    }

    async fn pop(&self, request: PopRequest) -> StoreResult<Option<Taken>> {
        let clock = self.clock.clone();
        self.write(move |writing| {
            frame_log::pop(writing.connection, clock.now_micros(), &request).map_err(failure)
        })
        .await
    }

    async fn ack(&self, tenant: &str, acks: Vec<AckWrite>) -> StoreResult<Vec<Acked>> {
        let (tenant, clock, memory) = (tenant.to_owned(), self.clock.clone(), self.timers.clone());
        self.write(move |writing| {
            let now_us = clock.now_micros();
            let acked: Vec<_> = acks
                .iter()
                .map(|ack| frame_log::ack(writing.connection, now_us, &tenant, ack))
                .collect::<Result<_, _>>()
                .map_err(failure)?;
            // A released lease may leave frames for whoever waits.
            memory.announce(writing);
            Ok(acked)
        })
        .await
    }

    async fn extend_lease(&self, tenant: &str, lease: Uuid) -> StoreResult<Option<UnixMicros>> {
        let (tenant, clock) = (tenant.to_owned(), self.clock.clone());
        self.write(move |writing| {
            frame_log::extend_lease(writing.connection, clock.now_micros(), &tenant, lease).map_err(failure)
        })
        .await
    }

    async fn frames(&self, tenant: &str, query: FrameQuery) -> StoreResult<Vec<Frame>> {
        let tenant = tenant.to_owned();
        self.read(move |conn| frame_log::frames(conn, &tenant, &query).map_err(failure)).await
    }

    async fn newest_frame(&self, tenant: &str, partition_id: i64, txn: &str) -> StoreResult<Option<Frame>> {
        let (tenant, txn) = (tenant.to_owned(), txn.to_owned());
        self.read(move |conn| frame_log::newest_frame(conn, &tenant, partition_id, &txn).map_err(failure))
            .await
    }

    async fn dead_letters(
        &self,
        tenant: &str,
        query: DeadLetterQuery,
    ) -> StoreResult<(Vec<DeadLetter>, u64)> {
        let tenant = tenant.to_owned();
        self.read(move |conn| frame_log::dead_letters(conn, &tenant, &query).map_err(failure)).await
    }

    async fn replay(&self, tenant: &str, id: i64, message_id: Uuid) -> StoreResult<Replayed> {
        let (tenant, clock, memory) = (tenant.to_owned(), self.clock.clone(), self.timers.clone());
        self.write(move |writing| {
            let replayed = frame_log::replay(writing.connection, clock.now_micros(), &tenant, id, message_id)
                .map_err(failure)?;
            memory.announce(writing);
            Ok(replayed)
        })
        .await
    }

    async fn delete_log(&self, tenant: &str, queue: &str) -> StoreResult<LogDeleted> {
        let (tenant, queue, memory) = (tenant.to_owned(), queue.to_owned(), self.timers.clone());
        self.write(move |writing| {
            let conn = writing.connection;
            let Some(id) = timers::queue_id(conn, &tenant, &queue).map_err(failure)? else {
                return Ok(LogDeleted::default());
            };
            let deleted = frame_log::delete(conn, &tenant, id).map_err(failure)?;
            let ended = memory.due().claims.forget_queue(id);
            memory.end(writing, ended);
            Ok(deleted)
        })
        .await
    }

    async fn trim_log(&self, limit: u32) -> StoreResult<u64> {
        let clock = self.clock.clone();
        self.write(move |writing| {
            frame_log::trim(writing.connection, clock.now_micros(), limit).map_err(failure)
        })
        .await
    }

    fn appended(&self) -> watch::Receiver<u64> {
        self.timers.appended.subscribe()
    }
}
