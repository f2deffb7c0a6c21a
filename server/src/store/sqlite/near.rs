//! The messages that are due soon, exact and in memory, per queue.
//!
//! On disk a waiting message stands under a coarse bucket, which is cheap to write. Everything up to
//! the cursor (bucket, queue, sequence number: the order of the index) is here as well; the rest is loaded as its time comes
//! near. Entries are hints: the claim is conditional on the row, so a stale one only costs a look.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::store::types::UnixMillis;

/// An hour: with a million random instants over days, few index pages are hot.
pub(super) const BUCKET_MS: i64 = 3_600_000;
/// How long before its first instant a bucket is loaded.
const LEAD_MS: i64 = 600_000;

/// The bucket of an instant.
pub(super) fn bucket(due_at: UnixMillis) -> i64 {
    due_at.div_euclid(BUCKET_MS)
}

/// What is due soon.
#[derive(Debug)]
pub(super) struct Near {
    queues: HashMap<i64, BinaryHeap<Reverse<(UnixMillis, i64)>>>,
    cursor: Cursor,
}

/// A place in the index: bucket, queue, sequence number.
pub(super) type Cursor = (i64, i64, i64);

/// The place after everything in a bucket.
pub(super) const fn end_of(bucket: i64) -> Cursor {
    (bucket, i64::MAX, i64::MAX)
}

impl Near {
    pub(super) fn new() -> Self {
        Self { queues: HashMap::new(), cursor: end_of(i64::MIN) }
    }

    /// Up to where everything is here.
    pub(super) fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// The bucket through which everything should be here, when it is not.
    pub(super) fn load_through(&self, now: UnixMillis) -> Option<i64> {
        let wanted = bucket(now + LEAD_MS);
        (self.cursor < end_of(wanted)).then_some(wanted)
    }

    /// Takes over loaded rows: all up to the new cursor.
    pub(super) fn loaded(&mut self, rows: Vec<(i64, UnixMillis, i64)>, cursor: Cursor) {
        for (queue, due_at, seq) in rows {
            self.queues.entry(queue).or_default().push(Reverse((due_at, seq)));
        }
        self.cursor = cursor;
    }

    /// Notes a message that waits, unless a later load will find it.
    pub(super) fn wait(&mut self, queue: i64, due_at: UnixMillis, seq: i64) {
        if (bucket(due_at), queue, seq) <= self.cursor {
            self.queues.entry(queue).or_default().push(Reverse((due_at, seq)));
        }
    }

    /// Takes the first one that is due.
    pub(super) fn pop_due(&mut self, queue: i64, now: UnixMillis) -> Option<(UnixMillis, i64)> {
        let heap = self.queues.get_mut(&queue)?;
        let Reverse((due_at, _)) = heap.peek()?;
        if *due_at > now {
            return None;
        }
        let taken = heap.pop().map(|Reverse(entry)| entry);
        if heap.is_empty() {
            self.queues.remove(&queue);
        } else if heap.capacity() > 4_096 && heap.len() < heap.capacity() / 4 {
            heap.shrink_to(heap.len() * 2);
        }
        taken
    }

    /// Forgets a queue.
    pub(super) fn forget(&mut self, queue: i64) {
        self.queues.remove(&queue);
    }

    /// Each queue with the first instant at which something may be due.
    pub(super) fn first_due(&self) -> impl Iterator<Item = (i64, UnixMillis)> {
        self.queues
            .iter()
            .filter_map(|(queue, heap)| heap.peek().map(|Reverse((due_at, _))| (*queue, *due_at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn what_lies_beyond_the_cursor_is_left_to_a_later_load() {
        let mut near = Near::new();
        near.loaded(Vec::new(), (bucket(10 * HOUR), 1, 50));
        near.wait(1, 10 * HOUR, 50);
        near.wait(1, 10 * HOUR, 51);
        near.wait(1, 9 * HOUR, 99);
        assert_eq!(near.pop_due(1, 11 * HOUR), Some((9 * HOUR, 99)));
        assert_eq!(near.pop_due(1, 11 * HOUR), Some((10 * HOUR, 50)));
        assert_eq!(near.pop_due(1, 11 * HOUR), None);
    }

    #[test]
    fn the_first_due_comes_first_and_none_comes_early() {
        let mut near = Near::new();
        near.loaded(vec![(1, 300, 1), (1, 100, 2), (2, 50, 3)], end_of(0));
        assert_eq!(near.pop_due(1, 99), None);
        assert_eq!(near.pop_due(1, 100), Some((100, 2)));
        let mut first: Vec<_> = near.first_due().collect();
        first.sort_unstable();
        assert_eq!(first, [(1, 300), (2, 50)]);
    }

    #[test]
    fn a_bucket_is_loaded_before_its_time() {
        let mut near = Near::new();
        assert_eq!(near.load_through(5 * HOUR), Some(5));
        near.loaded(Vec::new(), end_of(5));
        assert_eq!(near.load_through(5 * HOUR), None);
        assert_eq!(near.load_through(5 * HOUR + 49 * 60_000), None);
        assert_eq!(near.load_through(5 * HOUR + 50 * 60_000), Some(6));
    }
}
