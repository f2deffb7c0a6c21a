//! How a timer that is due before the sweeper's next look wakes it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use crate::store::timers::UnixMicros;

/// The sweeper's alarm clock. A thread that parks wakes within 0.2 ms, an async sleep within 2.
#[derive(Debug)]
pub struct Wake {
    sleeper: Mutex<Option<Thread>>,
    /// Until when the sweeper means to sleep; while it looks, the end of time, so that nothing that
    /// is put meanwhile is missed.
    until_us: AtomicI64,
}

impl Default for Wake {
    fn default() -> Self {
        Self { sleeper: Mutex::default(), until_us: AtomicI64::new(i64::MAX) }
    }
}

impl Wake {
    /// A timer was put.
    pub fn timer_put(&self, due_us: UnixMicros) {
        if due_us < self.until_us.load(Ordering::SeqCst) {
            self.now();
        }
    }

    /// Wakes the sweeper: the clock was moved, a switch was set, the server stops.
    pub fn now(&self) {
        if let Some(sleeper) = &*self.sleeper.lock().unwrap_or_else(PoisonError::into_inner) {
            sleeper.unpark();
        }
    }

    /// The calling thread is the one to wake, and is about to look.
    pub(super) fn subscribe(&self) {
        *self.sleeper.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::current());
        self.until_us.store(i64::MAX, Ordering::SeqCst);
    }

    /// Sleeps until `until_us` of a clock that shows `now_us`; a wake since [`Self::subscribe`] ends it
    /// at once.
    pub(super) fn sleep(&self, now_us: UnixMicros, until_us: UnixMicros) {
        self.until_us.store(until_us, Ordering::SeqCst);
        let pause = u64::try_from(until_us.saturating_sub(now_us)).unwrap_or(0);
        std::thread::park_timeout(Duration::from_micros(pause));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_put_between_the_look_and_the_sleep_is_not_missed() {
        let wake = Wake::default();
        wake.subscribe();
        wake.timer_put(50);
        let began = Instant::now();
        wake.sleep(0, 60_000_000);
        assert!(began.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn an_earlier_timer_wakes_and_a_later_one_does_not() {
        let wake = Arc::new(Wake::default());
        let (slept, woken) = std::sync::mpsc::channel();
        let sleeper = std::thread::spawn({
            let wake = Arc::clone(&wake);
            move || {
                wake.subscribe();
                slept.send(()).expect("heard");
                wake.sleep(0, 60_000_000);
            }
        });
        woken.recv().expect("about to sleep");
        // Until the sweeper has said how long it sleeps, anything wakes it; then only what is earlier.
        while wake.until_us.load(Ordering::SeqCst) == i64::MAX {
            std::thread::yield_now();
        }
        wake.timer_put(60_000_000);
        assert!(!sleeper.is_finished());
        wake.timer_put(59_999_999);
        sleeper.join().expect("woken");
    }
}
