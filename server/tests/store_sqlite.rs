//! The embedded store over restarts: what was answered is there, what was in hand is made again.

#![expect(clippy::expect_used, clippy::panic, reason = "a test's helper fails the test")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chronq::contract::MessageState;
use chronq::{Destination, Name};
use chronq_server::store::types::claim::ClaimRequest;
use chronq_server::store::types::message::{Due, Enqueued, HandOver, NewMessage};
use chronq_server::store::{Clock, DatabaseUrl, OpenError, Role, Store, open};
use uuid::Uuid;

async fn store(folder: &Path, role: Role, clock: Clock) -> Result<Arc<dyn Store>, OpenError> {
    open(&DatabaseUrl::Sqlite(folder.join("chronq.sqlite")), role, clock).await
}

async fn publish(store: &Arc<dyn Store>, due: Due) -> Uuid {
    let url = Destination::parse("destination", "https://example.com/hook").expect("a destination");
    let message = NewMessage { due, ..NewMessage::new(Name::default_queue(), url, "body") };
    let answer = store.enqueue(vec![message], HandOver::default()).await.expect("enqueues");
    match answer.outcomes[0] {
        Enqueued::Queued { id, .. } => id,
        ref other => panic!("not queued: {other:?}"),
    }
}

async fn claim(store: &Arc<dyn Store>) -> Vec<(Uuid, u32)> {
    let request = ClaimRequest { queue: Name::default_queue(), limit: 10, lease_ms: 5_000 };
    let claimed = store.claim(request).await.expect("claims");
    claimed.into_iter().map(|claimed| (claimed.id, claimed.retried)).collect()
}

#[tokio::test]
async fn what_was_answered_is_there_after_a_restart_and_due_in_its_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = store(folder.path(), Role::Serve, Clock::new()).await.expect("opens");
    let soon = publish(&first, Due::After(3_000)).await;
    let far = publish(&first, Due::After(40 * 86_400_000)).await;
    drop(first);
    let clock = Clock::new();
    let second = store(folder.path(), Role::Serve, clock.clone()).await.expect("opens");
    assert_eq!(claim(&second).await, []);
    clock.advance(Duration::from_secs(3));
    assert_eq!(claim(&second).await, [(soon, 0)]);
    clock.advance(Duration::from_hours(40 * 24));
    assert_eq!(claim(&second).await, [(far, 0)]);
}

#[tokio::test]
async fn an_attempt_that_was_in_flight_is_made_again_as_soon_as_the_file_is_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = store(folder.path(), Role::Serve, Clock::new()).await.expect("opens");
    let id = publish(&first, Due::Now).await;
    assert_eq!(claim(&first).await, [(id, 0)]);
    drop(first);
    let second = store(folder.path(), Role::Serve, Clock::new()).await.expect("opens");
    let shown = second.message(id).await.expect("reads").expect("is there");
    assert_eq!(shown.state, MessageState::Created);
    assert_eq!(claim(&second).await, [(id, 0)]);
}

#[tokio::test]
async fn one_server_at_a_time_and_commands_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = store(folder.path(), Role::Serve, Clock::new()).await.expect("opens");
    let id = publish(&first, Due::Now).await;
    assert_eq!(claim(&first).await, [(id, 0)]);
    let refused = store(folder.path(), Role::Serve, Clock::new()).await.map(drop).expect_err("in use");
    let path = folder.path().join("chronq.sqlite").display().to_string();
    assert_eq!(refused, OpenError::InUse(path));
    let tool = store(folder.path(), Role::Tool, Clock::new()).await.expect("opens");
    let shown = tool.message(id).await.expect("reads").expect("is there");
    assert_eq!(shown.state, MessageState::Active);
    drop((first, tool));
    store(folder.path(), Role::Serve, Clock::new()).await.expect("opens after the first is gone");
}

#[tokio::test]
async fn what_is_no_database_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("chronq.sqlite"), "not a database, but long enough to be read as one")
        .expect("writes");
    let refused = store(folder.path(), Role::Serve, Clock::new()).await.map(drop).expect_err("no database");
    assert!(refused.to_string().starts_with("the store is corrupt: "), "{refused}");
}
