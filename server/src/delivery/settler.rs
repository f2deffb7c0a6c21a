//! Settles attempts together: while one batch is being committed, the next one gathers.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::state::AppState;
use crate::store::StoreError;
use crate::store::types::claim::{AttemptResponse, AttemptVerdict, Claimed, Settled, Settlement};

/// As many as one statement takes well.
const MAX_BATCH: usize = 500;
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Settler(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    settlements: Vec<(Settlement, oneshot::Sender<Settled>)>,
    led: bool,
}

impl Settler {
    /// Settles one attempt. While the store is away this waits, as long as the lease holds: the
    /// destination has answered, and a second delivery is what must be avoided.
    pub(super) async fn settle(
        &self,
        state: &AppState,
        message: &Claimed,
        response: AttemptResponse,
        verdict: AttemptVerdict,
    ) -> Settled {
        let settlement = Settlement { lease: message.lease, response, verdict };
        let mut pause = FIRST_PAUSE;
        loop {
            match self.settle_once(state, settlement.clone()).await {
                Some(settled) => return settled,
                None if state.clock.now_ms() >= message.lease_until => {
                    tracing::warn!(message = %message.id, "an attempt could not be settled before its lease passed");
                    return Settled::Stale;
                }
                None => tokio::time::sleep(pause).await,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn settle_once(&self, state: &AppState, settlement: Settlement) -> Option<Settled> {
        let (answer, answered) = oneshot::channel();
        let leads = {
            let mut waiting = self.lock();
            waiting.settlements.push((settlement, answer));
            !std::mem::replace(&mut waiting.led, true)
        };
        if leads {
            // A task of its own: whoever came first must not settle for the others without end.
            let (state, background) = (state.clone(), state.background.clone());
            background.spawn(async move { state.engine.settler.lead(&state).await });
        }
        // No answer: the store failed, and the task that led dropped the sender.
        answered.await.ok()
    }

    async fn lead(&self, state: &AppState) {
        let leading = Leading(self);
        loop {
            let batch: Vec<_> = {
                let mut waiting = self.lock();
                let count = waiting.settlements.len().min(MAX_BATCH);
                if count == 0 {
                    waiting.led = false;
                    // Given back: what the next one gathers is not this one's to drop.
                    std::mem::forget(leading);
                    return;
                }
                waiting.settlements.drain(..count).collect()
            };
            let (settlements, answers): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
            match state.store.settle(settlements).await {
                Ok(settled) => {
                    for (answer, settled) in answers.into_iter().zip(settled) {
                        let _ = answer.send(settled);
                    }
                }
                Err(error) => report(&error),
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the lead back, also where the task that led was ended in the middle.
struct Leading<'a>(&'a Settler);

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        waiting.led = false;
        // Those who wait find their senders gone and come again.
        waiting.settlements.clear();
    }
}

fn report(error: &StoreError) {
    if error.is_temporary() {
        tracing::warn!(%error, "attempts cannot be settled yet");
    } else {
        tracing::error!(%error, "attempts cannot be settled");
    }
}
