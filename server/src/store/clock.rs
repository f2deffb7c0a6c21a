//! The one clock of a store: the database's, moved by tests and dev mode.
//!
//! No verb takes a time: each reads this clock once, so everything in a transaction has one instant.
//! SQLite lives in this process, so its clock is this process's. Postgres has its own; the store
//! measures how far it is from ours and keeps that here, so that several processes on one database
//! agree and no statement has to ask for the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;

use super::types::UnixMillis;

/// A shared handle; clones move together.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<Offsets>);

#[derive(Debug, Default)]
struct Offsets {
    database_micros: AtomicI64,
    moved_micros: AtomicI64,
    moves: watch::Sender<()>,
}

impl Clock {
    /// The clock of this machine.
    pub fn new() -> Self {
        Self::default()
    }

    /// Now, in unix milliseconds.
    pub fn now_ms(&self) -> UnixMillis {
        self.now_micros().div_euclid(1_000)
    }

    /// Now, in unix microseconds.
    pub fn now_micros(&self) -> i64 {
        self.0.database_micros.load(Ordering::Relaxed)
            + self.0.moved_micros.load(Ordering::Relaxed)
            + machine_micros()
    }

    /// Moves the clock forward and wakes those who sleep by it: for tests and dev mode.
    pub fn advance(&self, by: Duration) {
        let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX / 4);
        self.0.moved_micros.fetch_add(micros, Ordering::Relaxed);
        self.0.moves.send_replace(());
    }

    /// Signals each move. Subscribe before you look at the time.
    pub fn moves(&self) -> watch::Receiver<()> {
        self.0.moves.subscribe()
    }

    /// Returns once this clock shows `instant` or later.
    pub async fn sleep_until(&self, instant: UnixMillis) {
        let mut moves = self.moves();
        loop {
            let left = instant.saturating_sub(self.now_ms());
            let Ok(left @ 1..) = u64::try_from(left) else { return };
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(left)) => {}
                _ = moves.changed() => {}
            }
        }
    }

    /// Takes over what the database's clock showed when ours showed `machine_micros`.
    pub(crate) fn follow_database(&self, database_micros: i64, machine_micros: i64) {
        self.0.database_micros.store(database_micros - machine_micros, Ordering::Relaxed);
    }
}

/// The machine's clock, in unix microseconds.
pub(crate) fn machine_micros() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_move_together() {
        let clock = Clock::new();
        let before = clock.now_ms();
        clock.clone().advance(Duration::from_hours(7 * 24));
        assert!(clock.now_ms() - before >= 7 * 86_400_000);
    }

    #[tokio::test]
    async fn a_sleeper_wakes_when_the_clock_is_moved_past_its_instant() {
        let clock = Clock::new();
        let week = Duration::from_hours(7 * 24);
        let instant = clock.now_ms() + 7 * 86_400_000;
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep_until(instant).await }
        });
        clock.advance(week);
        sleeper.await.expect("woken");
        assert!(clock.now_ms() >= instant);
    }

    #[test]
    fn the_database_s_clock_wins() {
        let clock = Clock::new();
        let ours = machine_micros();
        clock.follow_database(ours - 3_600_000_000, ours);
        let behind = machine_micros() - clock.now_micros();
        assert!((3_600_000_000 - 1_000_000..=3_600_000_000).contains(&behind), "{behind}");
    }
}
