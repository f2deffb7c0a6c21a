//! A server that loses its answer after it has committed: one message, and a true answer, through the async
//! client and the blocking one.

#![expect(clippy::expect_used, reason = "a server that does not come up is a failed test")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use chronq::Error;
use chronq::batch::Batch;
use chronq::client::{Client, blocking};
use chronq::contract::MessageState;
use chronq::message::{CancelMessage, ListEvents};
use chronq::operation::Operation;
use chronq::publish::{Content, Publish, PublishOptions};
use chronq::retry::RetryPolicy;
use chronq::timer::{Cancel, NewTimer, Schedule, Settled, TimerOutcome};
use chronq_server::testing::TestServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};

/// Carries bytes both ways; after [`Self::lose`], the next answer ends its connection instead.
struct LossyProxy {
    url: String,
    losing: Arc<AtomicBool>,
    lost: Arc<AtomicUsize>,
}

impl LossyProxy {
    async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (losing, lost) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let proxy = Self { url, losing: Arc::clone(&losing), lost: Arc::clone(&lost) };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server, Arc::clone(&losing), Arc::clone(&lost)));
            }
        });
        proxy
    }

    fn lose(&self) {
        self.losing.store(true, Ordering::SeqCst);
    }
}

async fn carry(
    client: TcpStream,
    server: SocketAddr,
    losing: Arc<AtomicBool>,
    lost: Arc<AtomicUsize>,
) -> std::io::Result<()> {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = TcpStream::connect(server).await?.into_split();
    let asking = tokio::spawn(async move { copy(&mut from_client, &mut to_server).await });
    let mut part = vec![0; 65_536];
    loop {
        let length = from_server.read(&mut part).await?;
        // The answer has begun, so what was asked is committed.
        let loses = length > 0 && losing.swap(false, Ordering::SeqCst);
        if loses {
            lost.fetch_add(1, Ordering::SeqCst);
        }
        if loses || length == 0 {
            asking.abort();
            return Ok(());
        }
        to_client.write_all(&part[..length]).await?;
    }
}

/// Either client, as they are used.
enum Face {
    Async(Client),
    Blocking(blocking::Client),
}

impl Face {
    async fn execute<O>(&self, operation: O) -> Result<O::Output, Error>
    where
        O: Operation + Send + Sync + 'static,
        O::Output: Send + 'static,
    {
        match self {
            Self::Async(client) => client.execute(operation).await,
            Self::Blocking(client) => client.execute(operation),
        }
    }
}

struct World {
    server: TestServer,
    proxy: LossyProxy,
    api: Client,
}

impl World {
    async fn start() -> Self {
        let server = TestServer::start().await.expect("a server");
        let proxy = LossyProxy::before(server.address()).await;
        let api = Client::new(server.url(), server.token()).expect("a client");
        Self { server, proxy, api }
    }

    fn faces(&self) -> [Face; 2] {
        let tick = Duration::from_millis(1);
        let retry = RetryPolicy::new(4, tick, tick).expect("legal");
        let builder = || Client::builder().url(&self.proxy.url).token(self.server.token()).retry(retry);
        [
            Face::Async(builder().build().expect("a client")),
            Face::Blocking(builder().build_blocking().expect("a client")),
        ]
    }

    /// The answer of a call whose first one was lost.
    async fn lossy<O>(&self, face: &Face, operation: O) -> O::Output
    where
        O: Operation + Send + Sync + 'static,
        O::Output: Send + 'static,
    {
        let before = self.proxy.lost.load(Ordering::SeqCst);
        self.proxy.lose();
        let answer = face.execute(operation).await.expect("a true answer");
        assert_eq!(self.proxy.lost.load(Ordering::SeqCst), before + 1);
        answer
    }

    async fn ids_labelled(&self, label: &str) -> Vec<String> {
        let filter = ListEvents { label: Some(label.to_owned()), ..ListEvents::default() };
        let events = self.api.messages().events(filter).await.expect("events");
        let ids = events.jobs.iter().map(|message| message.message_id.as_str().to_owned());
        let mut ids: Vec<_> = ids.collect();
        ids.sort();
        ids
    }

    fn publish(&self, label: &str) -> Publish {
        let mut publish = Publish::to(&self.server.inbox_url(label), Content::text("x")).expect("legal");
        publish.options = PublishOptions { labels: vec![label.to_owned()], ..PublishOptions::default() };
        publish
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_publish_whose_answer_is_lost_is_one_message() {
    let world = World::start().await;
    for (face, label) in world.faces().iter().zip(["async", "blocking"]) {
        let published = world.lossy(face, world.publish(label)).await;
        assert!(published.deduplicated, "it was already there");
        assert_eq!(world.ids_labelled(label).await, [published.message_id.as_str()]);
    }
    world.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_answer_is_lost_is_one_message_per_entry() {
    let world = World::start().await;
    for (face, label) in world.faces().iter().zip(["async", "blocking"]) {
        let entries = vec![world.publish(label), world.publish(label)];
        let results = world.lossy(face, Batch { entries }).await;
        let mut ids: Vec<_> = results
            .iter()
            .filter_map(|result| result.as_ref().ok())
            .filter(|published| published.deduplicated)
            .map(|published| published.message_id.as_str().to_owned())
            .collect();
        ids.sort();
        assert_eq!(ids.len(), 2);
        assert_eq!(world.ids_labelled(label).await, ids);
    }
    world.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_whose_answer_is_lost_is_this_calls_own() {
    let world = World::start().await;
    for face in &world.faces() {
        let options = PublishOptions { delay: Some(Duration::from_hours(1)), ..PublishOptions::default() };
        let published = world.api.publish("http://127.0.0.1:1/", Content::text("x"), options);
        let id = published.await.expect("published").message_id;
        world.lossy(face, CancelMessage { id: id.clone() }).await;
        let message = world.api.messages().get(id.as_str()).await.expect("kept");
        assert_eq!(message.state, MessageState::Cancelled);
    }
    world.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timer_whose_answers_are_lost_stands_once_and_its_cancel_says_what_it_cannot_know() {
    let world = World::start().await;
    for (face, key) in world.faces().iter().zip(["async", "blocking"]) {
        let timer = NewTimer::new("q", key, "x", Duration::from_hours(1));
        let (TimerOutcome::Scheduled(placed) | TimerOutcome::Rescheduled(placed)) =
            world.lossy(face, Schedule::new(timer)).await
        else {
            unreachable!("a schedule places")
        };
        let pending = world.api.timers().peek("q", key).await.expect("an answer").expect("pending");
        assert_eq!((&pending.row.txn, &pending.row.message_id), (&placed.txn, &placed.message_id));

        let cancel =
            Cancel { queue: "q".to_owned(), timer_key: key.to_owned(), txn: Some(placed.txn.clone()) };
        let TimerOutcome::Absent(absent) = world.lossy(face, cancel).await else {
            unreachable!("its own first attempt took it back")
        };
        assert!(absent.after_lost_answer);
        let settled = world.api.timers().settle(&absent, None).await.expect("an answer");
        assert_eq!(settled, Settled::NotFound { since: None });
    }
    world.server.shutdown().await;
}
