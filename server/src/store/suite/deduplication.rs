//! Duplicates inside the window.

use chronq::queue::QueueSettings;

use super::*;
use crate::store::types::message::DeduplicationKey;

fn keyed(queue: &str, id: &str) -> NewMessage {
    NewMessage { deduplication: Some(DeduplicationKey::explicit(id)), ..message(queue) }
}

pub(crate) async fn a_second_publish_in_the_window_answers_the_first_id(store: Fresh) {
    store.put_queue(name("other"), QueueSettings::default()).await.expect("puts");
    let first = publish(&store, keyed("default", "order-42")).await;
    let second = publish_outcome(&store, keyed("other", "order-42")).await;
    assert_eq!(second, Enqueued::Duplicate { id: first, queue: name("default") });
    assert_ne!(publish(&store, keyed("default", "order-43")).await, first);
    assert_eq!(claim(&store, "other", 10).await.len(), 0);
}

pub(crate) async fn the_window_starts_at_the_first_publish(store: Fresh) {
    let first = publish(&store, keyed("default", "order-42")).await;
    advance(&store, 599_000);
    let second = publish_outcome(&store, keyed("default", "order-42")).await;
    assert_eq!(second, Enqueued::Duplicate { id: first, queue: name("default") });
    advance(&store, 1_000);
    assert_ne!(publish(&store, keyed("default", "order-42")).await, first);
}

pub(crate) async fn duplicates_in_one_batch_are_one_message(store: Fresh) {
    let batch = vec![keyed("default", "a"), keyed("default", "b"), keyed("default", "a")];
    let answer = store.enqueue(batch, HandOver::default()).await.expect("enqueues");
    let Enqueued::Queued { id, .. } = answer.outcomes[0] else { panic!("{:?}", answer.outcomes) };
    assert!(matches!(answer.outcomes[1], Enqueued::Queued { .. }));
    assert_eq!(answer.outcomes[2], Enqueued::Duplicate { id, queue: name("default") });
    assert_eq!(claim(&store, "default", 10).await.len(), 2);
}

pub(crate) async fn a_refused_publish_takes_no_key(store: Fresh) {
    assert_eq!(publish_outcome(&store, keyed("later", "order-42")).await, Enqueued::UnknownQueue);
    store.put_queue(name("later"), QueueSettings::default()).await.expect("puts");
    publish(&store, keyed("later", "order-42")).await;
}

pub(crate) async fn a_failed_message_keeps_its_key(store: Fresh) {
    let id = finished(&store, keyed("default", "order-42"), AttemptVerdict::Failed).await;
    let again = publish_outcome(&store, keyed("default", "order-42")).await;
    assert_eq!(again, Enqueued::Duplicate { id, queue: name("default") });
}

pub(crate) async fn concurrent_publishes_of_one_key_make_one_message(store: Fresh) {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let store = Arc::clone(&store);
        tasks.spawn(async move { publish_outcome(&store, keyed("default", "order-42")).await });
    }
    let outcomes = tasks.join_all().await;
    let queued = outcomes.iter().filter(|outcome| matches!(outcome, Enqueued::Queued { .. })).count();
    let duplicates = outcomes.iter().filter(|outcome| matches!(outcome, Enqueued::Duplicate { .. })).count();
    assert_eq!((queued, duplicates), (1, 15));
    assert_eq!(claim(&store, "default", 10).await.len(), 1);
}
