//! Timers in the store: the verbs, and the one decision that both databases take the same way.
//!
//! ```text
//!              put                    claim (token, lease)             fire
//!   (absent) ───────▶ pending ───────────────────────────▶ claimed ─────────▶ a frame in the log
//!                     ▲  │  ▲                                │  │
//!          put (replaces)│  └──── lease passed, or fail ─────┘  └─▶ dead letter (attempts spent)
//!                     └──┴── cancel ──▶ (absent)
//! ```
//!
//! A put or cancel that meets a live lease answers `too_late` and changes nothing.

use std::sync::Arc;

use async_trait::async_trait;
use chronq::Instant;
use chronq::contract::TimerStatus;
use chronq::timer::accept::Put;
use chronq::timer::{Absent, Cancelled, PeekedTimer, Placed, TimerOutcome, TimerRow, TooLate};
use uuid::Uuid;

use super::StoreResult;
use crate::timers::failure::FireFailed;

/// Microseconds since 1970: timers are kept that finely.
pub type UnixMicros = i64;

/// One call of the timer routes: applied whole or not at all.
#[derive(Clone, Debug)]
pub struct TimerCall {
    /// Whose timers.
    pub tenant: Arc<str>,
    /// Who schedules: attested in every frame.
    pub producer: Option<Arc<str>>,
    /// Most pending timers of the tenant; `None` is no limit.
    pub max_pending: Option<u64>,
    /// What to do, no timer twice.
    pub writes: Vec<TimerWrite>,
}

/// One operation.
#[derive(Clone, Debug)]
pub enum TimerWrite {
    /// Schedule or reschedule.
    Put(PutTimer),
    /// Cancel.
    Cancel {
        /// The queue.
        queue: String,
        /// The timer's key.
        timer_key: String,
        /// Echoed where the timer is absent.
        txn: Option<String>,
    },
}

impl TimerWrite {
    /// Queue and key.
    pub fn identity(&self) -> (&str, &str) {
        match self {
            Self::Put(put) => (&put.put.queue, &put.put.timer_key),
            Self::Cancel { queue, timer_key, .. } => (queue, timer_key),
        }
    }
}

/// A put, ready to be stored.
#[derive(Clone, Debug)]
pub struct PutTimer {
    /// The accepted operation; its payload is what is stored.
    pub put: Put,
    /// The id that the frame will have.
    pub message_id: Uuid,
    /// The payload is sealed under the server's data key.
    pub sealed: bool,
}

impl PutTimer {
    /// The instant that the timer is set to, by a clock that was read once for the whole call.
    pub fn due_us(&self, now_us: UnixMicros) -> UnixMicros {
        Instant::from_micros(now_us.saturating_add(self.put.delay.micros())).micros()
    }

    /// How the payload is packed.
    pub fn packing(&self) -> Packing {
        Packing { zstd: self.put.zstd, encrypted: self.put.encrypted, sealed: self.sealed }
    }
}

/// How a payload is packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// It is a zstd frame.
    pub zstd: bool,
    /// The caller encrypted it.
    pub encrypted: bool,
    /// The server sealed it.
    pub sealed: bool,
}

impl Packing {
    /// As one number, the form in the store.
    pub fn bits(self) -> i32 {
        i32::from(self.zstd) | i32::from(self.encrypted) << 1 | i32::from(self.sealed) << 2
    }

    /// Reads the form in the store.
    pub fn from_bits(bits: i32) -> Self {
        Self { zstd: bits & 1 != 0, encrypted: bits & 2 != 0, sealed: bits & 4 != 0 }
    }
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimersApplied {
    /// One outcome per write, in order; committed.
    Done(Vec<TimerOutcome>),
    /// The call would leave more pending timers than the tenant may have; nothing was written.
    OverQuota {
        /// Timers pending.
        held: u64,
        /// Timers that the call would add.
        adding: u64,
    },
}

/// Timers taken for firing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimerClaim {
    /// Proves the claim.
    pub token: Uuid,
    /// Until when it holds.
    pub until_us: UnixMicros,
    /// In expiry order.
    pub timers: Vec<ClaimedTimer>,
    /// There may be more that are due.
    pub full: bool,
}

/// A claimed timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedTimer {
    /// Its id in the store.
    pub id: i64,
    /// Whose.
    pub tenant: String,
    /// The queue.
    pub queue: String,
    /// The timer's key.
    pub timer_key: String,
    /// When it was due.
    pub due_us: UnixMicros,
    /// Fires that failed for good.
    pub attempts: u32,
}

/// What a fire wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimersFired {
    /// How late each frame entered the log, microseconds.
    pub lags_us: Vec<i64>,
    /// Timers whose claim no longer held: nothing was written for them.
    pub stale: usize,
}

/// A fire that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimerFailure {
    /// The timer.
    pub id: i64,
    /// Why.
    pub error: String,
    /// What happens now.
    pub consequence: Consequence,
}

/// What a failed fire leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// Again after so many microseconds.
    Backoff {
        /// From now.
        after_us: i64,
        /// Whether an attempt is spent.
        spend: bool,
    },
    /// No more: to the queue's dead letters, the last attempt spent.
    DeadLetter,
}

/// Counts that the metrics show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimerTotals {
    /// Due and not fired.
    pub due: u64,
    /// How late the oldest of them is, microseconds.
    pub oldest_late_us: i64,
    /// Per tenant: pending timers, and operations metered.
    pub tenants: Vec<TenantTotals>,
}

/// Counts of one tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantTotals {
    /// The tenant.
    pub tenant: String,
    /// Pending timers.
    pub pending: u64,
    /// Schedules and reschedules ever made.
    pub metered: u64,
}

/// What an operator has switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TimerSwitches {
    /// Schedules are accepted.
    pub schedule: bool,
    /// Timers fire.
    pub fire: bool,
}

impl Default for TimerSwitches {
    fn default() -> Self {
        Self { schedule: true, fire: true }
    }
}

/// A tenant's grant and plan.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TenantQuota {
    /// Whether the tenant may schedule at all.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Most pending timers.
    #[serde(default)]
    pub max_timers: Option<u64>,
    /// Farthest instant; narrows the cell's, never widens it.
    #[serde(default)]
    pub max_timer_horizon_seconds: Option<u64>,
    /// Largest payload; narrows the cell's, never widens it.
    #[serde(default)]
    pub max_payload_bytes: Option<u64>,
    /// Calls that schedule, per second.
    #[serde(default)]
    pub max_schedules_per_second: Option<f64>,
    /// Calls at once.
    #[serde(default)]
    pub burst: Option<u32>,
}

fn yes() -> bool {
    true
}

/// Timers, their tenants and switches.
#[async_trait]
pub trait TimerStore: Send + Sync {
    /// Applies a call in one transaction, by one reading of the clock.
    async fn apply_timer_ops(&self, call: TimerCall) -> StoreResult<TimersApplied>;
    /// One timer, its payload as stored.
    async fn peek_timer(
        &self,
        tenant: &str,
        queue: &str,
        timer_key: &str,
    ) -> StoreResult<Option<PeekedTimer>>;
    /// Up to `limit` timers of a queue after a key, in byte order of their keys.
    async fn list_timers(
        &self,
        tenant: &str,
        queue: &str,
        after: Option<&str>,
        limit: u32,
    ) -> StoreResult<Vec<TimerRow>>;

    /// Takes timers that are due, oldest first, skipping those in other hands.
    async fn claim_due_timers(&self, limit: u32, lease_us: i64) -> StoreResult<TimerClaim>;
    /// Appends the frames and deletes the timers, in one transaction; a timer whose claim no longer
    /// holds is left alone.
    async fn fire_timers(&self, token: Uuid, ids: Vec<i64>) -> Result<TimersFired, FireFailed>;
    /// Ends claims on timers that could not be fired; answers how many became dead letters.
    async fn fail_timers(&self, token: Uuid, failures: Vec<TimerFailure>) -> StoreResult<u64>;
    /// When the next timer is due, as far as this process can tell; `None` where it cannot see one.
    async fn next_timer_due(&self) -> StoreResult<Option<UnixMicros>>;
    /// Called with the instant whenever a timer is put; see `timers::wake`. A process that sweeps asks
    /// for it; one that does not lets the sweepers of others know.
    fn on_timer_put(&self, wake: Arc<dyn Fn(UnixMicros) + Send + Sync>);

    /// Counts for the metrics.
    async fn timer_totals(&self) -> StoreResult<TimerTotals>;
    /// The operator's switches.
    async fn timer_switches(&self) -> StoreResult<TimerSwitches>;
    /// Sets them.
    async fn put_timer_switches(&self, switches: TimerSwitches) -> StoreResult<()>;

    /// Every tenant with a quota row, by name.
    async fn tenants(&self) -> StoreResult<Vec<(String, TenantQuota)>>;
    /// Makes or replaces a tenant's quota.
    async fn put_tenant(&self, name: &str, quota: TenantQuota) -> StoreResult<()>;
    /// Deletes a tenant's quota; `false` where there was none.
    async fn delete_tenant(&self, name: &str) -> StoreResult<bool>;
}

/// A timer that stands, as far as a write has to know it.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) id: i64,
    pub(crate) txn: String,
    pub(crate) claimed: bool,
}

/// What a write does to the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Insert,
    Replace(i64),
    Delete(i64),
    Nothing,
}

/// What a write amounts to, given the timer that stands under its key.
pub(crate) fn decide(
    write: &TimerWrite,
    standing: Option<&Standing>,
    now_us: UnixMicros,
) -> (TimerOutcome, Change) {
    let (queue, timer_key) = write.identity();
    let (queue, timer_key) = (queue.to_owned(), timer_key.to_owned());
    match (write, standing) {
        (_, Some(standing)) if standing.claimed => {
            (TimerOutcome::TooLate(TooLate { queue, timer_key }), Change::Nothing)
        }
        (TimerWrite::Put(put), standing) => {
            let placed = Placed {
                queue,
                timer_key,
                txn: put.put.txn.clone(),
                message_id: put.message_id.hyphenated().to_string(),
                deliver_at: Instant::from_micros(put.due_us(now_us)),
            };
            match standing {
                None => (TimerOutcome::Scheduled(placed), Change::Insert),
                Some(standing) => (TimerOutcome::Rescheduled(placed), Change::Replace(standing.id)),
            }
        }
        (TimerWrite::Cancel { .. }, Some(standing)) => {
            let cancelled = Cancelled { queue, timer_key, txn: standing.txn.clone() };
            (TimerOutcome::Cancelled(cancelled), Change::Delete(standing.id))
        }
        (TimerWrite::Cancel { txn, .. }, None) => {
            let absent = Absent { queue, timer_key, txn: txn.clone(), after_lost_answer: false };
            (TimerOutcome::Absent(absent), Change::Nothing)
        }
    }
}

/// What a call adds and removes, and what is metered: schedules and reschedules that stand
/// (contract/timers.md, "Metering").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) added: u64,
    pub(crate) removed: u64,
    pub(crate) metered: u64,
}

impl Tally {
    pub(crate) fn of(decided: &[(TimerOutcome, Change)]) -> Self {
        let mut tally = Self::default();
        for (outcome, change) in decided {
            match change {
                Change::Insert => tally.added += 1,
                Change::Delete(_) => tally.removed += 1,
                Change::Replace(_) | Change::Nothing => {}
            }
            if matches!(outcome.status(), TimerStatus::Scheduled | TimerStatus::Rescheduled) {
                tally.metered += 1;
            }
        }
        tally
    }

    /// Whether the call leaves too many: its own cancels free no room, and an upsert of a pending
    /// key needs none.
    pub(crate) fn exceeds(&self, held: u64, max_pending: Option<u64>) -> bool {
        self.added > 0 && max_pending.is_some_and(|max| held + self.added > max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cancel() -> TimerWrite {
        TimerWrite::Cancel { queue: "q".into(), timer_key: "k".into(), txn: Some("sent".into()) }
    }

    fn standing(claimed: bool) -> Standing {
        Standing { id: 7, txn: "stored".into(), claimed }
    }

    #[test]
    fn too_late_is_exactly_a_live_lease() {
        let (outcome, change) = decide(&cancel(), Some(&standing(true)), 0);
        assert_eq!((outcome.status(), change), (TimerStatus::TooLate, Change::Nothing));
        let (outcome, change) = decide(&cancel(), Some(&standing(false)), 0);
        assert_eq!((outcome.status(), change), (TimerStatus::Cancelled, Change::Delete(7)));
    }

    #[test]
    fn cancelled_carries_the_stored_txn_and_absent_the_sent_one() {
        let (outcome, _) = decide(&cancel(), Some(&standing(false)), 0);
        assert!(matches!(outcome, TimerOutcome::Cancelled(Cancelled { txn, .. }) if txn == "stored"));
        let (outcome, _) = decide(&cancel(), None, 0);
        assert!(
            matches!(outcome, TimerOutcome::Absent(Absent { txn, .. }) if txn.as_deref() == Some("sent"))
        );
    }

    #[test]
    fn a_quota_counts_added_rows_and_no_cancels() {
        let tally = Tally { added: 2, removed: 5, metered: 3 };
        assert!(!tally.exceeds(8, Some(10)));
        assert!(tally.exceeds(9, Some(10)));
        assert!(!tally.exceeds(u64::MAX - 2, None));
        assert!(!Tally { added: 0, removed: 0, metered: 1 }.exceeds(11, Some(10)));
    }

    #[test]
    fn a_packing_survives_the_store() {
        for bits in 0..8 {
            assert_eq!(Packing::from_bits(bits).bits(), bits);
        }
    }
}
