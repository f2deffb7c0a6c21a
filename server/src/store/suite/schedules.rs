//! Schedules: one run among several instances, edits, leases.

use chronq::contract::{Method, Missed};
use chronq::queue::QueueSettings;

use super::*;
use crate::store::UnixMillis;
use crate::store::types::schedule::{
    DueSchedule, Schedule, ScheduleFire, ScheduleFired, SchedulePut, ScheduleQueue, ScheduleSpec,
};

const SCHEDULE_LEASE_MS: u64 = 10_000;

fn spec(queue: ScheduleQueue) -> ScheduleSpec {
    ScheduleSpec {
        name: name("nightly-report"),
        expression: "0 3 * * *".to_owned(),
        timezone: "America/Chicago".to_owned(),
        missed: Missed::Once,
        destination: destination("https://example.com/report"),
        method: Method::Put,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: Bytes::from_static(b"{\"report\":\"nightly\"}"),
        timeout_ms: 30_000,
        queue,
        failure_callback: Some(destination("https://example.com/alerts")),
        enabled: true,
        description: Some("every night".to_owned()),
    }
}

fn on_default() -> ScheduleSpec {
    spec(ScheduleQueue::Named(Name::default_queue()))
}

async fn put(store: &Fresh, spec: ScheduleSpec, next_run: Option<UnixMillis>) -> Schedule {
    match store.put_schedule(spec, next_run).await.expect("puts") {
        SchedulePut::Created(schedule) | SchedulePut::Updated(schedule) => schedule,
        SchedulePut::UnknownQueue => panic!("unknown queue"),
    }
}

async fn due(store: &Fresh) -> Vec<DueSchedule> {
    store.claim_due_schedules(10, SCHEDULE_LEASE_MS).await.expect("claims")
}

fn run_of(due: &DueSchedule, next_run: Option<UnixMillis>) -> ScheduleFire {
    let run = NewMessage {
        schedule: Some(due.schedule.spec.name.clone()),
        ..message(due.schedule.queue().as_str())
    };
    ScheduleFire { lease: due.lease.clone(), run: Some(run), next_run }
}

pub(crate) async fn a_schedule_is_created_then_updated(store: Fresh) {
    let now = store.clock().now_ms();
    let put_once = store.put_schedule(on_default(), Some(now + 5_000)).await.expect("puts");
    let SchedulePut::Created(created) = put_once else { panic!("{put_once:?}") };
    assert_eq!((&created.spec, created.next_run), (&on_default(), Some(now + 5_000)));
    assert_eq!(created.last_run, None);
    advance(&store, 1_000);
    let edited = ScheduleSpec { expression: "@daily".to_owned(), failure_callback: None, ..on_default() };
    let put_again = store.put_schedule(edited.clone(), Some(now + 9_000)).await.expect("puts");
    let SchedulePut::Updated(updated) = put_again else { panic!("{put_again:?}") };
    assert_eq!((&updated.spec, updated.created_at), (&edited, created.created_at));
    assert_eq!(store.schedule(&name("nightly-report")).await.expect("reads"), Some(updated.clone()));
    assert_eq!(store.schedules().await.expect("reads"), [updated]);
    assert_eq!(store.next_schedule_due().await.expect("reads"), Some(now + 9_000));
}

pub(crate) async fn a_schedule_without_a_queue_gets_its_own(store: Fresh) {
    let schedule = put(&store, spec(ScheduleQueue::Own), None).await;
    assert_eq!(schedule.queue().as_str(), "nightly-report");
    assert!(store.queue(&name("nightly-report")).await.expect("reads").is_some());
    put(&store, spec(ScheduleQueue::Own), None).await;
    assert_eq!(store.queues().await.expect("reads").len(), 2);
}

pub(crate) async fn an_unknown_queue_is_refused(store: Fresh) {
    let put = store.put_schedule(spec(ScheduleQueue::Named(name("missing"))), None).await.expect("answers");
    assert_eq!(put, SchedulePut::UnknownQueue);
    assert_eq!(store.schedules().await.expect("reads"), []);
}

pub(crate) async fn a_due_schedule_is_claimed_by_one(store: Fresh) {
    let now = store.clock().now_ms();
    put(&store, on_default(), Some(now + 1_000)).await;
    assert_eq!(due(&store).await.len(), 0);
    advance(&store, 1_000);
    let (one, two) = tokio::join!(due(&store), due(&store));
    assert_eq!(one.len() + two.len(), 1);
    let claimed = one.into_iter().chain(two).next().expect("one");
    assert_eq!((claimed.due_at, claimed.schedule.queue().as_str()), (now + 1_000, "default"));
}

pub(crate) async fn a_run_and_the_move_are_one_transaction(store: Fresh) {
    let now = store.clock().now_ms();
    put(&store, on_default(), Some(now)).await;
    let claimed = due(&store).await.remove(0);
    let fire = run_of(&claimed, Some(now + 60_000));
    let fired = store.fire_schedule(fire.clone()).await.expect("fires");
    let ScheduleFired::Ran(Enqueued::Queued { id, .. }) = fired else { panic!("{fired:?}") };
    let shown = look_up(&store, id).await;
    assert_eq!(shown.schedule, Some(name("nightly-report")));
    let schedule = store.schedule(&name("nightly-report")).await.expect("reads").expect("is there");
    assert_eq!(schedule.next_run, Some(now + 60_000));
    assert!(schedule.last_run.expect("ran") >= now);
    assert_eq!(store.fire_schedule(fire).await.expect("answers"), ScheduleFired::Stale);
    assert_eq!(claim(&store, "default", 10).await.len(), 1);
}

pub(crate) async fn a_lease_that_passed_is_claimed_again(store: Fresh) {
    let now = store.clock().now_ms();
    put(&store, on_default(), Some(now)).await;
    let first = due(&store).await.remove(0);
    assert_eq!(due(&store).await.len(), 0);
    assert!(store.next_schedule_due().await.expect("reads").expect("is due") >= now + 10_000);
    advance(&store, SCHEDULE_LEASE_MS);
    let second = due(&store).await.remove(0);
    assert_eq!(second.due_at, now);
    let late = store.fire_schedule(run_of(&first, None)).await.expect("answers");
    assert_eq!(late, ScheduleFired::Stale);
    let fired = store.fire_schedule(run_of(&second, None)).await.expect("fires");
    assert!(matches!(fired, ScheduleFired::Ran(_)));
    assert_eq!(store.next_schedule_due().await.expect("reads"), None);
}

pub(crate) async fn an_edit_ends_the_lease(store: Fresh) {
    let now = store.clock().now_ms();
    put(&store, on_default(), Some(now)).await;
    let claimed = due(&store).await.remove(0);
    put(&store, on_default(), Some(now + 60_000)).await;
    let fired = store.fire_schedule(run_of(&claimed, Some(now + 5))).await.expect("answers");
    assert_eq!(fired, ScheduleFired::Stale);
    assert_eq!(store.next_schedule_due().await.expect("reads"), Some(now + 60_000));
    assert_eq!(claim(&store, "default", 10).await.len(), 0);
}

pub(crate) async fn a_disabled_schedule_is_never_due(store: Fresh) {
    let now = store.clock().now_ms();
    let schedule = put(&store, ScheduleSpec { enabled: false, ..on_default() }, Some(now)).await;
    assert_eq!(schedule.next_run, None);
    assert_eq!(due(&store).await.len(), 0);
    assert_eq!(store.next_schedule_due().await.expect("reads"), None);
}

pub(crate) async fn a_skipped_occurrence_moves_the_schedule_without_a_run(store: Fresh) {
    let now = store.clock().now_ms();
    put(&store, on_default(), Some(now)).await;
    let claimed = due(&store).await.remove(0);
    let skip = ScheduleFire { lease: claimed.lease, run: None, next_run: Some(now + 60_000) };
    assert_eq!(store.fire_schedule(skip).await.expect("moves"), ScheduleFired::Skipped);
    let schedule = store.schedule(&name("nightly-report")).await.expect("reads").expect("is there");
    assert_eq!((schedule.next_run, schedule.last_run), (Some(now + 60_000), None));
    assert_eq!(claim(&store, "default", 10).await.len(), 0);
}

pub(crate) async fn a_run_into_a_disabled_queue_is_refused_and_the_schedule_moves_on(store: Fresh) {
    let now = store.clock().now_ms();
    put(&store, spec(ScheduleQueue::Own), Some(now)).await;
    let disabled = QueueSettings { enabled: Some(false), ..QueueSettings::default() };
    store.put_queue(name("nightly-report"), disabled).await.expect("puts");
    let claimed = due(&store).await.remove(0);
    let fired = store.fire_schedule(run_of(&claimed, Some(now + 60_000))).await.expect("fires");
    assert_eq!(fired, ScheduleFired::Ran(Enqueued::QueueDisabled));
    assert_eq!(store.next_schedule_due().await.expect("reads"), Some(now + 60_000));
}

pub(crate) async fn a_deleted_schedule_is_gone(store: Fresh) {
    let now = store.clock().now_ms();
    put(&store, on_default(), Some(now)).await;
    let claimed = due(&store).await.remove(0);
    assert!(store.delete_schedule(&name("nightly-report")).await.expect("deletes"));
    assert!(!store.delete_schedule(&name("nightly-report")).await.expect("answers"));
    let fired = store.fire_schedule(run_of(&claimed, None)).await.expect("answers");
    assert_eq!(fired, ScheduleFired::Stale);
}
