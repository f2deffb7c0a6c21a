//! Publishing, claiming, settling.

use std::collections::HashSet;

use chronq::contract::Method;
use chronq::publish::Callback;
use chronq::queue::QueueSettings;

use super::*;
use crate::store::types::claim::Settled;
use crate::store::types::queue::{QueueAgenda, QueuePut, Wake};

pub(crate) async fn a_message_is_claimed_once_with_all_that_an_attempt_needs(store: Fresh) {
    let callback = Callback::to("callback", "https://example.com/after").expect("a callback");
    let failure = Callback::to("failure-callback", "https://example.com/alert").expect("a callback");
    let new = NewMessage {
        method: Method::Put,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        retries: Some(7),
        timeout_ms: Some(1_500),
        retry_delay_ms: Some(250),
        labels: vec!["orders".to_owned(), "eu".to_owned()],
        callback: Some(callback.clone()),
        failure_callback: Some(failure.clone()),
        schedule: Some(name("nightly")),
        ..message("default")
    };
    let before = store.clock().now_ms();
    let id = publish(&store, new).await;
    let claimed = claim_one(&store, "default").await;
    assert_eq!(claimed.id, id);
    assert_eq!(claimed.queue.as_str(), "default");
    assert_eq!(claimed.destination.as_str(), "https://example.com/hook?a=1");
    assert_eq!(claimed.method, Method::Put);
    assert_eq!(claimed.headers, [("content-type".to_owned(), "application/json".to_owned())]);
    assert_eq!(&claimed.body[..], b"{\"orderId\":42}");
    assert_eq!((claimed.retried, claimed.max_retries), (0, 7));
    assert_eq!((claimed.timeout_ms, claimed.retry_delay_ms), (1_500, 250));
    assert_eq!((claimed.max_delay_ms, claimed.backoff), (21_600_000, true));
    assert_eq!(claimed.labels, ["orders", "eu"]);
    assert_eq!((claimed.callback, claimed.failure_callback), (Some(callback), Some(failure)));
    assert_eq!(claimed.schedule, Some(name("nightly")));
    assert_eq!(claimed.dead_letter_of, None);
    assert!(claimed.created_at >= before && claimed.lease.until >= before + 6_500);
    assert_eq!(claim(&store, "default", 10).await.len(), 0);
}

pub(crate) async fn options_fall_back_to_the_queue_and_then_to_the_default(store: Fresh) {
    publish(&store, message("default")).await;
    let claimed = claim_one(&store, "default").await;
    assert_eq!((claimed.max_retries, claimed.timeout_ms, claimed.retry_delay_ms), (3, 30_000, 10_000));
    let settings = QueueSettings {
        retry_limit: Some(9),
        retry_delay: Some(Duration::from_secs(42)),
        expire: Some(Duration::from_secs(777)),
        max_delay: Some(Duration::from_mins(1)),
        backoff: Some(false),
        ..QueueSettings::default()
    };
    store.put_queue(name("webhooks"), settings).await.expect("puts");
    publish(&store, NewMessage { retries: Some(1), ..message("webhooks") }).await;
    let claimed = claim_one(&store, "webhooks").await;
    assert_eq!((claimed.max_retries, claimed.timeout_ms, claimed.retry_delay_ms), (1, 777_000, 42_000));
    assert_eq!((claimed.max_delay_ms, claimed.backoff), (60_000, false));
}

pub(crate) async fn nothing_is_claimed_before_it_is_due(store: Fresh) {
    let id = publish(&store, NewMessage { due: later(30_000), ..message("default") }).await;
    assert_eq!(claim(&store, "default", 10).await.len(), 0);
    advance(&store, 20_000);
    assert_eq!(claim(&store, "default", 10).await.len(), 0);
    advance(&store, 10_000);
    assert_eq!(claim_one(&store, "default").await.id, id);
}

pub(crate) async fn the_oldest_due_comes_first(store: Fresh) {
    let mut ids = Vec::new();
    for wait in [3_000, 1_000, 2_000] {
        ids.push(publish(&store, NewMessage { due: later(wait), ..message("default") }).await);
    }
    advance(&store, 3_000);
    let mut order = Vec::new();
    for _ in 0..3 {
        order.extend(claim(&store, "default", 1).await.into_iter().map(|claimed| claimed.id));
    }
    assert_eq!(order, [ids[1], ids[2], ids[0]]);
}

pub(crate) async fn what_becomes_due_behind_the_last_claim_is_still_claimed(store: Fresh) {
    let now = store.clock().now_ms();
    let due = |ms: i64| NewMessage { due: Due::At(now - ms), ..message("default") };
    for ms in [3_000, 2_000, 1_000, 500] {
        publish(&store, due(ms)).await;
    }
    let first = claim(&store, "default", 2).await;
    let late = publish(&store, due(60_000)).await;
    let rest: HashSet<Uuid> =
        claim(&store, "default", 10).await.into_iter().map(|claimed| claimed.id).collect();
    assert_eq!((first.len(), rest.len()), (2, 3));
    assert!(rest.contains(&late));
}

pub(crate) async fn a_far_message_is_claimed_when_its_time_comes(store: Fresh) {
    const DAY_MS: u64 = 86_400_000;
    let far = publish(&store, NewMessage { due: later(300 * DAY_MS), ..message("default") }).await;
    let middle = publish(&store, NewMessage { due: later(7 * DAY_MS), ..message("default") }).await;
    advance(&store, 7 * DAY_MS - 1_000);
    assert_eq!(claim(&store, "default", 10).await.len(), 0);
    advance(&store, 1_000);
    assert_eq!(claim_one(&store, "default").await.id, middle);
    advance(&store, 293 * DAY_MS);
    assert_eq!(claim_one(&store, "default").await.id, far);
}

pub(crate) async fn an_unknown_queue_is_answered_and_nothing_is_made(store: Fresh) {
    assert_eq!(publish_outcome(&store, message("webhoks")).await, Enqueued::UnknownQueue);
    assert_eq!(store.queue(&name("webhoks")).await.expect("reads"), None);
    assert_eq!(claim(&store, "webhoks", 10).await.len(), 0);
}

pub(crate) async fn a_disabled_queue_refuses_publishes_and_still_delivers(store: Fresh) {
    store.put_queue(name("pausable"), QueueSettings::default()).await.expect("puts");
    let id = publish(&store, message("pausable")).await;
    let disabled = QueueSettings { enabled: Some(false), ..QueueSettings::default() };
    store.put_queue(name("pausable"), disabled).await.expect("puts");
    assert_eq!(publish_outcome(&store, message("pausable")).await, Enqueued::QueueDisabled);
    assert_eq!(claim_one(&store, "pausable").await.id, id);
}

pub(crate) async fn messages_due_now_are_handed_over_under_a_lease(store: Fresh) {
    let messages = vec![
        NewMessage { due: later(60_000), ..message("default") },
        message("default"),
        message("missing"),
        message("default"),
        message("default"),
    ];
    let hand_over = HandOver { places: vec![(name("default"), 2)], lease_ms: LEASE_MS };
    let answer = store.enqueue(messages, hand_over).await.expect("enqueues");
    assert_eq!(answer.outcomes.len(), 5);
    assert_eq!(answer.outcomes[2], Enqueued::UnknownQueue);
    assert_eq!(answer.claimed.len(), 2);
    for claimed in &answer.claimed {
        assert_eq!(state(&store, claimed.id).await, MessageState::Active);
        assert_eq!(&claimed.body[..], b"{\"orderId\":42}");
        assert_eq!((claimed.retried, claimed.max_retries, claimed.timeout_ms), (0, 3, 30_000));
        assert_eq!(settle(&store, claimed, 200, AttemptVerdict::Completed).await, Settled::Done);
    }
    let rest = claim_one(&store, "default").await;
    assert!(answer.claimed.iter().all(|claimed| claimed.id != rest.id));
}

pub(crate) async fn a_completed_message_is_never_claimed_again(store: Fresh) {
    let id = finished(&store, message("default"), AttemptVerdict::Completed).await;
    advance(&store, 3_600_000);
    assert_eq!(store.rescue().await.expect("rescues"), 0);
    assert_eq!(claim(&store, "default", 10).await.len(), 0);
    assert_eq!(state(&store, id).await, MessageState::Completed);
}

pub(crate) async fn a_retry_waits_and_keeps_its_raised_base(store: Fresh) {
    let id = publish(&store, message("default")).await;
    let claimed = claim_one(&store, "default").await;
    let retry = AttemptVerdict::Retry { wait_ms: 20_000, retry_delay_ms: 15_000 };
    assert_eq!(settle(&store, &claimed, 503, retry).await, Settled::Done);
    assert_eq!(state(&store, id).await, MessageState::Retry);
    advance(&store, 19_000);
    assert_eq!(claim(&store, "default", 10).await.len(), 0);
    advance(&store, 1_000);
    let again = claim_one(&store, "default").await;
    assert_eq!((again.id, again.retried, again.retry_delay_ms), (id, 1, 15_000));
}

pub(crate) async fn a_stale_lease_writes_nothing(store: Fresh) {
    let id = publish(&store, message("default")).await;
    let first = claim_one(&store, "default").await;
    advance(&store, 60_000);
    assert_eq!(store.rescue().await.expect("rescues"), 1);
    assert_eq!(settle(&store, &first, 200, AttemptVerdict::Completed).await, Settled::Stale);
    let second = claim_one(&store, "default").await;
    assert_eq!(settle(&store, &first, 200, AttemptVerdict::Failed).await, Settled::Stale);
    let shown = look_up(&store, id).await;
    assert_eq!((shown.state, shown.response), (MessageState::Active, None));
    assert_eq!(settle(&store, &second, 200, AttemptVerdict::Completed).await, Settled::Done);
    assert_eq!(settle(&store, &second, 200, AttemptVerdict::Completed).await, Settled::Stale);
}

pub(crate) async fn a_passed_lease_is_rescued_and_the_attempt_is_made_again(store: Fresh) {
    let id = publish(&store, message("default")).await;
    let first = claim_one(&store, "default").await;
    advance(&store, 30_000);
    assert_eq!(store.rescue().await.expect("rescues"), 0);
    advance(&store, 5_000);
    assert_eq!(store.rescue().await.expect("rescues"), 1);
    assert_eq!(state(&store, id).await, MessageState::Created);
    let again = claim_one(&store, "default").await;
    assert_eq!((again.id, again.retried), (id, first.retried));
}

pub(crate) async fn a_rescued_retry_stays_a_retry(store: Fresh) {
    let id = publish(&store, message("default")).await;
    let claimed = claim_one(&store, "default").await;
    let retry = AttemptVerdict::Retry { wait_ms: 1, retry_delay_ms: 1 };
    settle(&store, &claimed, 503, retry).await;
    advance(&store, 1_000);
    claim_one(&store, "default").await;
    advance(&store, 60_000);
    assert_eq!(store.rescue().await.expect("rescues"), 1);
    assert_eq!(state(&store, id).await, MessageState::Retry);
    assert_eq!(claim_one(&store, "default").await.retried, 1);
}

pub(crate) async fn concurrent_claims_never_share_a_message(store: Fresh) {
    let messages = vec![message("default"); 200];
    store.enqueue(messages, HandOver::default()).await.expect("enqueues");
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            let mut ids = Vec::new();
            loop {
                let claimed = claim(&store, "default", 7).await;
                if claimed.is_empty() {
                    return ids;
                }
                ids.extend(claimed.into_iter().map(|claimed| claimed.id));
            }
        });
    }
    let all: Vec<Uuid> = tasks.join_all().await.into_iter().flatten().collect();
    assert_eq!(all.len(), 200);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 200);
}

pub(crate) async fn the_agenda_names_queues_that_wait(store: Fresh) {
    assert_eq!(store.agenda().await.expect("reads"), []);
    store.put_queue(name("other"), QueueSettings::default()).await.expect("puts");
    let now = store.clock().now_ms();
    publish(&store, NewMessage { due: Due::At(now + 5_000), ..message("other") }).await;
    publish(&store, NewMessage { due: Due::At(now + 4_000), ..message("other") }).await;
    let agenda = store.agenda().await.expect("reads");
    assert_eq!(agenda, [QueueAgenda { queue: name("other"), next_due: now + 4_000 }]);
    advance(&store, 5_000);
    assert_eq!(claim(&store, "other", 10).await.len(), 2);
    assert_eq!(store.agenda().await.expect("reads"), []);
}

pub(crate) async fn a_publish_wakes_who_sleeps(store: Fresh) {
    let mut wakes = store.wakes();
    let now = store.clock().now_ms();
    publish(&store, NewMessage { due: Due::At(now + 50_000), ..message("default") }).await;
    let wake = wakes.recv().await.expect("a wake");
    assert_eq!(wake, Wake::Due { queue: name("default"), at: now + 50_000 });
    let put = store.put_queue(name("other"), QueueSettings::default()).await.expect("puts");
    assert!(matches!(put, QueuePut::Created(_)));
    assert_eq!(wakes.recv().await.expect("a wake"), Wake::QueuesChanged);
}

pub(crate) async fn a_failed_message_leaves_a_copy_in_the_dead_letter_queue(store: Fresh) {
    let buried = QueueSettings { retry_limit: Some(0), ..QueueSettings::default() };
    store.put_queue(name("buried"), buried).await.expect("puts");
    let settings = QueueSettings { dead_letter_queue: Some(name("buried")), ..QueueSettings::default() };
    store.put_queue(name("mortal"), settings).await.expect("puts");
    let new = NewMessage {
        method: Method::Patch,
        headers: vec![("x-api-key".to_owned(), "fake".to_owned())],
        labels: vec!["orders".to_owned()],
        retries: Some(50),
        callback: Some(Callback::to("callback", "https://example.com/after").expect("a callback")),
        ..message("mortal")
    };
    let id = publish(&store, new).await;
    let claimed = claim_one(&store, "mortal").await;
    let settled = settle(&store, &claimed, 503, AttemptVerdict::Failed).await;
    let Settled::DeadLettered { id: copy } = settled else { panic!("no dead letter: {settled:?}") };
    assert_eq!(state(&store, id).await, MessageState::Failed);
    let dead = claim_one(&store, "buried").await;
    assert_eq!((dead.id, dead.dead_letter_of), (copy, Some(id)));
    assert_eq!(dead.destination.as_str(), "https://example.com/hook?a=1");
    assert_eq!(dead.method, Method::Patch);
    assert_eq!(dead.headers, [("x-api-key".to_owned(), "fake".to_owned())]);
    assert_eq!(&dead.body[..], b"{\"orderId\":42}");
    assert_eq!((dead.retried, dead.max_retries, dead.labels.len()), (0, 0, 1));
    assert_eq!((dead.callback, dead.failure_callback), (None, None));
}

pub(crate) async fn a_missing_dead_letter_queue_loses_nothing_else(store: Fresh) {
    store.put_queue(name("buried"), QueueSettings::default()).await.expect("puts");
    let settings = QueueSettings { dead_letter_queue: Some(name("buried")), ..QueueSettings::default() };
    store.put_queue(name("mortal"), settings).await.expect("puts");
    store.delete_queue(&name("buried")).await.expect("deletes");
    publish(&store, message("mortal")).await;
    let claimed = claim_one(&store, "mortal").await;
    assert_eq!(settle(&store, &claimed, 503, AttemptVerdict::Failed).await, Settled::Done);
    assert_eq!(state(&store, claimed.id).await, MessageState::Failed);
}
