//! Measures a store alone: messages published, claimed and settled per second, with and without many
//! that wait. `cargo run --release -p chronq-server --example store_rates -- sqlite:/tmp/rates.db 50000 1000000`

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use chronq::{Destination, Name};
use chronq_server::store::front::{Publisher, ReadySink, Settler};
use chronq_server::store::types::claim::{
    AttemptResponse, AttemptVerdict, ClaimRequest, Claimed, Settlement,
};
use chronq_server::store::types::message::{Due, HandOver, NewMessage};
use chronq_server::store::{Clock, Role, Store, open};
use tokio::sync::mpsc;

const CALLERS: usize = 64;
const ROUNDS: usize = 3;
const HOUR_MS: u64 = 3_600_000;

/// Takes every message at once.
struct Everything(mpsc::UnboundedSender<Claimed>);

impl ReadySink for Everything {
    fn reserve(&self, _queue: &Name, wanted: usize) -> usize {
        wanted
    }
    fn give_back(&self, _queue: &Name, _places: usize) {}
    fn hand_over(&self, claimed: Vec<Claimed>) {
        for message in claimed {
            // The measurement is over when nobody listens.
            let _ = self.0.send(message);
        }
    }
    fn lease_ms(&self) -> u64 {
        60_000
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().unwrap_or_else(|| "sqlite::memory:".to_owned());
    let count: usize = arguments.next().as_deref().unwrap_or("50000").parse()?;
    let waiting: usize = arguments.next().as_deref().unwrap_or("0").parse()?;
    let store = open(&url.parse()?, Role::Serve, Clock::new()).await?;

    if waiting > 0 {
        let started = Instant::now();
        for first in (0..waiting).step_by(1_000) {
            // A week of instants, spread evenly and out of order.
            let batch = (first..first + 1_000).map(|n| {
                let due = HOUR_MS + (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % (168 * HOUR_MS);
                NewMessage { due: Due::After(due), ..message() }
            });
            store.enqueue(batch.collect(), HandOver::default()).await?;
        }
        report("delayed, in batches of 1,000", waiting, started);
    }
    for _ in 0..ROUNDS {
        single(&store, count).await?;
        claimed(&store, count).await?;
    }
    store.close().await;
    Ok(())
}

/// Single publishes by concurrent callers, handed over and settled.
async fn single(store: &Arc<dyn Store>, count: usize) -> Result<(), Box<dyn std::error::Error>> {
    let (sink, mut ready) = mpsc::unbounded_channel();
    let publisher = Publisher::start(Arc::clone(store), Some(Arc::new(Everything(sink))));
    let settler = Settler::start(Arc::clone(store));
    let started = Instant::now();
    let left = Arc::new(AtomicUsize::new(count));
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..CALLERS {
        let (publisher, left) = (publisher.clone(), Arc::clone(&left));
        callers.spawn(async move {
            let take = |left: usize| left.checked_sub(1);
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                publisher.publish(vec![message()]).await?;
            }
            Ok::<_, chronq_server::store::StoreError>(())
        });
    }
    drop(publisher);
    let mut settling = tokio::task::JoinSet::new();
    while let Some(claimed) = ready.recv().await {
        let settler = settler.clone();
        settling.spawn(async move { settler.settle(done(&claimed)).await.map(drop) });
    }
    for result in callers.join_all().await.into_iter().chain(settling.join_all().await) {
        result?;
    }
    report("single publishes, handed over and settled", count, started);
    Ok(())
}

/// Batches of a hundred, claimed and settled.
async fn claimed(store: &Arc<dyn Store>, count: usize) -> Result<(), Box<dyn std::error::Error>> {
    let started = Instant::now();
    for _ in (0..count).step_by(100) {
        store.enqueue(vec![message(); 100], HandOver::default()).await?;
    }
    report("published, in batches of 100", count, started);
    let started = Instant::now();
    let request = ClaimRequest { queue: Name::default_queue(), limit: 100, lease_ms: 60_000 };
    let mut taken = 0;
    loop {
        let claimed = store.claim(request.clone()).await?;
        if claimed.is_empty() {
            break;
        }
        taken += claimed.len();
        store.settle(claimed.iter().map(done).collect()).await?;
    }
    report("claimed and settled, in batches of 100", taken, started);
    Ok(())
}

fn message() -> NewMessage {
    let url = Destination::parse("destination", "http://127.0.0.1:9/hook");
    let Ok(url) = url else { unreachable!("a literal destination") };
    NewMessage::new(Name::default_queue(), url, Bytes::from_static(&[b'x'; 512]))
}

fn done(claimed: &Claimed) -> Settlement {
    let response = AttemptResponse {
        status: 200,
        headers: Vec::new(),
        body: Bytes::new(),
        truncated: false,
        duration_ms: 1,
    };
    Settlement { lease: claimed.lease, response: response.into(), verdict: AttemptVerdict::Completed }
}

fn report(what: &str, count: usize, started: Instant) {
    let seconds = started.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = count as f64 / seconds;
    println!("{rate:>9.0} /s  {what}");
}
