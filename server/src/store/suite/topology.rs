//! Queues and URL groups.

use bytes::Bytes;
use chronq::contract::{Method, Missed};
use chronq::queue::QueueSettings;

use super::*;
use crate::store::types::event::EventFilter;
use crate::store::types::group::GroupAddition;
use crate::store::types::queue::{QueueDeleted, QueuePut};
use crate::store::types::schedule::{ScheduleQueue, ScheduleSpec};

pub(crate) async fn the_default_queue_is_always_there(store: Fresh) {
    let queue = store.queue(&Name::default_queue()).await.expect("reads").expect("is there");
    assert_eq!((queue.settings.clone(), queue.created_at), (QueueSettings::default(), None));
    let force = queue.in_force();
    assert_eq!((force.retry_limit, force.retry_delay_ms, force.expire_ms), (3, 10_000, 30_000));
    assert_eq!((force.max_delay_ms, force.concurrency, force.backoff), (21_600_000, 10, true));
    assert_eq!((force.keep_completed_ms, force.keep_queued_ms), (604_800_000, 1_209_600_000));
    let put = store.put_queue(Name::default_queue(), QueueSettings::default()).await.expect("puts");
    assert!(matches!(put, QueuePut::Created(_)), "{put:?}");
    let put = store.put_queue(Name::default_queue(), QueueSettings::default()).await.expect("puts");
    assert!(matches!(put, QueuePut::Updated(_)), "{put:?}");
}

pub(crate) async fn a_queue_is_created_then_updated(store: Fresh) {
    let first = QueueSettings { concurrency: Some(1), ..QueueSettings::default() };
    let put = store.put_queue(name("webhooks"), first.clone()).await.expect("puts");
    let QueuePut::Created(created) = put else { panic!("{put:?}") };
    assert_eq!((created.name.as_str(), &created.settings), ("webhooks", &first));
    advance(&store, 1_000);
    let second = QueueSettings {
        expire: Some(Duration::from_millis(1_500)),
        description: Some("hooks".to_owned()),
        ..QueueSettings::default()
    };
    let put = store.put_queue(name("webhooks"), second.clone()).await.expect("puts");
    let QueuePut::Updated(updated) = put else { panic!("{put:?}") };
    assert_eq!((&updated.settings, updated.created_at), (&second, created.created_at));
    assert!(updated.updated_at > created.updated_at);
    let names: Vec<String> =
        store.queues().await.expect("reads").into_iter().map(|queue| queue.name.to_string()).collect();
    assert_eq!(names, ["default", "webhooks"]);
}

pub(crate) async fn a_dead_letter_queue_must_exist_and_not_lead_back(store: Fresh) {
    let to =
        |target: &str| QueueSettings { dead_letter_queue: Some(name(target)), ..QueueSettings::default() };
    let put = store.put_queue(name("a"), to("b")).await.expect("answers");
    assert_eq!(put, QueuePut::UnknownDeadLetterQueue);
    assert_eq!(store.queue(&name("a")).await.expect("reads"), None);
    assert_eq!(store.put_queue(name("a"), to("a")).await.expect("answers"), QueuePut::DeadLetterCycle);
    store.put_queue(name("b"), QueueSettings::default()).await.expect("puts");
    store.put_queue(name("a"), to("b")).await.expect("puts");
    assert_eq!(store.put_queue(name("b"), to("a")).await.expect("answers"), QueuePut::DeadLetterCycle);
}

pub(crate) async fn a_deleted_queue_takes_its_messages_with_it(store: Fresh) {
    store.put_queue(name("gone"), QueueSettings::default()).await.expect("puts");
    let id = publish(&store, message("gone")).await;
    let kept = publish(&store, message("default")).await;
    assert_eq!(store.delete_queue(&name("gone")).await.expect("deletes"), QueueDeleted::Deleted);
    assert_eq!(store.delete_queue(&name("gone")).await.expect("answers"), QueueDeleted::NotFound);
    assert_eq!(store.message(id).await.expect("reads"), None);
    assert_eq!(publish_outcome(&store, message("gone")).await, Enqueued::UnknownQueue);
    let page = EventFilter { limit: 10, ..EventFilter::default() };
    assert_eq!(store.events(page).await.expect("reads").total, 1);
    assert_eq!(store.purge(100).await.expect("purges"), 1);
    assert_eq!(store.purge(100).await.expect("purges"), 0);
    assert_eq!(claim_one(&store, "default").await.id, kept);
}

pub(crate) async fn a_queue_made_anew_does_not_inherit_messages(store: Fresh) {
    store.put_queue(name("again"), QueueSettings::default()).await.expect("puts");
    publish(&store, message("again")).await;
    store.delete_queue(&name("again")).await.expect("deletes");
    store.put_queue(name("again"), QueueSettings::default()).await.expect("puts");
    assert_eq!(claim(&store, "again", 10).await.len(), 0);
    let id = publish(&store, message("again")).await;
    assert_eq!(claim_one(&store, "again").await.id, id);
}

pub(crate) async fn the_default_queue_cannot_be_deleted(store: Fresh) {
    let deleted = store.delete_queue(&Name::default_queue()).await.expect("answers");
    assert_eq!(deleted, QueueDeleted::IsDefault);
    publish(&store, message("default")).await;
}

pub(crate) async fn a_queue_that_a_schedule_uses_stays(store: Fresh) {
    store.put_queue(name("used"), QueueSettings::default()).await.expect("puts");
    let spec = ScheduleSpec {
        name: name("nightly"),
        expression: "0 3 * * *".to_owned(),
        timezone: "UTC".to_owned(),
        missed: Missed::Skip,
        destination: destination("https://example.com/report"),
        method: Method::Post,
        headers: Vec::new(),
        body: Bytes::new(),
        timeout_ms: 30_000,
        queue: ScheduleQueue::Named(name("used")),
        failure_callback: None,
        enabled: true,
        description: None,
    };
    store.put_schedule(spec, None).await.expect("puts");
    assert_eq!(
        store.delete_queue(&name("used")).await.expect("answers"),
        QueueDeleted::UsedBySchedule(name("nightly"))
    );
    assert!(store.delete_schedule(&name("nightly")).await.expect("deletes"));
    assert_eq!(store.delete_queue(&name("used")).await.expect("deletes"), QueueDeleted::Deleted);
}

pub(crate) async fn a_group_is_made_by_its_first_endpoint_and_keeps_known_ones(store: Fresh) {
    let (a, b) = (destination("https://a.example/hook"), destination("https://b.example/hook"));
    assert_eq!(store.group(&name("order-events")).await.expect("reads"), None);
    store.add_to_group(name("order-events"), vec![b.clone()]).await.expect("adds");
    let added = store.add_to_group(name("order-events"), vec![a.clone(), b.clone()]).await.expect("adds");
    let GroupAddition::Group(group) = added else { panic!("{added:?}") };
    assert_eq!(group.endpoints, [b, a]);
    assert_eq!(store.group(&name("order-events")).await.expect("reads"), Some(group.clone()));
    assert_eq!(store.groups().await.expect("reads"), [group]);
}

pub(crate) async fn a_group_holds_a_hundred_endpoints(store: Fresh) {
    let urls = |range: std::ops::Range<usize>| {
        range.map(|n| destination(&format!("https://example.com/{n}"))).collect::<Vec<_>>()
    };
    let added = store.add_to_group(name("many"), urls(0..101)).await.expect("answers");
    assert_eq!(added, GroupAddition::Full);
    assert_eq!(store.group(&name("many")).await.expect("reads"), None);
    let added = store.add_to_group(name("many"), urls(0..100)).await.expect("adds");
    assert!(matches!(added, GroupAddition::Group(group) if group.endpoints.len() == 100));
    let added = store.add_to_group(name("many"), urls(100..101)).await.expect("answers");
    assert_eq!(added, GroupAddition::Full);
    let known = store.add_to_group(name("many"), urls(0..1)).await.expect("adds");
    assert!(matches!(known, GroupAddition::Group(_)));
}

pub(crate) async fn endpoints_are_removed_and_a_group_may_be_empty(store: Fresh) {
    let url = destination("https://a.example/hook");
    assert_eq!(store.remove_from_group(&name("g"), vec![url.clone()]).await.expect("answers"), None);
    store.add_to_group(name("g"), vec![url.clone()]).await.expect("adds");
    let left = store.remove_from_group(&name("g"), vec![url]).await.expect("removes").expect("is there");
    assert_eq!(left.endpoints, []);
    assert!(store.group(&name("g")).await.expect("reads").is_some());
}

pub(crate) async fn a_group_is_deleted_once(store: Fresh) {
    store.add_to_group(name("g"), vec![destination("https://a.example/")]).await.expect("adds");
    assert!(store.delete_group(&name("g")).await.expect("deletes"));
    assert!(!store.delete_group(&name("g")).await.expect("answers"));
    store.add_to_group(name("g"), Vec::new()).await.expect("adds");
    let group = store.group(&name("g")).await.expect("reads").expect("is there");
    assert_eq!(group.endpoints, []);
}
