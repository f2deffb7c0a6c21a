//! The loop that makes runs: takes schedules that are due, queues their messages, moves them on.
//!
//! The run and the schedule's next instant are written in one transaction under a lease, so several
//! instances on one database make one run, and a process that dies in between makes none twice.

use std::time::{Duration, SystemTime};

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::Instant;

use super::plan::{self, Plan};
use crate::metrics::instance;
use crate::service::schedules::{self, recurrence_of};
use crate::state::AppState;
use crate::store::types::message::Enqueued;
use crate::store::types::queue::Wake;
use crate::store::types::schedule::{DueSchedule, ScheduleFire, ScheduleFired};
use crate::store::{StoreError, UnixMillis};

/// How long a claim on a schedule holds: far longer than a run takes to be queued.
const LEASE_MS: u64 = 30_000;
/// Schedules taken at once; a full batch is followed by the next at once.
const BATCH: usize = 100;
/// The longest sleep: what another process changed is seen by then although its hint was lost.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// A pause of this length between two looks was none of ours: the machine slept.
const BREAK: Duration = Duration::from_mins(1);
/// How long hints may gather before they are looked at.
const BETWEEN_HINTS: Duration = Duration::from_millis(100);
/// The pause after the store failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Runs until the server stops.
pub async fn run(state: AppState) {
    let stop = state.background.stop().clone();
    let mut watch = Watch::begin(&state);
    loop {
        let mut wakes = state.store.wakes();
        let mut moves = state.clock.moves();
        watch.look(&state);
        let next = match make_due_runs(&state, watch.alive_since).await {
            Ok(()) => state.store.next_schedule_due().await,
            Err(error) => Err(error),
        };
        let sleep = match next {
            Ok(next) => until(next, state.clock.now_ms()),
            Err(error) => {
                tracing::warn!(%error, "cannot look for due schedules");
                AFTER_FAILURE
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(sleep) => {}
            _ = moves.changed() => {}
            () = schedules_changed(&mut wakes) => {}
        }
    }
}

fn until(next: Option<UnixMillis>, now: UnixMillis) -> Duration {
    let wait =
        next.map_or(LONGEST_SLEEP, |next| Duration::from_millis(u64::try_from(next - now).unwrap_or(0)));
    wait.min(LONGEST_SLEEP)
}

/// Returns at a hint that schedules changed. Hints about messages come by the thousand: they are let
/// pass in heaps, not one by one.
async fn schedules_changed(wakes: &mut broadcast::Receiver<Wake>) {
    loop {
        let mut hint = wakes.recv().await.map_err(|error| match error {
            RecvError::Lagged(missed) => TryRecvError::Lagged(missed),
            RecvError::Closed => TryRecvError::Closed,
        });
        loop {
            match hint {
                Ok(Wake::SchedulesChanged) | Err(TryRecvError::Lagged(_)) => return,
                Ok(Wake::Due { .. } | Wake::QueuesChanged) => hint = wakes.try_recv(),
                Err(TryRecvError::Empty) => break,
                // The store is closing; so are we, and until then the longest sleep paces us.
                Err(TryRecvError::Closed) => std::future::pending().await,
            }
        }
        tokio::time::sleep(BETWEEN_HINTS).await;
    }
}

/// Since when this process has looked without a break.
struct Watch {
    alive_since: UnixMillis,
    last_look: SystemTime,
}

impl Watch {
    fn begin(state: &AppState) -> Self {
        Self { alive_since: state.clock.now_ms(), last_look: SystemTime::now() }
    }

    /// The machine's clock tells a break, not the server's: that one can be moved by hand, and then
    /// nothing was missed.
    fn look(&mut self, state: &AppState) {
        let now = SystemTime::now();
        if now.duration_since(self.last_look).is_ok_and(|pause| pause > BREAK) {
            self.alive_since = state.clock.now_ms();
        }
        self.last_look = now;
    }
}

async fn make_due_runs(state: &AppState, alive_since: UnixMillis) -> Result<(), StoreError> {
    loop {
        let due = state.store.claim_due_schedules(BATCH, LEASE_MS).await?;
        let full = due.len() == BATCH;
        for schedule in due {
            make_run(state, schedule, alive_since).await?;
        }
        if !full || state.background.stop().is_cancelled() {
            return Ok(());
        }
    }
}

async fn make_run(state: &AppState, due: DueSchedule, alive_since: UnixMillis) -> Result<(), StoreError> {
    let DueSchedule { schedule, due_at, lease } = due;
    let name = schedule.spec.name.clone();
    let plan = match recurrence_of(&schedule) {
        Ok(recurrence) => {
            plan::plan(&recurrence, schedule.spec.missed, due_at, state.clock.now_ms(), alive_since)
        }
        Err(error) => {
            // Checked at the put: a newer version reads it otherwise. Stopping is better than looping.
            tracing::error!(schedule = %name, %error, "the schedule's expression can no longer be read; it is stopped");
            Plan { runs: false, next_run: None }
        }
    };
    let run = plan.runs.then(|| schedules::run_of(&schedule));
    match fire(state, ScheduleFire { lease, run, next_run: plan.next_run }).await? {
        ScheduleFired::Ran(Enqueued::Queued { id, .. } | Enqueued::Duplicate { id, .. }) => {
            tracing::debug!(schedule = %name, message = %id, "run queued");
            instance::schedule_run(instance::ScheduleOutcome::Queued);
        }
        ScheduleFired::Ran(refused @ (Enqueued::QueueDisabled | Enqueued::UnknownQueue)) => {
            let queue = schedule.queue();
            tracing::warn!(schedule = %name, %queue, ?refused, "the queue refused the run");
            instance::schedule_run(instance::ScheduleOutcome::Refused);
        }
        ScheduleFired::Skipped => {
            tracing::info!(schedule = %name, "missed runs are skipped");
            instance::schedule_run(instance::ScheduleOutcome::Missed);
        }
        ScheduleFired::Stale => {}
    }
    Ok(())
}

/// While the store is away this waits, as long as the lease holds: else the run would come only after
/// the lease.
async fn fire(state: &AppState, fire: ScheduleFire) -> Result<ScheduleFired, StoreError> {
    let lease_passes = Instant::now() + Duration::from_millis(LEASE_MS);
    loop {
        match state.store.fire_schedule(fire.clone()).await {
            Err(error) if error.is_temporary() && Instant::now() < lease_passes => {
                tracing::warn!(%error, "a run cannot be queued yet");
            }
            fired => return fired,
        }
        tokio::select! {
            () = tokio::time::sleep(AFTER_FAILURE) => {}
            () = state.background.stop().cancelled() => {
                return Err(StoreError::Unavailable("the server is stopping".to_owned()));
            }
        }
    }
}
