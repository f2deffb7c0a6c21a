//! What SQLite's file does not index: the exact instants of the timers that are due soon.
//!
//! The file holds a coarse bucket per timer. Buckets that begin soon are read into a heap here, 16
//! bytes a timer; later ones stay on disk. An entry is a hint: a claim looks at the row, and takes it
//! only if the row says so too.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::claims::Claims;
use crate::store::timers::UnixMicros;

const SECOND_US: i64 = 1_000_000;

/// How far ahead buckets are read.
pub(super) const LOOKAHEAD_US: i64 = 120 * SECOND_US;

/// Bucket of an instant, as the second it begins with. The farther the instant, the coarser the
/// bucket, so that inserts of one period dirty few pages of the index.
pub(super) fn bucket(next_us: UnixMicros, now_us: UnixMicros) -> i64 {
    let second = next_us.div_euclid(SECOND_US);
    let width = match next_us.saturating_sub(now_us) / SECOND_US {
        ..3_600 => 60,
        3_600..86_400 => 3_600,
        _ => 86_400,
    };
    second - second.rem_euclid(width)
}

/// The timers that are due soon, in the order of their instants.
#[derive(Debug, Default)]
pub(super) struct DueSoon {
    heap: BinaryHeap<Reverse<(UnixMicros, i64)>>,
    /// Every bucket that begins at or before this second is here, or on its way.
    loaded_to: Option<i64>,
    /// Those that left the heap, and come back where whoever claimed them does not end the claim.
    pub(super) claims: Claims,
}

impl DueSoon {
    /// A timer was put; far ones are left to the file.
    pub(super) fn put(&mut self, id: i64, next_us: UnixMicros, bucket: i64) {
        if self.loaded_to.is_some_and(|loaded| bucket <= loaded) {
            self.heap.push(Reverse((next_us, id)));
        }
    }

    /// Adds an entry, near or far.
    pub(super) fn add(&mut self, id: i64, next_us: UnixMicros) {
        self.heap.push(Reverse((next_us, id)));
    }

    /// The buckets to read next, as (after, up to), where it is time to; from then on [`Self::put`]
    /// takes what they gain. The caller reads them after every write under way has ended.
    pub(super) fn begin_load(&mut self, now_us: UnixMicros) -> Option<(i64, i64)> {
        let wanted = (now_us + LOOKAHEAD_US).div_euclid(SECOND_US);
        let enough = (now_us + LOOKAHEAD_US / 2).div_euclid(SECOND_US);
        match self.loaded_to {
            Some(loaded) if loaded >= enough => None,
            loaded => {
                self.loaded_to = Some(wanted);
                Some((loaded.unwrap_or(i64::MIN), wanted))
            }
        }
    }

    /// A load that failed is tried again.
    pub(super) fn undo_load(&mut self, after: i64) {
        self.loaded_to = (after != i64::MIN).then_some(after);
    }

    /// The earliest instant here, or when the next buckets have to be read.
    pub(super) fn next(&self) -> Option<UnixMicros> {
        let load = self.loaded_to.map(|loaded| loaded * SECOND_US - LOOKAHEAD_US / 2);
        let due = self.heap.peek().map(|Reverse((next_us, _))| *next_us);
        [load, due, self.claims.first_passes()].into_iter().flatten().min()
    }

    /// Whether an entry is due, or the lease of a claim has passed.
    pub(super) fn any_due(&self, now_us: UnixMicros) -> bool {
        let lost = self.claims.first_passes().is_some_and(|passes_us| passes_us <= now_us);
        lost || self.heap.peek().is_some_and(|Reverse((next_us, _))| *next_us <= now_us)
    }

    /// Up to `limit` entries that are due, oldest first.
    pub(super) fn take(&mut self, now_us: UnixMicros, limit: usize) -> Vec<(UnixMicros, i64)> {
        self.heap.extend(self.claims.take_passed(now_us).into_iter().map(Reverse));
        let mut taken = Vec::new();
        while taken.len() < limit {
            match self.heap.peek() {
                Some(Reverse(entry)) if entry.0 <= now_us => taken.push(*entry),
                _ => break,
            }
            self.heap.pop();
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::super::claims::Held;
    use super::*;

    const HOUR_US: i64 = 3_600 * SECOND_US;

    #[test]
    fn buckets_grow_with_the_distance() {
        let now = 1_795_996_845 * SECOND_US;
        assert_eq!(bucket(now, now), 1_795_996_800);
        assert_eq!(bucket(now + 59 * 60 * SECOND_US, now), 1_796_000_340);
        assert_eq!(bucket(now + 2 * HOUR_US, now), 1_796_004_000);
        assert_eq!(bucket(now + 48 * HOUR_US, now), 1_796_169_600);
        assert_eq!(bucket(0, now), 0);
    }

    #[test]
    fn a_far_timer_is_left_to_the_file_until_its_bucket_is_read() {
        let now = 1_000_000 * SECOND_US;
        let mut due = DueSoon::default();
        assert_eq!(due.begin_load(now), Some((i64::MIN, 1_000_120)));
        assert_eq!(due.begin_load(now), None);
        due.put(1, now + HOUR_US, bucket(now + HOUR_US, now));
        due.put(2, now + SECOND_US, bucket(now + SECOND_US, now));
        assert_eq!(due.next(), Some(now + SECOND_US));
        assert_eq!(due.take(now + 2 * SECOND_US, 10), [(now + SECOND_US, 2)]);
        assert_eq!(due.begin_load(now + 61 * SECOND_US), Some((1_000_120, 1_000_181)));
    }

    #[test]
    fn a_claim_that_nobody_ended_comes_back_when_its_lease_has_passed() {
        let (mut due, token) = (DueSoon::default(), Uuid::from_u128(1));
        due.add(5, 10);
        due.add(6, 11);
        assert_eq!(due.take(20, 10), [(10, 5), (11, 6)]);
        let held = |id| {
            let (partition, tenant) = ("Default".to_owned(), "default".to_owned());
            Held { id, due_us: 10, queue_id: 1, partition, tenant }
        };
        due.claims.put(token, 100, [held(5), held(6)]);
        due.claims.end(token, &[5]);
        assert_eq!(due.take(99, 10), []);
        assert_eq!(due.next(), Some(100));
        assert_eq!(due.take(100, 10), [(100, 6)]);
    }
}
