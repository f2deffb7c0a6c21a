//! Publishers that go on while everything breaks around them, and the receiver that proves what came.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use chronq::signature::{Body, Delivery, Receiver};
use chronq_server::dev::{NEXT_SIGNING_KEY, SIGNING_KEY};
use chronq_server::testing::TestServer;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::process::{Answer, PATIENCE, call, until};

const PUBLISHERS: usize = 4;
pub(crate) const UNAVAILABLE: &str =
    r#"{"error":"the store is unavailable: nothing is acknowledged, try again"}"#;

/// Several connections that publish one message after the other.
pub(crate) struct Load {
    progress: Arc<Progress>,
    publishers: Vec<JoinHandle<Vec<String>>>,
}

#[derive(Default)]
struct Progress {
    acknowledged: AtomicUsize,
    refused: AtomicUsize,
    ends: AtomicBool,
}

impl Load {
    /// Publishes to `destination` until it is told to end or the server is gone.
    pub(crate) fn start(address: SocketAddr, destination: &str) -> Self {
        let progress = Arc::new(Progress::default());
        let publishers = (0..PUBLISHERS)
            .map(|_| tokio::spawn(publish(address, destination.to_owned(), Arc::clone(&progress))))
            .collect();
        Self { progress, publishers }
    }

    pub(crate) async fn acknowledges(&self, more: usize) {
        let enough = self.progress.acknowledged.load(Ordering::SeqCst) + more;
        until("the acknowledgement", async || {
            (self.progress.acknowledged.load(Ordering::SeqCst) >= enough).then_some(())
        })
        .await;
    }

    pub(crate) async fn is_refused(&self) {
        let enough = self.progress.refused.load(Ordering::SeqCst) + PUBLISHERS;
        until("the refusal", async || (self.progress.refused.load(Ordering::SeqCst) >= enough).then_some(()))
            .await;
    }

    /// The ids that were answered with 200.
    pub(crate) async fn end(self) -> BTreeSet<String> {
        self.progress.ends.store(true, Ordering::SeqCst);
        let mut acknowledged = BTreeSet::new();
        for publisher in self.publishers {
            acknowledged.extend(publisher.await.expect("a publisher"));
        }
        acknowledged
    }
}

/// Whatever is answered must be one of two answers, word for word.
async fn publish(address: SocketAddr, destination: String, progress: Arc<Progress>) -> Vec<String> {
    let mut acknowledged = Vec::new();
    let target = format!("/v2/publish/{destination}");
    while !progress.ends.load(Ordering::SeqCst) {
        let Some(answer) = call(address, "POST", &target, "chronq-timeout: 2s\r\n", "x").await else {
            return acknowledged;
        };
        if answer.status == 200 {
            let body: Value = serde_json::from_str(&answer.body).expect("json");
            acknowledged.push(body["messageId"].as_str().expect("an id").to_owned());
            progress.acknowledged.fetch_add(1, Ordering::SeqCst);
        } else {
            assert_is_unavailable(&answer);
            progress.refused.fetch_add(1, Ordering::SeqCst);
        }
    }
    acknowledged
}

pub(crate) fn assert_is_unavailable(answer: &Answer) {
    assert_eq!((answer.status, answer.body.as_str()), (503, UNAVAILABLE), "{answer:?}");
    assert_eq!(answer.header("retry-after"), Some("1"), "{answer:?}");
}

/// How often each message arrived in an inbox; every request must verify under the URL it was
/// published with.
pub(crate) fn verified(receiver: &TestServer, inbox: &str) -> HashMap<String, usize> {
    let verifier = Receiver::new(SIGNING_KEY, Some(NEXT_SIGNING_KEY.into())).expect("keys");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("now").as_secs();
    let url = receiver.inbox_url(inbox);
    let mut arrivals = HashMap::new();
    for request in receiver.state().inboxes.as_ref().expect("dev").requests(inbox) {
        let delivery = Delivery {
            signature: request.header("chronq-signature").expect("signed").into(),
            body: Body::Raw(request.body.as_deref().unwrap_or_default().as_bytes()),
            url: Some(&url),
        };
        verifier.verify(&delivery, i64::try_from(now).expect("now")).expect("a valid signature");
        *arrivals.entry(request.header("chronq-message-id").expect("id").to_owned()).or_default() += 1;
    }
    arrivals
}

/// Waits until every one of these messages has arrived.
pub(crate) async fn all_arrive(receiver: &TestServer, inbox: &str, acknowledged: &BTreeSet<String>) {
    let mut seen = 0;
    until("the delivery of everything acknowledged", async || {
        seen = receiver.received(inbox, seen + 1, PATIENCE / 60).await.len();
        let arrivals = arrived(receiver, inbox);
        acknowledged.iter().all(|id| arrivals.contains(id)).then_some(())
    })
    .await;
}

fn arrived(receiver: &TestServer, inbox: &str) -> BTreeSet<String> {
    let requests = receiver.state().inboxes.as_ref().expect("dev").requests(inbox);
    requests.iter().filter_map(|request| request.header("chronq-message-id").map(str::to_owned)).collect()
}
