//! Faults on purpose, in dev mode only: hold a claimed timer before it fires, or make its fire fail.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::failure::FailureClass;
use crate::store::timers::ClaimedTimer;

/// What to do to timers of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The queue.
    pub queue: String,
    /// Only this timer.
    pub timer_key: Option<String>,
    /// The harm.
    pub harm: Harm,
}

/// The harm that a fault does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Harm {
    /// Holds each claimed timer that long before it fires.
    Hold(Duration),
    /// Makes the next fires fail.
    Fail {
        /// As what.
        class: FailureClass,
        /// How many.
        times: u32,
    },
}

/// The faults in force.
#[derive(Debug, Default)]
pub struct Faults(Mutex<Vec<Fault>>);

impl Faults {
    /// Adds one.
    pub fn add(&self, fault: Fault) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    /// Ends all of them.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The harm to one claimed timer; a failure is used up by it.
    pub(super) fn befall(&self, timer: &ClaimedTimer) -> Option<Harm> {
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |fault: &Fault| {
            fault.queue == timer.queue && fault.timer_key.as_ref().is_none_or(|key| *key == timer.timer_key)
        };
        let at = faults.iter().position(fits)?;
        let harm = faults[at].harm.clone();
        if let Harm::Fail { times, .. } = &mut faults[at].harm {
            *times = times.saturating_sub(1);
            if *times == 0 {
                faults.remove(at);
            }
        }
        Some(harm)
    }

    /// Whether there are none: the way of every server but one in dev mode.
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}
