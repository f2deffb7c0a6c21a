//! The verbs of timers and the log on Postgres: each one transaction.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use chronq::timer::{PeekedTimer, TimerRow};
use sqlx::{Postgres, Transaction};
use tokio::sync::watch;
use uuid::Uuid;

use super::error::{answered, despite_conflicts, however_long};
use super::hints::OnTimerPut;
use super::{PgError, PostgresStore, frame_log, sweep, timers};
use crate::store::StoreResult;
use crate::store::error::StoreError;
use crate::store::log::{
    AckWrite, Acked, DeadLetter, DeadLetterQuery, Frame, FrameQuery, LogDeleted, LogOptions, LogStore,
    NewFrame, PopRequest, Replayed, Taken,
};
use crate::store::timers::{
    TenantQuota, TimerCall, TimerClaim, TimerFailure, TimerStore, TimerSwitches, TimerTotals, TimerWrite,
    TimersApplied, TimersFired, UnixMicros,
};
use crate::timers::failure::{FailureClass, FireFailed};

/// How often a call is made again that others overtook.
const APPLY_ATTEMPTS: usize = 8;

/// What this process holds in memory of the timers and the log: hints only, the rest is the database's.
#[derive(Default)]
pub(super) struct TimerHints {
    on_put: Arc<OnceLock<OnTimerPut>>,
    appended: watch::Sender<u64>,
}

impl std::fmt::Debug for TimerHints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TimerHints").finish_non_exhaustive()
    }
}

impl TimerHints {
    /// Who is told when a timer is put; nobody where this process does not sweep.
    pub(super) fn on_put(&self) -> &Arc<OnceLock<OnTimerPut>> {
        &self.on_put
    }

    fn announce(&self) {
        self.appended.send_modify(|count| *count = count.wrapping_add(1));
    }
}

impl PostgresStore {
    /// Wakes the sweeper of this process, or where there is none those of others.
    fn timer_put(&self, due_us: UnixMicros) {
        match self.timers.on_put.get() {
            Some(on_put) => on_put(due_us),
            None => self.hints.send_timer_put(due_us),
        }
    }

    async fn begin(&self) -> Result<Transaction<'static, Postgres>, PgError> {
        Ok(self.pool().begin().await?)
    }

    async fn apply_once(&self, call: &TimerCall) -> Result<Option<TimersApplied>, PgError> {
        let mut transaction = self.begin().await?;
        let now_us = self.clock.now_micros();
        let applied = timers::apply(&mut transaction, now_us, call).await?;
        match applied {
            Ok(done @ TimersApplied::Done(_)) => {
                transaction.commit().await?;
                let dues = call.writes.iter().filter_map(|write| match write {
                    TimerWrite::Put(put) => Some(put.due_us(now_us)),
                    TimerWrite::Cancel { .. } => None,
                });
                if let Some(earliest) = dues.min() {
                    self.timer_put(earliest);
                }
                Ok(Some(done))
            }
            Ok(over @ TimersApplied::OverQuota { .. }) => {
                transaction.rollback().await?;
                Ok(Some(over))
            }
            Err(timers::Overtaken) => {
                transaction.rollback().await?;
                Ok(None)
            }
        }
    }
}

/// Runs one transaction, made again where it lost against another one.
macro_rules! in_transaction {
    ($store:expr, |$conn:ident, $now_us:ident| $work:expr) => {
        in_transaction!(despite_conflicts; $store, |$conn, $now_us| $work)
    };
    ($run:ident; $store:expr, |$conn:ident, $now_us:ident| $work:expr) => {
        $run(|| async {
            let mut transaction = $store.begin().await?;
            let $now_us = $store.clock.now_micros();
            let done = {
                let $conn = &mut *transaction;
                $work.await?
            };
            transaction.commit().await?;
            Ok(done)
        })
        .await
    };
}

/// Runs one reading statement.
macro_rules! reading {
    ($store:expr, |$conn:ident, $now_us:ident| $work:expr) => {{
        let $now_us = $store.clock.now_micros();
        answered::<_, PgError>(async {
            let mut connection = $store.pool().acquire().await?;
            let $conn = &mut *connection;
            $work.await
        })
        .await
    }};
}

#[async_trait]
impl TimerStore for PostgresStore {
    async fn apply_timer_ops(&self, call: TimerCall) -> StoreResult<TimersApplied> {
        for _ in 0..APPLY_ATTEMPTS {
            if let Some(applied) = despite_conflicts(|| self.apply_once(&call)).await? {
                return Ok(applied);
            }
        }
        Err(StoreError::Unavailable("other calls keep putting the same timers".to_owned()))
    }

    async fn peek_timer(
        &self,
        tenant: &str,
        queue: &str,
        timer_key: &str,
    ) -> StoreResult<Option<PeekedTimer>> {
        reading!(self, |conn, now_us| timers::peek(conn, now_us, tenant, queue, timer_key))
    }

    async fn list_timers(
        &self,
        tenant: &str,
        queue: &str,
        after: Option<&str>,
        limit: u32,
    ) -> StoreResult<Vec<TimerRow>> {
        reading!(self, |conn, now_us| timers::list(conn, now_us, tenant, queue, after, limit))
    }

    async fn claim_due_timers(&self, limit: u32, lease_us: i64) -> StoreResult<TimerClaim> {
        let token = Uuid::now_v7();
        let claimed = reading!(self, |conn, now_us| async {
            let until_us = now_us.saturating_add(lease_us);
            let timers = sweep::claim(conn, now_us, limit, token, until_us).await?;
            Ok::<_, PgError>((until_us, timers))
        });
        let (until_us, timers) = claimed?;
        let full = timers.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(TimerClaim { token, until_us, timers, full })
    }

    async fn fire_timers(&self, token: Uuid, ids: Vec<i64>) -> Result<TimersFired, FireFailed> {
        let fired = async {
            let mut transaction = self.begin().await?;
            let fired = sweep::fire(&mut transaction, self.clock.now_micros(), token, &ids).await?;
            transaction.commit().await?;
            Ok(fired)
        };
        let fired = fired.await.map_err(fire_failed)?;
        self.timers.announce();
        Ok(fired)
    }

    async fn fail_timers(&self, token: Uuid, failures: Vec<TimerFailure>) -> StoreResult<u64> {
        in_transaction!(self, |conn, now_us| sweep::fail(conn, now_us, token, &failures))
    }

    async fn next_timer_due(&self) -> StoreResult<Option<UnixMicros>> {
        reading!(self, |conn, now_us| sweep::next_due(conn, now_us))
    }

    fn on_timer_put(&self, wake: OnTimerPut) {
        // Set once, when the server starts.
        let _ = self.timers.on_put.set(wake);
    }

    async fn timer_totals(&self) -> StoreResult<TimerTotals> {
        reading!(self, |conn, now_us| async {
            let (due, oldest_us) = sweep::due(conn, now_us).await?;
            let tenants = timers::tenant_totals(conn).await?;
            let oldest_late_us = oldest_us.map_or(0, |oldest| now_us.saturating_sub(oldest).max(0));
            Ok(TimerTotals { due, oldest_late_us, tenants })
        })
    }

    async fn timer_switches(&self) -> StoreResult<TimerSwitches> {
        reading!(self, |conn, _now_us| timers::switches(conn))
    }

    async fn put_timer_switches(&self, switches: TimerSwitches) -> StoreResult<()> {
        reading!(self, |conn, _now_us| timers::put_switches(conn, switches))
    }

    async fn tenants(&self) -> StoreResult<Vec<(String, TenantQuota)>> {
        let rows = reading!(self, |conn, _now_us| timers::tenants(conn))?;
        rows.into_iter()
            .map(|(name, quota)| {
                let quota = serde_json::from_str(&quota)
                    .map_err(|error| StoreError::Corrupt(format!("the quota of tenant {name}: {error}")))?;
                Ok((name, quota))
            })
            .collect()
    }

    async fn put_tenant(&self, name: &str, quota: TenantQuota) -> StoreResult<()> {
        let quota = serde_json::to_string(&quota)
            .map_err(|error| StoreError::Internal(format!("a quota cannot be written: {error}")))?;
        reading!(self, |conn, _now_us| timers::put_tenant(conn, name, &quota))
    }

    async fn delete_tenant(&self, name: &str) -> StoreResult<bool> {
        reading!(self, |conn, _now_us| timers::delete_tenant(conn, name))
    }
}

/// What a failed fire means: see the classes of the contract.
fn fire_failed(error: PgError) -> FireFailed {
    let code = error.code();
    let store = error.into_store();
    let class = match code.as_deref() {
        // undefined_table, undefined_column, invalid_schema_name, insufficient_privilege, read only.
        Some("42P01" | "42703" | "3F000" | "42501" | "25006") => FailureClass::Configuration,
        _ if store.is_temporary() => FailureClass::Transient,
        _ => FailureClass::Permanent,
    };
    FireFailed { class, error: store.to_string() }
}

#[async_trait]
impl LogStore for PostgresStore {
    async fn log_options(&self, tenant: &str, queues: Vec<String>) -> StoreResult<Vec<(String, LogOptions)>> {
        reading!(self, |conn, _now_us| frame_log::options(conn, tenant, &queues))
    }

    async fn configure_log(&self, tenant: &str, queue: &str, options: LogOptions) -> StoreResult<()> {
        in_transaction!(self, |conn, now_us| frame_log::configure(conn, now_us, tenant, queue, &options))
    }

    async fn append(
        &self,
        tenant: &str,
        producer: Option<Arc<str>>,
        frames: Vec<NewFrame>,
    ) -> StoreResult<()> {
        let producer = producer.as_deref();
        in_transaction!(self, |conn, now_us| frame_log::append(conn, now_us, tenant, producer, &frames))?;
        self.timers.announce();
        Ok(())
    }

    async fn pop(&self, request: PopRequest) -> StoreResult<Option<Taken>> {
        in_transaction!(self, |conn, now_us| frame_log::pop(conn, now_us, &request))
    }

    async fn ack(&self, tenant: &str, acks: Vec<AckWrite>) -> StoreResult<Vec<Acked>> {
        let acks = acks.as_slice();
        let acked = in_transaction!(self, |conn, now_us| async {
            let mut acked = Vec::with_capacity(acks.len());
            for ack in acks {
                acked.push(frame_log::ack(conn, now_us, tenant, ack).await?);
            }
            Ok::<_, PgError>(acked)
        })?;
        self.timers.announce();
        Ok(acked)
    }

    async fn extend_lease(&self, tenant: &str, lease: Uuid) -> StoreResult<Option<UnixMicros>> {
        reading!(self, |conn, now_us| frame_log::extend_lease(conn, now_us, tenant, lease))
    }

    async fn frames(&self, tenant: &str, query: FrameQuery) -> StoreResult<Vec<Frame>> {
        reading!(self, |conn, _now_us| frame_log::frames(conn, tenant, &query))
    }

    async fn newest_frame(&self, tenant: &str, partition_id: i64, txn: &str) -> StoreResult<Option<Frame>> {
        reading!(self, |conn, _now_us| frame_log::newest_frame(conn, tenant, partition_id, txn))
    }

    async fn dead_letters(
        &self,
        tenant: &str,
        query: DeadLetterQuery,
    ) -> StoreResult<(Vec<DeadLetter>, u64)> {
        reading!(self, |conn, _now_us| frame_log::dead_letters(conn, tenant, &query))
    }

    async fn replay(&self, tenant: &str, id: i64, message_id: Uuid) -> StoreResult<Replayed> {
        let replayed =
            in_transaction!(self, |conn, now_us| frame_log::replay(conn, now_us, tenant, id, message_id))?;
        self.timers.announce();
        Ok(replayed)
    }

    async fn delete_log(&self, tenant: &str, queue: &str) -> StoreResult<LogDeleted> {
        in_transaction!(however_long; self, |conn, _now_us| frame_log::delete(conn, tenant, queue))
    }

    async fn trim_log(&self, limit: u32) -> StoreResult<u64> {
        reading!(self, |conn, now_us| frame_log::trim(conn, now_us, limit))
    }

    fn appended(&self) -> watch::Receiver<u64> {
        self.timers.appended.subscribe()
    }
}
