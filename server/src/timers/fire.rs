//! One claim's way into the log: faults on purpose, the fire, and who is to blame where it fails.

use tokio::time::Instant;
use uuid::Uuid;

use super::failure::{FailureClass, FireFailed, consequence};
use super::faults::Harm;
use crate::state::AppState;
use crate::store::timers::{ClaimedTimer, TimerClaim, TimerFailure};

/// Fires a claim. Timers that a fault holds are fired later, by a task of their own.
pub(super) async fn fire_claim(state: &AppState, claim: TimerClaim) {
    let token = claim.token;
    let timers =
        if state.timers.faults.is_empty() { claim.timers } else { suffer(state, token, claim.timers).await };
    fire(state, token, timers).await;
}

/// Lets the faults of dev mode befall the timers; gives back those that are unharmed.
async fn suffer(state: &AppState, token: Uuid, timers: Vec<ClaimedTimer>) -> Vec<ClaimedTimer> {
    let (mut unharmed, mut failed) = (Vec::new(), Vec::new());
    for timer in timers {
        match state.timers.faults.befall(&timer) {
            None => unharmed.push(timer),
            Some(Harm::Hold(hold)) => {
                let state = state.clone();
                state.clone().background.spawn(async move {
                    tokio::select! {
                        () = tokio::time::sleep(hold) => fire(&state, token, vec![timer]).await,
                        () = state.background.stop().cancelled() => {}
                    }
                });
            }
            Some(Harm::Fail { class, .. }) => {
                let error = format!("a {} failure, on purpose", class.as_str());
                failed.push((timer, FireFailed { class, error }));
            }
        }
    }
    settle(state, token, failed).await;
    unharmed
}

/// Fires all at once; where that fails, finds the ones to blame by halves, so that the rest is fired
/// without them. A passing trouble is nobody's fault, and not looked for.
async fn fire(state: &AppState, token: Uuid, timers: Vec<ClaimedTimer>) {
    let mut failed = Vec::new();
    let mut parts = vec![timers];
    while let Some(mut part) = parts.pop() {
        if part.is_empty() {
            continue;
        }
        let ids = part.iter().map(|timer| timer.id).collect();
        match state.store.fire_timers(token, ids).await {
            Ok(fired) => {
                state.timers.metrics.fired(&fired.lags_us);
                state.timers.metrics.stale(fired.stale);
            }
            Err(error) if error.class == FailureClass::Transient || part.len() == 1 => {
                failed.extend(part.into_iter().map(|timer| (timer, error.clone())));
            }
            Err(_) => {
                // The earlier half first, so that frames still enter the log in expiry order.
                let later = part.split_off(part.len() / 2);
                parts.push(later);
                parts.push(part);
            }
        }
    }
    settle(state, token, failed).await;
}

async fn settle(state: &AppState, token: Uuid, failed: Vec<(ClaimedTimer, FireFailed)>) {
    if failed.is_empty() {
        return;
    }
    let failures: Vec<TimerFailure> = failed
        .into_iter()
        .map(|(timer, failure)| {
            state.timers.metrics.failed(failure.class);
            tracing::warn!(
                queue = timer.queue,
                timer_key = timer.timer_key,
                tenant = timer.tenant,
                class = failure.class.as_str(),
                error = failure.error,
                attempts = timer.attempts,
                "a timer could not be fired"
            );
            let consequence = consequence(failure.class, timer.attempts, &state.config.timers);
            TimerFailure { id: timer.id, error: failure.error, consequence }
        })
        .collect();
    match state.store.fail_timers(token, failures.clone()).await {
        Ok(dead) => state.timers.metrics.dead(dead),
        Err(error) => {
            tracing::warn!(%error, "failed timers could not be put back yet");
            let state = state.clone();
            state.clone().background.spawn(async move { put_back_later(&state, token, failures).await });
        }
    }
}

/// Where the store is away, failed timers are put back once it has returned, so that they wait for
/// their backoff and not for their lease. After the lease they are anybody's.
async fn put_back_later(state: &AppState, token: Uuid, failures: Vec<TimerFailure>) {
    let lease_passes = Instant::now() + state.config.timers.lease;
    while Instant::now() < lease_passes {
        tokio::select! {
            () = tokio::time::sleep(state.config.timers.transient_backoff) => {}
            () = state.background.stop().cancelled() => return,
        }
        if let Ok(dead) = state.store.fail_timers(token, failures.clone()).await {
            state.timers.metrics.dead(dead);
            // It may sleep longer than their backoff: it could not see them while they were claimed.
            state.timers.wake.now();
            return;
        }
    }
}
