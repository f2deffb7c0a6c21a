//! Several processes on one Postgres.

#![expect(clippy::expect_used, clippy::panic, reason = "a test's helper fails the test")]

#[path = "support/postgres.rs"]
mod postgres;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use chronq::queue::QueueSettings;
use chronq::{Destination, Name};
use chronq_server::store::types::claim::{
    AttemptResponse, AttemptVerdict, ClaimRequest, Settled, Settlement,
};
use chronq_server::store::types::message::{DeduplicationKey, Enqueued, HandOver, NewMessage};
use chronq_server::store::types::queue::Wake;
use chronq_server::store::{Clock, DatabaseUrl, OpenError, Role, Store, open};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

async fn store(url: &str, clock: Clock) -> Result<Arc<dyn Store>, OpenError> {
    open(&DatabaseUrl::Postgres(url.into()), Role::Serve, clock).await
}

fn message(queue: &Name) -> NewMessage {
    let url = Destination::parse("destination", "https://example.com/hook").expect("a destination");
    NewMessage::new(queue.clone(), url, "body")
}

fn request(queue: &Name, limit: usize) -> ClaimRequest {
    ClaimRequest { queue: queue.clone(), limit, lease_ms: 5_000 }
}

fn accepted() -> AttemptResponse {
    AttemptResponse {
        status: 200,
        headers: Vec::new(),
        body: bytes::Bytes::new(),
        truncated: false,
        duration_ms: 1,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_make_each_attempt_once() {
    let url = postgres::fresh_url().await;
    let queue = Name::default_queue();
    let first = store(&url, Clock::new()).await.expect("opens");
    let second = store(&url, Clock::new()).await.expect("opens");
    for _ in 0..10 {
        first.enqueue(vec![message(&queue); 100], HandOver::default()).await.expect("enqueues");
    }
    let mut tasks = tokio::task::JoinSet::new();
    for store in [&first, &first, &second, &second] {
        let (store, queue) = (Arc::clone(store), queue.clone());
        tasks.spawn(async move {
            let mut done = Vec::new();
            loop {
                let claimed = store.claim(request(&queue, 17)).await.expect("claims");
                if claimed.is_empty() {
                    return done;
                }
                done.extend(claimed.iter().map(|claimed| claimed.id));
                let settlements = claimed.iter().map(|claimed| Settlement {
                    lease: claimed.lease,
                    response: accepted().into(),
                    verdict: AttemptVerdict::Completed,
                });
                let settled = store.settle(settlements.collect()).await.expect("settles");
                assert!(settled.iter().all(|settled| *settled == Settled::Done));
            }
        });
    }
    let all: Vec<Uuid> = tasks.join_all().await.into_iter().flatten().collect();
    assert_eq!(all.len(), 1_000);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 1_000);
}

/// Rows read by reading a table of messages whole, scans of the index of leases, and rows written.
async fn reading(url: &str) -> (i64, i64, i64) {
    let mut connection = PgConnection::connect(url).await.expect("connects");
    sqlx::query_as(
        "SELECT (SELECT sum(seq_tup_read)::bigint FROM pg_stat_user_tables \
                 WHERE schemaname = current_schema() AND relname IN ('messages', 'contents', 'responses')), \
                (SELECT idx_scan FROM pg_stat_user_indexes \
                 WHERE schemaname = current_schema() AND indexrelname = 'messages_lease'), \
                (SELECT n_tup_ins + n_tup_upd FROM pg_stat_user_tables \
                 WHERE schemaname = current_schema() AND relname = 'messages')",
    )
    .fetch_one(&mut connection)
    .await
    .expect("reads the statistics")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_found_by_their_keys_even_where_the_tables_were_empty_at_first() {
    let url = postgres::fresh_url().await;
    let queue = Name::default_queue();
    let store = store(&url, Clock::new()).await.expect("opens");
    for _ in 0..20 {
        store.enqueue(vec![message(&queue); 50], HandOver::default()).await.expect("enqueues");
        let claimed = store.claim(request(&queue, 50)).await.expect("claims");
        let settlements = claimed.iter().map(|claimed| Settlement {
            lease: claimed.lease,
            response: accepted().into(),
            verdict: AttemptVerdict::Completed,
        });
        store.settle(settlements.collect()).await.expect("settles");
    }
    // A connection tells what it has done when it ends; each message was put, claimed and settled.
    store.close().await;
    for _ in 0..200 {
        let read = reading(&url).await;
        if read.2 == 3_000 {
            assert_eq!(read, (0, 0, 3_000));
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the statistics never came");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_publish_in_one_process_wakes_the_other() {
    let url = postgres::fresh_url().await;
    let queue = Name::default_queue();
    let first = store(&url, Clock::new()).await.expect("opens");
    let second = store(&url, Clock::new()).await.expect("opens");
    let mut wakes = second.wakes();
    first.enqueue(vec![message(&queue)], HandOver::default()).await.expect("enqueues");
    let wake = tokio::time::timeout(Duration::from_secs(10), wakes.recv()).await.expect("in time");
    assert!(matches!(wake, Ok(Wake::Due { queue: woken, .. }) if woken == queue));
    assert_eq!(second.claim(request(&queue, 10)).await.expect("claims").len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_process_s_messages_are_taken_over_after_the_lease() {
    let url = postgres::fresh_url().await;
    let queue = Name::default_queue();
    let first = store(&url, Clock::new()).await.expect("opens");
    first.enqueue(vec![message(&queue)], HandOver::default()).await.expect("enqueues");
    let lost = first.claim(request(&queue, 10)).await.expect("claims").remove(0);
    drop(first);
    let clock = Clock::new();
    let second = store(&url, clock.clone()).await.expect("opens");
    assert_eq!(second.rescue().await.expect("rescues"), 0);
    clock.advance(Duration::from_secs(36));
    assert_eq!(second.rescue().await.expect("rescues"), 1);
    let again = second.claim(request(&queue, 10)).await.expect("claims").remove(0);
    assert_eq!((again.id, again.retried), (lost.id, 0));
}

/// The database may forget a claim when it crashes, and numbers it anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_the_database_forgot_settles_nothing() {
    let url = postgres::fresh_url().await;
    let (queue, clock) = (Name::default_queue(), Clock::new());
    let store = store(&url, clock.clone()).await.expect("opens");
    store.enqueue(vec![message(&queue)], HandOver::default()).await.expect("enqueues");
    let forgotten = store.claim(request(&queue, 1)).await.expect("claims").remove(0);
    let mut connection = PgConnection::connect(&url).await.expect("connects");
    sqlx::query("UPDATE messages SET state = 0, claim = 0, lease_until = NULL, started_at = NULL")
        .execute(&mut connection)
        .await
        .expect("forgets");
    clock.advance(Duration::from_millis(700));
    let again = store.claim(request(&queue, 1)).await.expect("claims").remove(0);
    assert_eq!(again.id, forgotten.id);
    for (lease, settled) in [(forgotten.lease, Settled::Stale), (again.lease, Settled::Done)] {
        let settlement =
            Settlement { lease, response: accepted().into(), verdict: AttemptVerdict::Completed };
        assert_eq!(store.settle(vec![settlement]).await.expect("settles"), [settled]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_of_a_queue_holds_for_the_next_publish_in_every_process() {
    let url = postgres::fresh_url().await;
    let queue = Name::parse("queue", "shared").expect("a name");
    let first = store(&url, Clock::new()).await.expect("opens");
    let second = store(&url, Clock::new()).await.expect("opens");
    second.put_queue(queue.clone(), QueueSettings::default()).await.expect("puts");
    first.enqueue(vec![message(&queue)], HandOver::default()).await.expect("enqueues");
    let edited = QueueSettings { retry_limit: Some(9), ..QueueSettings::default() };
    second.put_queue(queue.clone(), edited).await.expect("puts");
    first.enqueue(vec![message(&queue)], HandOver::default()).await.expect("enqueues");
    let claimed = first.claim(request(&queue, 10)).await.expect("claims");
    assert_eq!(claimed.iter().map(|claimed| claimed.max_retries).collect::<Vec<_>>(), [3, 9]);
    let disabled = QueueSettings { enabled: Some(false), ..QueueSettings::default() };
    second.put_queue(queue.clone(), disabled).await.expect("puts");
    let answer = first.enqueue(vec![message(&queue)], HandOver::default()).await.expect("answers");
    assert_eq!(answer.outcomes, [Enqueued::QueueDisabled]);
}

/// What a process knows of a queue is old after an edit in another one, whose hint may be under way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_in_one_batch_are_one_message_also_right_after_an_edit_of_their_queue() {
    let url = postgres::fresh_url().await;
    let clock = Clock::new();
    let first = store(&url, clock.clone()).await.expect("opens");
    let second = store(&url, clock.clone()).await.expect("opens");
    let queue = Name::parse("name", "webhooks").expect("a name");
    let keyed =
        || NewMessage { deduplication: Some(DeduplicationKey::explicit("order-42")), ..message(&queue) };
    let mut ids = Vec::new();
    first.put_queue(queue.clone(), QueueSettings::default()).await.expect("puts");
    second.enqueue(vec![message(&queue)], HandOver::default()).await.expect("enqueues");
    // The second time the key is there already, and its window is over.
    for _ in 0..2 {
        first.put_queue(queue.clone(), QueueSettings::default()).await.expect("puts");
        let answer = second.enqueue(vec![keyed(), keyed()], HandOver::default()).await.expect("enqueues");
        let Enqueued::Queued { id, .. } = answer.outcomes[0] else { panic!("{:?}", answer.outcomes) };
        assert_eq!(answer.outcomes[1], Enqueued::Duplicate { id, queue: queue.clone() });
        ids.push(id);
        clock.advance(Duration::from_mins(10));
    }
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_can_start_on_an_empty_database_at_once() {
    let url = postgres::fresh_url().await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let url = url.clone();
        tasks.spawn(async move { store(&url, Clock::new()).await.map(drop) });
    }
    for opened in tasks.join_all().await {
        assert_eq!(opened, Ok(()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newer_database_is_refused() {
    use sqlx::Connection;
    let url = postgres::fresh_url().await;
    drop(store(&url, Clock::new()).await.expect("opens"));
    let mut connection = sqlx::PgConnection::connect(&url).await.expect("connects");
    sqlx::query("INSERT INTO schema_version (version) VALUES (999)")
        .execute(&mut connection)
        .await
        .expect("inserts");
    let refused = store(&url, Clock::new()).await.map(drop).expect_err("newer");
    assert!(matches!(refused, OpenError::TooNew { found: 999, .. }), "{refused:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("its number").port();
    drop(listener);
    let refused = store(&format!("postgres://chronq@127.0.0.1:{port}/postgres"), Clock::new())
        .await
        .map(drop)
        .expect_err("nobody there");
    assert!(matches!(refused, OpenError::Store(ref error) if error.is_temporary()), "{refused:?}");
}
