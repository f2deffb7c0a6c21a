//! Delivers messages: claims what is due, makes the attempt, decides what follows, settles.
//!
//! Nothing is held open during an attempt: the claim is a lease, and a settlement is conditional on
//! it. So a process that dies loses its leases, and the attempts are made again (at least once).

mod attempt;
mod callback;
mod decide;
mod engine;
mod ready;
mod rescuer;
mod settler;
mod slots;

use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

use crate::metrics::instance::{self, AttemptOutcome};
use crate::state::AppState;
use crate::store::front::{Publisher, Settler};
use crate::store::types::claim::{AttemptVerdict, Claimed};
use ready::Ready;
use slots::{Reservation, Slot, Slots};

/// How long a claim holds beyond its attempt's own bound: the time to settle in, milliseconds.
pub const LEASE_MS: u64 = 15_000;

/// What the engine's loops and the publishing routes share.
#[derive(Debug, Default)]
pub struct Engine {
    slots: Slots,
    publisher: OnceLock<Publisher>,
    settler: OnceLock<Settler>,
    callbacks: callback::Callbacks,
    unsettled: watch::Sender<usize>,
}

impl Engine {
    /// Commits publishes together. What is due at once and has a place is delivered without being read
    /// again; none has while its queue is behind: older messages go first.
    pub(crate) fn publisher(&self, state: &AppState) -> &Publisher {
        self.publisher.get_or_init(|| Publisher::start(Arc::clone(&state.store), Some(Ready::of(state))))
    }

    /// Commits settlements together.
    fn settler(&self, state: &AppState) -> &Settler {
        self.settler.get_or_init(|| Settler::start(Arc::clone(&state.store)))
    }

    /// Deliveries in flight or reserved.
    pub fn in_flight(&self) -> usize {
        self.slots.used()
    }

    /// Returns once no claimed message waits for its settlement.
    pub async fn quiet(&self) {
        // The sender lives as long as the engine.
        let _ = self.unsettled.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// Starts the loops.
pub(crate) fn start(state: &AppState) {
    let background = &state.background;
    background.supervise("delivery engine", {
        let state = state.clone();
        move || engine::run(state.clone())
    });
    background.supervise("rescuer", {
        let state = state.clone();
        move || rescuer::run(state.clone())
    });
}

/// Makes the attempts of claimed messages, each in its reserved place; what was reserved and not
/// needed is given back.
fn deliver(state: &AppState, mut places: Reservation, claimed: Vec<Claimed>) {
    for message in claimed {
        // A store that hands over more than was reserved would be wrong, but the message must not wait
        // for its lease to pass.
        let slot = places.take().unwrap_or_else(|| state.engine.slots.force(&message.queue));
        state.background.spawn(deliver_one(state.clone(), slot, message));
    }
}

/// Counts a claimed message until it is settled, whatever becomes of its task.
struct Unsettled<'a>(&'a Engine);

impl<'a> Unsettled<'a> {
    fn count(engine: &'a Engine) -> Self {
        engine.unsettled.send_modify(|count| *count += 1);
        Self(engine)
    }
}

impl Drop for Unsettled<'_> {
    fn drop(&mut self) {
        self.0.unsettled.send_modify(|count| *count -= 1);
    }
}

async fn deliver_one(state: AppState, slot: Slot, message: Claimed) {
    let _unsettled = Unsettled::count(&state.engine);
    if state.clock.now_ms() >= message.lease.until {
        // Another process may have it by now.
        return;
    }
    let attempt = attempt::make(&state, &message).await;
    // The destination is free again: the next message need not wait for the commit.
    drop(slot);
    let verdict = decide::decide(&message, &attempt, decide::wall_ms(), decide::jitter());
    instance::attempt(outcome(verdict), attempt.duration);
    let response = Arc::new(attempt.kept());
    let settled = settler::settle(&state, &message, Arc::clone(&response), verdict).await;
    callback::after(&state, &message, &response, verdict, settled);
}

fn outcome(verdict: AttemptVerdict) -> AttemptOutcome {
    match verdict {
        AttemptVerdict::Completed => AttemptOutcome::Completed,
        AttemptVerdict::Retry { .. } => AttemptOutcome::Retry,
        AttemptVerdict::Failed => AttemptOutcome::Failed,
    }
}
