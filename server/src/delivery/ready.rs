//! Messages that are due as they are published go straight to their attempt, on places that were
//! reserved before the commit: they need not be read again.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use chronq::Name;

use super::slots::Reservation;
use super::{LEASE_MS, deliver};
use crate::state::{App, AppState};
use crate::store::front::ReadySink;
use crate::store::types::claim::Claimed;

/// The engine as publishing sees it. It does not keep the server alive.
pub(super) struct Ready(Weak<App>);

impl Ready {
    pub(super) fn of(state: &AppState) -> Arc<dyn ReadySink> {
        Arc::new(Self(state.downgrade()))
    }

    fn state(&self) -> Option<AppState> {
        AppState::upgrade(&self.0)
    }
}

impl ReadySink for Ready {
    fn reserve(&self, queue: &Name, wanted: usize) -> usize {
        self.state().map_or(0, |state| state.engine.slots.reserve_for_publish(queue, wanted).keep())
    }

    fn give_back(&self, queue: &Name, places: usize) {
        if let Some(state) = self.state() {
            drop(Reservation::held(&state.engine.slots, queue, places));
        }
    }

    fn hand_over(&self, claimed: Vec<Claimed>) {
        let Some(state) = self.state() else { return };
        let mut by_queue: HashMap<Name, Vec<Claimed>> = HashMap::new();
        for message in claimed {
            by_queue.entry(message.queue.clone()).or_default().push(message);
        }
        for (queue, messages) in by_queue {
            deliver(&state, Reservation::held(&state.engine.slots, &queue, messages.len()), messages);
        }
    }

    fn lease_ms(&self) -> u64 {
        LEASE_MS
    }
}
