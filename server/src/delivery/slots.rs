//! How many deliveries each queue makes at once, in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use chronq::Name;
use chronq::contract::limits;
use tokio::sync::Notify;

/// The places of all queues. A change of a queue's concurrency applies to the next reservation.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    queues: HashMap<Name, Places>,
    /// Nothing is given any more: the server stops.
    closed: bool,
}

#[derive(Debug)]
struct Places {
    limit: usize,
    used: usize,
    /// Older messages wait in the store: publishes leave the places to them.
    backlog: bool,
}

impl Default for Places {
    fn default() -> Self {
        Self { limit: limits::DEFAULT_CONCURRENCY as usize, used: 0, backlog: false }
    }
}

impl Places {
    fn free(&self) -> usize {
        self.limit.saturating_sub(self.used)
    }
}

impl Slots {
    /// Takes over the queues as they are now.
    pub(super) fn set_limits(&self, limits: impl IntoIterator<Item = (Name, usize)>) {
        let mut grown = false;
        {
            let mut state = self.lock();
            for (queue, limit) in limits {
                let known = state.queues.contains_key(&queue);
                let places = state.queues.entry(queue).or_default();
                grown |= !known || limit > places.limit;
                places.limit = limit;
            }
        }
        if grown {
            self.0.freed.notify_one();
        }
    }

    /// Places for a claim. Where there is a backlog it takes all that are free; else half of them, so that
    /// what is published meanwhile finds a place and need not be claimed as well. Where none is free there
    /// is a backlog from now on.
    pub(super) fn reserve_for_claim(&self, queue: &Name) -> Reservation {
        self.reserve(queue, |places| {
            let free = places.free();
            places.backlog |= free == 0;
            if places.backlog { free } else { free.div_ceil(2) }
        })
    }

    /// Places for messages that are just being published.
    pub(super) fn reserve_for_publish(&self, queue: &Name, wanted: usize) -> Reservation {
        self.reserve(queue, |places| if places.backlog { 0 } else { places.free().min(wanted) })
    }

    fn reserve(&self, queue: &Name, count: impl FnOnce(&mut Places) -> usize) -> Reservation {
        let mut state = self.lock();
        let closed = state.closed;
        let count = match state.queues.get_mut(queue) {
            Some(places) if !closed => {
                let count = count(places);
                places.used += count;
                count
            }
            Some(_) | None => 0,
        };
        drop(state);
        Reservation { slots: self.clone(), queue: queue.clone(), count }
    }

    /// A place beyond the limit.
    pub(super) fn force(&self, queue: &Name) -> Slot {
        self.lock().queues.entry(queue.clone()).or_default().used += 1;
        Slot { slots: self.clone(), queue: queue.clone() }
    }

    /// Notes that a claim found as many messages as it asked for: there may be more.
    pub(super) fn behind(&self, queue: &Name) {
        if let Some(places) = self.lock().queues.get_mut(queue) {
            places.backlog = true;
        }
    }

    /// Notes that a claim has emptied the queue; `more` says that something came since. Where several are
    /// delivered at once that little is claimed beside what is published; a queue that delivers one at a
    /// time keeps its order.
    pub(super) fn caught_up(&self, queue: &Name, more: bool) {
        if let Some(places) = self.lock().queues.get_mut(queue) {
            places.backlog = more && places.limit == 1;
        }
    }

    /// Signals that a place has become free. One signal is kept for a waiter to come.
    pub(super) async fn freed(&self) {
        self.0.freed.notified().await;
    }

    /// Gives nothing from now on.
    pub(super) fn close(&self) {
        self.lock().closed = true;
    }

    pub(super) fn used(&self) -> usize {
        self.lock().queues.values().map(|places| places.used).sum()
    }

    fn give_back(&self, queue: &Name, count: usize) {
        let wanted = {
            let mut state = self.lock();
            state.queues.get_mut(queue).is_some_and(|places| {
                places.used = places.used.saturating_sub(count);
                places.backlog
            })
        };
        if wanted {
            self.0.freed.notify_one();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Places that are reserved and not yet used; given back when dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    slots: Slots,
    queue: Name,
    count: usize,
}

impl Reservation {
    /// The queue they are of.
    pub(super) fn queue(&self) -> &Name {
        &self.queue
    }

    /// How many.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Places that are taken already, by [`Self::keep`].
    pub(super) fn held(slots: &Slots, queue: &Name, count: usize) -> Self {
        Self { slots: slots.clone(), queue: queue.clone(), count }
    }

    /// Keeps the places taken beyond this value's end; answers how many they are.
    pub(super) fn keep(mut self) -> usize {
        std::mem::take(&mut self.count)
    }

    /// One of them.
    pub(super) fn take(&mut self) -> Option<Slot> {
        self.count = self.count.checked_sub(1)?;
        Some(Slot { slots: self.slots.clone(), queue: self.queue.clone() })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.count > 0 {
            self.slots.give_back(&self.queue, self.count);
        }
    }
}

/// One delivery's place; free again when dropped.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Slots,
    queue: Name,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.give_back(&self.queue, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(limit: usize) -> (Slots, Name) {
        let (slots, queue) = (Slots::default(), Name::default_queue());
        slots.set_limits([(queue.clone(), limit)]);
        (slots, queue)
    }

    #[test]
    fn a_queue_gives_as_many_places_as_its_concurrency() {
        let (slots, queue) = slots(3);
        let two = slots.reserve_for_publish(&queue, 2);
        let rest = slots.reserve_for_claim(&queue);
        assert_eq!((two.count(), rest.count()), (2, 1));
        drop(two);
        assert_eq!(slots.reserve_for_publish(&queue, 5).count(), 2);
        assert_eq!(slots.used(), 1);
    }

    #[test]
    fn a_change_of_concurrency_applies_at_once() {
        let (slots, queue) = slots(2);
        let mut held = slots.reserve_for_claim(&queue);
        let first = held.take().expect("place");
        drop(held);
        slots.set_limits([(queue.clone(), 1)]);
        assert_eq!(slots.reserve_for_claim(&queue).count(), 0);
        drop(first);
        assert_eq!(slots.reserve_for_claim(&queue).count(), 1);
        slots.set_limits([(queue.clone(), 5)]);
        assert_eq!(slots.reserve_for_claim(&queue).count(), 5);
    }

    #[test]
    fn a_publish_does_not_overtake_what_waits() {
        let (slots, queue) = slots(2);
        slots.behind(&queue);
        assert_eq!(slots.reserve_for_publish(&queue, 1).count(), 0);
        assert_eq!(slots.reserve_for_claim(&queue).count(), 2);
    }

    #[test]
    fn a_claim_leaves_half_of_the_places_to_publishes_until_it_falls_behind() {
        let (slots, queue) = slots(5);
        let claim = slots.reserve_for_claim(&queue);
        assert_eq!(claim.count(), 3);
        let published = slots.reserve_for_publish(&queue, 9);
        assert_eq!(published.count(), 2);
        assert_eq!(slots.reserve_for_claim(&queue).count(), 0);
        drop(claim);
        assert_eq!(slots.reserve_for_publish(&queue, 1).count(), 0);
        assert_eq!(slots.reserve_for_claim(&queue).count(), 3);
        slots.caught_up(&queue, true);
        assert_eq!(slots.reserve_for_publish(&queue, 1).count(), 1);
    }

    #[test]
    fn a_queue_that_delivers_one_at_a_time_keeps_its_order() {
        let (slots, queue) = slots(1);
        let claim = slots.reserve_for_claim(&queue);
        assert_eq!((claim.count(), slots.reserve_for_publish(&queue, 1).count()), (1, 0));
        drop(claim);
        slots.caught_up(&queue, true);
        assert_eq!(slots.reserve_for_publish(&queue, 1).count(), 0);
        slots.caught_up(&queue, false);
        assert_eq!(slots.reserve_for_publish(&queue, 1).count(), 1);
    }

    #[test]
    fn nothing_is_given_for_an_unknown_queue_or_after_the_end() {
        let (slots, queue) = slots(2);
        let unknown: Name = "unknown".parse().expect("name");
        assert_eq!(slots.reserve_for_publish(&unknown, 1).count(), 0);
        slots.close();
        assert_eq!(slots.reserve_for_claim(&queue).count(), 0);
    }
}
