//! The event log.

use chronq::queue::QueueSettings;

use super::*;
use crate::store::types::claim::{Cancelled, RetriedByHand};
use crate::store::types::event::EventFilter;

pub(crate) async fn a_lookup_shows_the_whole_life_of_a_message(store: Fresh) {
    let new = NewMessage {
        labels: vec!["orders".to_owned()],
        schedule: Some(name("nightly")),
        ..message("default")
    };
    let id = publish(&store, new).await;
    let created = look_up(&store, id).await;
    assert_eq!((created.id, created.queue.as_str(), created.state), (id, "default", MessageState::Created));
    assert_eq!(created.destination.as_str(), "https://example.com/hook?a=1");
    assert_eq!((created.labels, created.schedule), (vec!["orders".to_owned()], Some(name("nightly"))));
    assert_eq!((created.started_at, created.finished_at, created.response), (None, None, None));
    assert_eq!((created.retried, created.max_retries), (0, 3));
    advance(&store, 1_000);
    let claimed = claim_one(&store, "default").await;
    let active = look_up(&store, id).await;
    assert_eq!((active.state, active.response), (MessageState::Active, None));
    assert!(active.started_at.expect("began") >= created.created_at + 1_000);
    settle(&store, &claimed, 503, AttemptVerdict::Retry { wait_ms: 0, retry_delay_ms: 1 }).await;
    let retrying = look_up(&store, id).await;
    assert_eq!((retrying.state, retrying.retried), (MessageState::Retry, 1));
    assert_eq!(retrying.response, Some(response(503)));
    let claimed = claim_one(&store, "default").await;
    settle(&store, &claimed, 200, AttemptVerdict::Completed).await;
    let completed = look_up(&store, id).await;
    assert_eq!((completed.state, completed.response), (MessageState::Completed, Some(response(200))));
    assert!(completed.finished_at >= completed.started_at && completed.finished_at.is_some());
}

pub(crate) async fn an_unknown_message_is_not_found(store: Fresh) {
    let id = Uuid::from_u128(7);
    assert_eq!(store.message(id).await.expect("reads"), None);
    assert_eq!(store.cancel(id).await.expect("answers"), Cancelled::NotFound);
    assert_eq!(store.retry_failed(id).await.expect("answers"), RetriedByHand::NotFound);
}

pub(crate) async fn a_waiting_message_is_cancelled_and_not_delivered(store: Fresh) {
    let id = publish(&store, message("default")).await;
    let other = publish(&store, message("default")).await;
    assert_eq!(store.cancel(id).await.expect("cancels"), Cancelled::Cancelled);
    let again = store.cancel(id).await.expect("answers");
    assert_eq!(again, Cancelled::NotCancellable(MessageState::Cancelled));
    assert_eq!(claim_one(&store, "default").await.id, other);
    let shown = look_up(&store, id).await;
    assert_eq!((shown.state, shown.finished_at.is_some()), (MessageState::Cancelled, true));
}

pub(crate) async fn a_retrying_message_is_cancelled(store: Fresh) {
    let id = publish(&store, message("default")).await;
    let claimed = claim_one(&store, "default").await;
    settle(&store, &claimed, 503, AttemptVerdict::Retry { wait_ms: 5, retry_delay_ms: 5 }).await;
    assert_eq!(store.cancel(id).await.expect("cancels"), Cancelled::Cancelled);
    advance(&store, 60_000);
    assert_eq!(claim(&store, "default", 10).await.len(), 0);
}

pub(crate) async fn an_active_or_finished_message_is_not_cancelled(store: Fresh) {
    let id = publish(&store, message("default")).await;
    let claimed = claim_one(&store, "default").await;
    assert_eq!(store.cancel(id).await.expect("answers"), Cancelled::NotCancellable(MessageState::Active));
    settle(&store, &claimed, 200, AttemptVerdict::Completed).await;
    assert_eq!(store.cancel(id).await.expect("answers"), Cancelled::NotCancellable(MessageState::Completed));
}

pub(crate) async fn a_failed_message_gets_one_more_attempt_under_its_id(store: Fresh) {
    let id = finished(&store, message("default"), AttemptVerdict::Failed).await;
    assert_eq!(store.retry_failed(id).await.expect("retries"), RetriedByHand::Queued);
    assert_eq!(state(&store, id).await, MessageState::Retry);
    let claimed = claim_one(&store, "default").await;
    assert_eq!((claimed.id, claimed.retried, claimed.max_retries), (id, 1, 1));
    settle(&store, &claimed, 200, AttemptVerdict::Completed).await;
    assert_eq!(state(&store, id).await, MessageState::Completed);
}

pub(crate) async fn only_a_failed_message_is_retried_by_hand(store: Fresh) {
    let id = publish(&store, message("default")).await;
    assert_eq!(
        store.retry_failed(id).await.expect("answers"),
        RetriedByHand::NotFailed(MessageState::Created)
    );
    claim_one(&store, "default").await;
    assert_eq!(
        store.retry_failed(id).await.expect("answers"),
        RetriedByHand::NotFailed(MessageState::Active)
    );
}

pub(crate) async fn events_are_newest_first_with_a_total(store: Fresh) {
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(publish(&store, message("default")).await);
    }
    let page = EventFilter { limit: 2, offset: 1, ..EventFilter::default() };
    let page = store.events(page).await.expect("reads");
    assert_eq!(page.total, 5);
    assert_eq!(page.messages.iter().map(|message| message.id).collect::<Vec<_>>(), [ids[3], ids[2]]);
}

pub(crate) async fn events_are_filtered_by_queue_state_label_and_schedule(store: Fresh) {
    store.put_queue(name("other"), QueueSettings::default()).await.expect("puts");
    let done = finished(&store, message("default"), AttemptVerdict::Completed).await;
    let labelled = NewMessage { labels: vec!["orders".to_owned(), "eu".to_owned()], ..message("other") };
    let labelled = publish(&store, labelled).await;
    let run = publish(&store, NewMessage { schedule: Some(name("nightly")), ..message("other") }).await;
    let all = EventFilter { limit: 10, ..EventFilter::default() };
    let cases = [
        (EventFilter { queue: Some(name("other")), ..all.clone() }, vec![run, labelled]),
        (EventFilter { queue: Some(name("missing")), ..all.clone() }, vec![]),
        (EventFilter { state: Some(MessageState::Completed), ..all.clone() }, vec![done]),
        (EventFilter { label: Some("eu".to_owned()), ..all.clone() }, vec![labelled]),
        (EventFilter { label: Some("us".to_owned()), ..all.clone() }, vec![]),
        (EventFilter { schedule: Some(name("nightly")), ..all.clone() }, vec![run]),
        (
            EventFilter {
                queue: Some(name("other")),
                state: Some(MessageState::Created),
                label: Some("orders".to_owned()),
                ..all.clone()
            },
            vec![labelled],
        ),
        (
            EventFilter { schedule: Some(name("nightly")), label: Some("orders".to_owned()), ..all.clone() },
            vec![],
        ),
        (all, vec![run, labelled, done]),
    ];
    for (filter, expected) in cases {
        let page = store.events(filter.clone()).await.expect("reads");
        let ids: Vec<Uuid> = page.messages.iter().map(|message| message.id).collect();
        assert_eq!((ids, page.total), (expected.clone(), expected.len() as u64), "{filter:?}");
    }
}

pub(crate) async fn figures_cover_what_finished_since(store: Fresh) {
    finished(&store, message("default"), AttemptVerdict::Failed).await;
    advance(&store, 3_600_000);
    let since = store.clock().now_ms();
    for duration_ms in [10, 20, 30, 400] {
        publish(&store, message("default")).await;
        let claimed = claim_one(&store, "default").await;
        let mut done = settlement(&claimed, 200, AttemptVerdict::Completed);
        done.response = AttemptResponse { duration_ms, ..response(200) }.into();
        store.settle(vec![done]).await.expect("settles");
    }
    let id = publish(&store, NewMessage { due: later(5_000), ..message("default") }).await;
    publish(&store, message("default")).await;
    claim_one(&store, "default").await;
    let cancelled = publish(&store, message("default")).await;
    store.cancel(cancelled).await.expect("cancels");
    store.put_queue(name("idle"), QueueSettings::default()).await.expect("puts");
    let figures = store.queue_metrics(since).await.expect("reads");
    let names: Vec<&str> = figures.iter().map(|figure| figure.queue.as_str()).collect();
    assert_eq!(names, ["default", "idle"]);
    assert_eq!((figures[0].finished, figures[0].succeeded), (4, 4));
    assert_eq!((figures[0].p50_ms, figures[0].p95_ms), (Some(20), Some(400)));
    assert_eq!((figures[0].waiting, figures[0].active), (1, 1));
    assert_eq!((figures[1].finished, figures[1].p50_ms), (0, None));
    let all = store.queue_metrics(0).await.expect("reads");
    assert_eq!((all[0].finished, all[0].succeeded), (5, 4));
    assert_eq!(state(&store, id).await, MessageState::Created);
}

pub(crate) async fn headers_and_bodies_come_back_byte_for_byte(store: Fresh) {
    let body = "é\u{0}\"\\\n".repeat(1_000);
    let headers =
        vec![("X-Odd".to_owned(), "a, \"b\" \\ é\t".to_owned()), ("x-odd".to_owned(), String::new())];
    let new = NewMessage { headers: headers.clone(), body: body.clone().into(), ..message("default") };
    publish(&store, new).await;
    let claimed = claim_one(&store, "default").await;
    assert_eq!((claimed.headers.clone(), &claimed.body[..]), (headers.clone(), body.as_bytes()));
    let mut done = settlement(&claimed, 200, AttemptVerdict::Completed);
    let body = Bytes::from_static(&[0, 255, 128, 10]);
    let kept = AttemptResponse { headers, body, truncated: true, ..response(200) };
    done.response = kept.clone().into();
    store.settle(vec![done]).await.expect("settles");
    assert_eq!(look_up(&store, claimed.id).await.response, Some(kept));
}
