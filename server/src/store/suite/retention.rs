//! What is kept, and for how long.

use chronq::queue::QueueSettings;

use super::*;
use crate::store::types::message::DeduplicationKey;

pub(crate) async fn finished_messages_go_after_keep_completed(store: Fresh) {
    let settings = QueueSettings { keep_completed: Some(Duration::from_mins(1)), ..QueueSettings::default() };
    store.put_queue(name("brief"), settings).await.expect("puts");
    let labelled = NewMessage { labels: vec!["orders".to_owned()], ..message("brief") };
    let brief = finished(&store, labelled, AttemptVerdict::Completed).await;
    let failed = finished(&store, message("brief"), AttemptVerdict::Failed).await;
    let long = finished(&store, message("default"), AttemptVerdict::Completed).await;
    advance(&store, 59_000);
    assert_eq!(store.purge(100).await.expect("purges"), 0);
    advance(&store, 1_000);
    assert_eq!(store.purge(100).await.expect("purges"), 2);
    assert_eq!(store.message(brief).await.expect("reads"), None);
    assert_eq!(store.message(failed).await.expect("reads"), None);
    assert_eq!(state(&store, long).await, MessageState::Completed);
}

pub(crate) async fn waiting_messages_go_after_keep_queued_past_their_due_instant(store: Fresh) {
    let settings = QueueSettings { keep_queued: Some(Duration::from_mins(1)), ..QueueSettings::default() };
    store.put_queue(name("brief"), settings).await.expect("puts");
    let due = publish(&store, message("brief")).await;
    let delayed = publish(&store, NewMessage { due: later(100_000), ..message("brief") }).await;
    let long = publish(&store, message("default")).await;
    advance(&store, 61_000);
    assert_eq!(store.purge(100).await.expect("purges"), 1);
    assert_eq!(store.message(due).await.expect("reads"), None);
    assert_eq!(state(&store, delayed).await, MessageState::Created);
    assert_eq!(state(&store, long).await, MessageState::Created);
    assert_eq!(claim(&store, "brief", 10).await.len(), 0);
}

pub(crate) async fn a_purge_is_bounded_and_can_be_repeated(store: Fresh) {
    for _ in 0..5 {
        finished(&store, message("default"), AttemptVerdict::Completed).await;
    }
    advance(&store, limits::DEFAULT_KEEP_COMPLETED_MS);
    assert_eq!(store.purge(2).await.expect("purges"), 2);
    assert_eq!(store.purge(2).await.expect("purges"), 2);
    assert_eq!(store.purge(2).await.expect("purges"), 1);
}

pub(crate) async fn deduplication_keys_go_after_their_window(store: Fresh) {
    let keyed = NewMessage { deduplication: Some(DeduplicationKey::explicit("a")), ..message("default") };
    publish(&store, keyed).await;
    assert_eq!(store.purge(100).await.expect("purges"), 0);
    advance(&store, 600_000);
    assert_eq!(store.purge(100).await.expect("purges"), 1);
}
