//! Timers at run time: the sweeper, and what the routes and it share.
//!
//! ```text
//! routes/timers → service::timers → store.apply_timer_ops ──(earlier?)──▶ wake
//!                                                                           │
//!            ┌──────────────────────── sweeper (own thread) ◀───────────────┘
//!            │  claim (token, lease) → fire (append + delete, one transaction)
//!            │        └─ failed: isolate the poison → backoff or dead letter
//!            └─ sleep until the next one is due
//! ```

pub mod failure;
pub mod faults;
mod fire;
pub mod metrics;
pub mod payload;
pub mod rates;
pub mod seal;
mod sweeper;
pub mod wake;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::state::AppState;
use crate::store::timers::{TenantQuota, TimerSwitches};

pub use faults::Faults;
pub use metrics::TimerMetrics;
pub use rates::Rates;
pub use seal::DataKeys;
pub use sweeper::sweep;
pub use wake::Wake;

/// What the timers' routes, their services and the sweeper share.
#[derive(Debug, Default)]
pub struct Timers {
    /// Keys of encryption at rest.
    pub keys: DataKeys,
    /// Wakes the sweeper.
    pub wake: Arc<Wake>,
    /// Counters.
    pub metrics: TimerMetrics,
    /// Calls per second.
    pub rates: Rates,
    /// Faults on purpose; only dev mode adds any.
    pub faults: Faults,
    known: RwLock<Known>,
    /// Held from reading the store to taking over what was read, so that an older reading never
    /// replaces a newer one.
    reading: tokio::sync::Mutex<()>,
}

/// What every call has to know, as last read from the store: see [`keep_known`].
#[derive(Debug, Default)]
struct Known {
    switches: TimerSwitches,
    tenants: HashMap<String, Arc<TenantQuota>>,
}

impl Timers {
    /// Timers under these keys.
    pub fn new(keys: DataKeys) -> Self {
        Self { keys, ..Self::default() }
    }

    /// The operator's switches.
    pub fn switches(&self) -> TimerSwitches {
        self.known.read().unwrap_or_else(PoisonError::into_inner).switches
    }

    /// A tenant's quota, where it has one.
    pub fn quota(&self, tenant: &str) -> Option<Arc<TenantQuota>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).tenants.get(tenant).cloned()
    }

    fn set_switches(&self, switches: TimerSwitches) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).switches = switches;
        self.wake.now();
    }

    fn set_tenants(&self, tenants: impl IntoIterator<Item = (String, TenantQuota)>) {
        let tenants = tenants.into_iter().map(|(name, quota)| (name, Arc::new(quota))).collect();
        self.known.write().unwrap_or_else(PoisonError::into_inner).tenants = tenants;
    }
}

/// How often what other processes have set is looked up.
const KNOWN_EVERY: Duration = Duration::from_secs(1);
/// How often frames beyond their queue's retention are deleted.
const TRIM_EVERY: Duration = Duration::from_mins(1);
const TRIM_ROWS: u32 = 1_000;

/// Reads switches and tenants from the store, and trims the log; runs until the server stops.
pub async fn keep_known(state: AppState) {
    let mut trimmed = tokio::time::Instant::now();
    loop {
        if let Err(error) = read_known(&state).await {
            tracing::warn!(%error, "switches and tenants could not be read; the ones known stay");
        }
        if trimmed.elapsed() >= TRIM_EVERY {
            trimmed = tokio::time::Instant::now();
            trim(&state).await;
        }
        tokio::select! {
            () = tokio::time::sleep(KNOWN_EVERY) => {}
            () = state.background.stop().cancelled() => return,
        }
    }
}

/// Reads switches and tenants once; before the first request, so that none is served by defaults.
///
/// # Errors
/// Where the store fails.
pub async fn read_known(state: &AppState) -> Result<(), crate::store::StoreError> {
    let _reading = state.timers.reading.lock().await;
    let switches = state.store.timer_switches().await?;
    let tenants = state.store.tenants().await?;
    if switches != state.timers.switches() {
        state.timers.set_switches(switches);
    }
    state.timers.set_tenants(tenants);
    Ok(())
}

async fn trim(state: &AppState) {
    loop {
        match state.store.trim_log(TRIM_ROWS).await {
            Ok(deleted) if deleted >= u64::from(TRIM_ROWS) && !state.background.stop().is_cancelled() => {}
            Ok(_) => return,
            Err(error) => {
                tracing::warn!(%error, "the log could not be trimmed; it is tried again in a minute");
                return;
            }
        }
    }
}
