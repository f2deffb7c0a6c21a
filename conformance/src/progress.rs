//! What is shown while a run goes on: failures as they come, and how far it is.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use crate::outcome::{Outcome, Verdict};

/// Lines that a run without a terminal writes, evenly spread.
const LINES: usize = 10;

/// How far a run is.
pub(crate) struct Progress {
    total: usize,
    shown: Shown,
    counts: Mutex<Counts>,
}

/// Where it is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// On one line, written over and over.
    Terminal,
    /// On a line now and then.
    Log,
    #[cfg(feature = "sabotage")]
    Nowhere,
}

#[derive(Default)]
struct Counts {
    done: usize,
    failed: usize,
}

impl Progress {
    /// Of so many cases and scenarios in all columns.
    pub(crate) fn of(total: usize) -> Self {
        let shown = if std::io::stderr().is_terminal() { Shown::Terminal } else { Shown::Log };
        Self { total, shown, counts: Mutex::default() }
    }

    /// Says nothing.
    #[cfg(feature = "sabotage")]
    pub(crate) fn silent() -> Self {
        Self { total: 0, shown: Shown::Nowhere, counts: Mutex::default() }
    }

    /// Another one is done.
    pub(crate) fn step(&self, outcome: &Outcome) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.done += 1;
        if let Verdict::Failed(_) = outcome.verdict {
            counts.failed += 1;
            self.say(&format!("failed: {} [{}]", outcome.id, outcome.column), "\n");
        }
        let line = format!("{} of {}, {} failed", counts.done, self.total, counts.failed);
        if self.shown == Shown::Terminal {
            self.say(&line, "");
        } else if is_due(counts.done, self.total) {
            self.say(&line, "\n");
        }
    }

    /// Leaves the terminal's line.
    pub(crate) fn end(&self) {
        if self.shown == Shown::Terminal {
            self.say("", "");
        }
    }

    /// On a terminal the line at hand is written over.
    fn say(&self, line: &str, end: &str) {
        let begin = match self.shown {
            Shown::Terminal => "\r\x1b[K",
            Shown::Log => "",
            #[cfg(feature = "sabotage")]
            Shown::Nowhere => return,
        };
        let mut stderr = std::io::stderr().lock();
        // Who does not want to be told is not told.
        let _ = write!(stderr, "{begin}{line}{end}").and_then(|()| stderr.flush());
    }
}

/// Whether `done` is the first to reach another part of the whole.
fn is_due(done: usize, total: usize) -> bool {
    let part = |done: usize| done * LINES / total.max(1);
    part(done) > part(done.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_writes_ten_lines_however_long_it_is() {
        for total in [10, 37, 4_000] {
            assert_eq!((1..=total).filter(|done| is_due(*done, total)).count(), LINES, "{total}");
        }
    }
}
