//! Group commit in front of a store: what waits at the same time goes in together.
//!
//! A batch takes what is queued and never waits for more, so an idle server answers as fast as one
//! transaction and a busy one shares each fsync among many. A batch is finished even where a caller
//! has gone away, so what it claims always reaches the engine.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use chronq::Name;
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::error::StoreError;
use super::types::claim::{Claimed, Settled, Settlement};
use super::types::message::{Due, Enqueued, HandOver, NewMessage};
use super::{Store, StoreResult};

/// Most items of one batch, and most bytes of bodies.
const MAX_ITEMS: usize = 1_000;
const MAX_WEIGHT: usize = 8 * 1_024 * 1_024;

/// Where messages go that are due as they are published: they are committed under a lease and need
/// not be read again.
pub trait ReadySink: Send + Sync + 'static {
    /// Takes up to `wanted` places of a queue; answers how many there were.
    fn reserve(&self, queue: &Name, wanted: usize) -> usize;
    /// Gives places back that were reserved and not used.
    fn give_back(&self, queue: &Name, places: usize);
    /// Hands over messages, each on a reserved place.
    fn hand_over(&self, claimed: Vec<Claimed>);
    /// How long such a claim holds beyond the message's timeout: the wait for a free slot included.
    fn lease_ms(&self) -> u64;
}

/// Publishes together what is published at once. Clones share it; it ends with the last of them.
#[derive(Clone, Debug)]
pub struct Publisher(Batcher<Vec<NewMessage>, Vec<Enqueued>>);

impl Publisher {
    /// Starts it on the current runtime.
    pub fn start(store: Arc<dyn Store>, ready: Option<Arc<dyn ReadySink>>) -> Self {
        let parallel = store.parallel_publishes();
        let weigh = |messages: &Vec<NewMessage>| messages.iter().map(|message| message.body.len()).sum();
        Self(Batcher::start(parallel, weigh, move |calls| {
            let (store, ready) = (Arc::clone(&store), ready.clone());
            Box::pin(async move { publish_together(store.as_ref(), ready.as_deref(), calls).await })
        }))
    }

    /// Queues messages; one outcome each, in order. What it answers is committed.
    pub async fn publish(&self, messages: Vec<NewMessage>) -> StoreResult<Vec<Enqueued>> {
        self.0.submit(messages).await
    }
}

/// Settles together what ends at once.
#[derive(Clone, Debug)]
pub struct Settler(Batcher<Settlement, Settled>);

impl Settler {
    /// Starts it on the current runtime.
    pub fn start(store: Arc<dyn Store>) -> Self {
        let parallel = store.parallel_settlements();
        let weigh = |settlement: &Settlement| settlement.response.body.len();
        Self(Batcher::start(parallel, weigh, move |settlements| {
            let store = Arc::clone(&store);
            Box::pin(async move { store.settle(settlements).await })
        }))
    }

    /// Ends an attempt.
    pub async fn settle(&self, settlement: Settlement) -> StoreResult<Settled> {
        self.0.submit(settlement).await
    }
}

async fn publish_together(
    store: &dyn Store,
    ready: Option<&dyn ReadySink>,
    calls: Vec<Vec<NewMessage>>,
) -> StoreResult<Vec<Vec<Enqueued>>> {
    let sizes: Vec<usize> = calls.iter().map(Vec::len).collect();
    let messages: Vec<NewMessage> = calls.into_iter().flatten().collect();
    let mut outcomes = match ready {
        None => store.enqueue(messages, HandOver::default()).await?.outcomes,
        Some(ready) => {
            let reserved = Reserved::of(ready, &messages);
            let answer = store.enqueue(messages, reserved.hand_over()).await?;
            reserved.hand(answer.claimed);
            answer.outcomes
        }
    }
    .into_iter();
    Ok(sizes.into_iter().map(|size| outcomes.by_ref().take(size).collect()).collect())
}

/// Reserved places; those that were not used are given back when it goes, on every way out.
struct Reserved<'a> {
    ready: &'a dyn ReadySink,
    places: HashMap<Name, usize>,
}

impl<'a> Reserved<'a> {
    fn of(ready: &'a dyn ReadySink, messages: &[NewMessage]) -> Self {
        let mut wanted: HashMap<&Name, usize> = HashMap::new();
        for message in messages.iter().filter(|message| message.due == Due::Now) {
            *wanted.entry(&message.queue).or_default() += 1;
        }
        let places = wanted.into_iter().map(|(queue, wanted)| (queue.clone(), ready.reserve(queue, wanted)));
        Self { ready, places: places.filter(|(_, places)| *places > 0).collect() }
    }

    fn hand_over(&self) -> HandOver {
        let places = self.places.iter().map(|(queue, places)| (queue.clone(), *places)).collect();
        HandOver { places, lease_ms: self.ready.lease_ms() }
    }

    fn hand(mut self, claimed: Vec<Claimed>) {
        for message in &claimed {
            if let Some(places) = self.places.get_mut(&message.queue) {
                *places = places.saturating_sub(1);
            }
        }
        if !claimed.is_empty() {
            self.ready.hand_over(claimed);
        }
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        for (queue, places) in self.places.drain().filter(|(_, places)| *places > 0) {
            self.ready.give_back(&queue, places);
        }
    }
}

type Answered<O> = oneshot::Sender<StoreResult<O>>;
type Running<O> = Pin<Box<dyn Future<Output = StoreResult<Vec<O>>> + Send>>;

/// Collects items into batches and runs a bounded number of them at once.
#[derive(Debug)]
struct Batcher<I, O> {
    inbox: mpsc::UnboundedSender<(I, Answered<O>)>,
}

impl<I, O> Clone for Batcher<I, O> {
    fn clone(&self) -> Self {
        Self { inbox: self.inbox.clone() }
    }
}

impl<I: Send + 'static, O: Send + 'static> Batcher<I, O> {
    fn start(
        parallel: usize,
        weigh: impl Fn(&I) -> usize + Send + 'static,
        run: impl Fn(Vec<I>) -> Running<O> + Send + 'static,
    ) -> Self {
        let (inbox, items) = mpsc::unbounded_channel();
        tokio::spawn(collect(parallel, items, weigh, run));
        Self { inbox }
    }

    async fn submit(&self, item: I) -> StoreResult<O> {
        let (answer, answered) = oneshot::channel();
        let closed = || StoreError::Unavailable("the server is stopping".to_owned());
        self.inbox.send((item, answer)).map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }
}

async fn collect<I: Send + 'static, O: Send + 'static>(
    parallel: usize,
    mut items: mpsc::UnboundedReceiver<(I, Answered<O>)>,
    weigh: impl Fn(&I) -> usize,
    run: impl Fn(Vec<I>) -> Running<O>,
) {
    let slots = Arc::new(Semaphore::new(parallel));
    // A slot first: what comes while all are taken joins the next batch.
    while let Ok(slot) = Arc::clone(&slots).acquire_owned().await {
        let Some((item, answer)) = items.recv().await else { return };
        let mut weight = weigh(&item);
        let (mut batch, mut answers) = (vec![item], vec![answer]);
        while batch.len() < MAX_ITEMS && weight < MAX_WEIGHT {
            let Ok((item, answer)) = items.try_recv() else { break };
            weight += weigh(&item);
            batch.push(item);
            answers.push(answer);
        }
        let running = run(batch);
        tokio::spawn(async move {
            let result = running.await;
            drop(slot);
            answer_all(answers, result);
        });
    }
}

fn answer_all<O>(answers: Vec<Answered<O>>, result: StoreResult<Vec<O>>) {
    match result {
        Ok(outputs) => {
            for (answer, output) in answers.into_iter().zip(outputs) {
                // A caller that has gone away needs no answer.
                let _ = answer.send(Ok(output));
            }
        }
        Err(error) => {
            for answer in answers {
                let _ = answer.send(Err(error.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use chronq::Destination;

    use super::*;
    use crate::store::clock::Clock;
    use crate::store::{DatabaseUrl, Role, open};

    fn message(queue: &str, due: Due) -> NewMessage {
        let url = Destination::parse("destination", "http://127.0.0.1:9/hook").expect("destination");
        let queue = Name::parse("queue", queue).expect("name");
        NewMessage { due, ..NewMessage::new(queue, url, "x") }
    }

    async fn store() -> Arc<dyn Store> {
        open(&DatabaseUrl::Memory, Role::Serve, Clock::new()).await.expect("opens")
    }

    #[derive(Default)]
    struct Places {
        free: Mutex<usize>,
        taken: Mutex<Vec<Claimed>>,
    }

    impl ReadySink for Places {
        fn reserve(&self, _queue: &Name, wanted: usize) -> usize {
            let mut free = self.free.lock().expect("lock");
            let taken = wanted.min(*free);
            *free -= taken;
            taken
        }
        fn give_back(&self, _queue: &Name, places: usize) {
            *self.free.lock().expect("lock") += places;
        }
        fn hand_over(&self, claimed: Vec<Claimed>) {
            self.taken.lock().expect("lock").extend(claimed);
        }
        fn lease_ms(&self) -> u64 {
            5_000
        }
    }

    #[tokio::test]
    async fn each_caller_gets_its_own_outcomes() {
        let publisher = Publisher::start(store().await, None);
        let calls = (0..50_usize).map(|n| {
            let publisher = publisher.clone();
            async move {
                let queue = if n % 2 == 0 { "default" } else { "missing" };
                let outcomes = publisher.publish(vec![message(queue, Due::Now); n % 3 + 1]).await;
                (n, outcomes.expect("answers"))
            }
        });
        let mut tasks = tokio::task::JoinSet::new();
        calls.for_each(|call| drop(tasks.spawn(call)));
        while let Some(done) = tasks.join_next().await {
            let (n, outcomes) = done.expect("runs");
            assert_eq!(outcomes.len(), n % 3 + 1);
            let all_queued = outcomes.iter().all(|outcome| matches!(outcome, Enqueued::Queued { .. }));
            assert_eq!(all_queued, n % 2 == 0, "{outcomes:?}");
        }
    }

    #[tokio::test]
    async fn messages_due_now_are_handed_over_on_reserved_places_and_the_rest_waits() {
        let store = store().await;
        let places = Arc::new(Places { free: Mutex::new(3), ..Places::default() });
        let publisher = Publisher::start(Arc::clone(&store), Some(Arc::clone(&places) as Arc<dyn ReadySink>));
        let later = publisher.publish(vec![message("default", Due::After(60_000))]).await.expect("publishes");
        assert!(matches!(later[0], Enqueued::Queued { .. }));
        assert_eq!(places.taken.lock().expect("lock").len(), 0);
        publisher.publish(vec![message("default", Due::Now); 5]).await.expect("publishes");
        assert_eq!(places.taken.lock().expect("lock").len(), 3);
        assert_eq!(*places.free.lock().expect("lock"), 0);
        let request = crate::store::types::claim::ClaimRequest {
            queue: Name::default_queue(),
            limit: 10,
            lease_ms: 5_000,
        };
        assert_eq!(store.claim(request).await.expect("claims").len(), 2);
    }

    #[tokio::test]
    async fn places_that_were_not_used_come_back() {
        let places = Arc::new(Places { free: Mutex::new(3), ..Places::default() });
        let publisher = Publisher::start(store().await, Some(Arc::clone(&places) as Arc<dyn ReadySink>));
        let outcomes = publisher.publish(vec![message("missing", Due::Now)]).await.expect("publishes");
        assert_eq!(outcomes, [Enqueued::UnknownQueue]);
        assert_eq!(*places.free.lock().expect("lock"), 3);
    }

    #[tokio::test]
    async fn a_closed_store_fails_every_caller() {
        let store = store().await;
        let publisher = Publisher::start(Arc::clone(&store), None);
        store.close().await;
        let failed = publisher.publish(vec![message("default", Due::Now)]).await;
        assert_eq!(failed, Err(StoreError::Unavailable("the store is closed".to_owned())));
    }
}
