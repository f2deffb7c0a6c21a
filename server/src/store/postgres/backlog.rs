//! How far claims have come in a queue that has more due than is claimed at once.
//!
//! The index of what is due keeps the entries of what was claimed until the next vacuum, and a claim that
//! begins at its start walks over all of them: hundreds of thousands, after a minute of load. So a queue that
//! is behind is read on from where its last claim ended. What came to lie before that (an attempt whose lease
//! passed, a commit that took its time) is found as soon as less is found than was asked for, and at the
//! latest when the queue is read from its start again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chronq::Name;

use crate::store::types::UnixMillis;

/// How long a queue is read on before it is read from its start again.
const READ_ON: Duration = Duration::from_secs(1);

/// Where the claims of each queue that is behind have arrived, in this process.
#[derive(Debug, Default)]
pub(super) struct Backlog(Mutex<HashMap<Name, Mark>>);

#[derive(Clone, Copy, Debug)]
struct Mark {
    reached: UnixMillis,
    read_whole_at: Instant,
}

impl Backlog {
    /// The due instant to read on from; `None` where the queue is to be read from its start.
    pub(super) fn resume(&self, queue: &Name, now: Instant) -> Option<UnixMillis> {
        let mark = self.lock().get(queue).copied()?;
        (now.duration_since(mark.read_whole_at) < READ_ON).then_some(mark.reached)
    }

    /// Notes a claim that found all it asked for: where it began, and the due instant of its last message.
    pub(super) fn behind(&self, queue: &Name, began: Option<UnixMillis>, reached: UnixMillis, now: Instant) {
        let mut marks = self.lock();
        match marks.get_mut(queue) {
            Some(mark) if began.is_some() => mark.reached = reached,
            _ => {
                marks.insert(queue.clone(), Mark { reached, read_whole_at: now });
            }
        }
    }

    /// Notes a claim that has emptied the queue.
    pub(super) fn caught_up(&self, queue: &Name) {
        self.lock().remove(queue);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Name, Mark>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_is_behind_is_read_on_for_a_second_and_then_from_its_start() {
        let (backlog, queue, start) = (Backlog::default(), Name::default_queue(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        assert_eq!(backlog.resume(&queue, start), None);
        backlog.behind(&queue, None, 700, start);
        assert_eq!(backlog.resume(&queue, after(500)), Some(700));
        backlog.behind(&queue, Some(700), 900, after(500));
        assert_eq!(backlog.resume(&queue, after(999)), Some(900));
        assert_eq!(backlog.resume(&queue, after(1_000)), None);
        backlog.behind(&queue, None, 800, after(1_000));
        assert_eq!(backlog.resume(&queue, after(1_999)), Some(800));
    }

    #[test]
    fn an_emptied_queue_is_read_from_its_start() {
        let (backlog, queue, start) = (Backlog::default(), Name::default_queue(), Instant::now());
        let other: Name = "other".parse().expect("name");
        backlog.behind(&queue, None, 700, start);
        backlog.behind(&other, None, 300, start);
        backlog.caught_up(&queue);
        assert_eq!(backlog.resume(&queue, start), None);
        assert_eq!(backlog.resume(&other, start), Some(300));
    }
}
