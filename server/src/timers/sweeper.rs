//! The sweeper: takes timers that are due and fires them, on a thread of its own.

use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::fire::fire_claim;
use crate::state::AppState;
use crate::store::StoreError;

/// Runs the sweeper until the server stops. It has its own thread because a thread that parks wakes
/// ten times more punctually than an async sleep.
pub async fn sweep(state: AppState) {
    let handle = Handle::current();
    let (ended, end) = oneshot::channel::<()>();
    let stop = state.background.stop().clone();
    let wake = std::sync::Arc::clone(&state.timers.wake);
    let thread = std::thread::Builder::new().name("sweeper".to_owned()).spawn(move || {
        run(&state, &handle);
        drop(ended);
    });
    if let Err(error) = thread {
        tracing::error!(%error, "the sweeper's thread could not be started");
        return;
    }
    tokio::pin!(end);
    tokio::select! {
        // Dropped at its end, or by its panic: either way the supervisor looks.
        _ = &mut end => return,
        () = stop.cancelled() => wake.now(),
    }
    let _ = end.await;
}

fn run(state: &AppState, handle: &Handle) {
    let config = &state.config.timers;
    let wake = &state.timers.wake;
    while !state.background.stop().is_cancelled() {
        wake.subscribe();
        let next_us = if state.timers.switches().fire {
            handle.block_on(cycle(state)).unwrap_or_else(|error| {
                tracing::warn!(%error, "a sweep failed; the timers stay");
                Some(state.clock.now_micros().saturating_add(micros(config.transient_backoff)))
            })
        } else {
            None
        };
        let rested = std::time::Instant::now();
        let now_us = state.clock.now_micros();
        let after = |pause: Duration| now_us.saturating_add(micros(pause));
        let until_us = next_us.unwrap_or(i64::MAX).clamp(after(config.min_sleep), after(config.max_sleep));
        if state.background.stop().is_cancelled() {
            return;
        }
        wake.sleep(now_us, until_us);
        // Woken early or not, the shortest pause is kept: what is put meanwhile is claimed together.
        std::thread::sleep(config.min_sleep.saturating_sub(rested.elapsed()));
    }
}

/// Fires everything that is due; answers when the next timer is.
async fn cycle(state: &AppState) -> Result<Option<i64>, StoreError> {
    let config = &state.config.timers;
    let lease_us = micros(config.lease);
    let mut claim = state.store.claim_due_timers(config.claim_batch, lease_us).await?;
    // Claiming goes on while batches are full: a backlog drains without pauses, oldest first. The next
    // batch is claimed while this one is fired; they are fired one after the other.
    while claim.full && !state.background.stop().is_cancelled() && state.timers.switches().fire {
        let next = state.store.claim_due_timers(config.claim_batch, lease_us);
        let ((), next) = tokio::join!(fire_claim(state, claim), next);
        claim = next?;
    }
    fire_claim(state, claim).await;
    state.store.next_timer_due().await
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
