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
    /// Older messages wait in the store.
    backlog: bool,
}

impl Default for Places {
    fn default() -> Self {
        Self { limit: limits::DEFAULT_CONCURRENCY as usize, used: 0, backlog: false }
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

    /// Every place that is free, for a claim.
    pub(super) fn reserve_free(&self, queue: &Name) -> Reservation {
        self.reserve(queue, usize::MAX, false)
    }

    /// Places for messages that are just being published.
    pub(super) fn reserve_for_publish(&self, queue: &Name, wanted: usize) -> Reservation {
        self.reserve(queue, wanted, true)
    }

    fn reserve(&self, queue: &Name, wanted: usize, yields_to_backlog: bool) -> Reservation {
        let mut state = self.lock();
        let closed = state.closed;
        let count = match state.queues.get_mut(queue) {
            Some(places) if !(closed || yields_to_backlog && places.backlog) => {
                let count = places.limit.saturating_sub(places.used).min(wanted);
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

    /// Notes whether older messages of the queue wait in the store.
    pub(super) fn set_backlog(&self, queue: &Name, backlog: bool) {
        if let Some(places) = self.lock().queues.get_mut(queue) {
            places.backlog = backlog;
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
        let rest = slots.reserve_free(&queue);
        assert_eq!((two.count(), rest.count()), (2, 1));
        drop(two);
        assert_eq!(slots.reserve_free(&queue).count(), 2);
        assert_eq!(slots.used(), 1);
    }

    #[test]
    fn a_change_of_concurrency_applies_at_once() {
        let (slots, queue) = slots(2);
        let mut held = slots.reserve_free(&queue);
        let first = held.take().expect("place");
        drop(held);
        slots.set_limits([(queue.clone(), 1)]);
        assert_eq!(slots.reserve_free(&queue).count(), 0);
        drop(first);
        assert_eq!(slots.reserve_free(&queue).count(), 1);
        slots.set_limits([(queue.clone(), 5)]);
        assert_eq!(slots.reserve_free(&queue).count(), 5);
    }

    #[test]
    fn a_publish_does_not_overtake_what_waits() {
        let (slots, queue) = slots(2);
        slots.set_backlog(&queue, true);
        assert_eq!(slots.reserve_for_publish(&queue, 1).count(), 0);
        assert_eq!(slots.reserve_free(&queue).count(), 2);
    }

    #[test]
    fn nothing_is_given_for_an_unknown_queue_or_after_the_end() {
        let (slots, queue) = slots(2);
        let unknown: Name = "unknown".parse().expect("name");
        assert_eq!(slots.reserve_for_publish(&unknown, 1).count(), 0);
        slots.close();
        assert_eq!(slots.reserve_free(&queue).count(), 0);
    }
}
