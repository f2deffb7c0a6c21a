//! Timers in both stores: what every store must do, and a model that random calls are held to.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly"
)]

#[path = "support/postgres.rs"]
mod postgres_server;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chronq::contract::TimerStatus;
use chronq::timer::accept::Put;
use chronq::timer::{Delay, TimerOutcome};
use chronq_server::store::log::FrameQuery;
use chronq_server::store::timers::{
    Consequence, PutTimer, TimerCall, TimerFailure, TimerWrite, TimersApplied,
};
use chronq_server::store::{self, Clock, DatabaseUrl, Role, Store};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

const LEASE_US: i64 = 10_000_000;
const LEASE: Duration = Duration::from_secs(10);

async fn sqlite() -> Arc<dyn Store> {
    store::open(&DatabaseUrl::Memory, Role::Serve, Clock::new()).await.expect("opens")
}

async fn postgres() -> Arc<dyn Store> {
    let url = postgres_server::fresh_url().await.parse().expect("a URL");
    store::open(&url, Role::Serve, Clock::new()).await.expect("opens")
}

/// One test per store from one sentence.
macro_rules! on_both {
    ($($behaviour:ident,)+) => {
        mod on_sqlite { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $behaviour() { super::$behaviour(super::sqlite().await).await; }
        )+ }
        mod on_postgres { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $behaviour() { super::$behaviour(super::postgres().await).await; }
        )+ }
    };
}

on_both! {
    a_call_over_quota_writes_nothing_and_its_own_cancels_free_no_room,
    a_timer_is_claimed_once_until_its_lease_has_passed,
    a_stale_claim_writes_nothing,
    a_timer_whose_claim_went_stale_is_claimed_again,
    a_claim_on_a_deleted_queue_does_not_fire_what_comes_after_it,
    entries_that_are_out_of_date_hide_no_due_timer,
    frames_of_one_cycle_enter_a_partition_in_expiry_order,
    a_failure_after_a_reschedule_is_history,
    a_far_timer_is_claimed_when_its_time_comes,
    a_tenant_meets_only_its_own,
    random_calls_keep_to_the_model,
}

fn put_as(tenant: &str, key: &str, delay_ms: i64) -> (Uuid, TimerCall) {
    let message_id = Uuid::now_v7();
    let put = Put {
        queue: "q".into(),
        timer_key: key.into(),
        partition: "Default".into(),
        delay: Delay::from_millis(delay_ms),
        txn: message_id.to_string(),
        payload: Bytes::from_static(b"{}"),
        zstd: false,
        encrypted: false,
    };
    let writes = vec![TimerWrite::Put(PutTimer { put, message_id, sealed: false })];
    (message_id, TimerCall { tenant: tenant.into(), producer: None, max_pending: None, writes })
}

fn put(key: &str, delay_ms: i64) -> (Uuid, TimerCall) {
    put_as("default", key, delay_ms)
}

fn cancel(key: &str) -> TimerWrite {
    TimerWrite::Cancel { queue: "q".into(), timer_key: key.into(), txn: None }
}

async fn apply(store: &dyn Store, call: TimerCall) -> Vec<TimerOutcome> {
    match store.apply_timer_ops(call).await.expect("applies") {
        TimersApplied::Done(outcomes) => outcomes,
        over @ TimersApplied::OverQuota { .. } => panic!("{over:?}"),
    }
}

async fn apply_one(store: &dyn Store, call: TimerCall) -> TimerStatus {
    apply(store, call).await[0].status()
}

async fn logged(store: &dyn Store) -> Vec<String> {
    let query = FrameQuery { queue: "q".into(), limit: 1_000_000, ..FrameQuery::default() };
    store.frames("default", query).await.expect("reads").into_iter().map(|frame| frame.txn).collect()
}

async fn pending(store: &dyn Store) -> u64 {
    let totals = store.timer_totals().await.expect("reads");
    totals.tenants.iter().find(|totals| totals.tenant == "default").map_or(0, |totals| totals.pending)
}

async fn a_call_over_quota_writes_nothing_and_its_own_cancels_free_no_room(store: Arc<dyn Store>) {
    let limited = |mut call: TimerCall| {
        call.max_pending = Some(2);
        call
    };
    for key in ["a", "b"] {
        assert_eq!(apply_one(&*store, limited(put(key, 60_000).1)).await, TimerStatus::Scheduled);
    }
    let mut call = limited(put("c", 60_000).1);
    call.writes.push(cancel("a"));
    let refused = store.apply_timer_ops(call).await.expect("answers");
    assert_eq!(refused, TimersApplied::OverQuota { held: 2, adding: 1 });
    assert_eq!(apply_one(&*store, limited(put("a", 60_000).1)).await, TimerStatus::Rescheduled);
    assert_eq!(pending(&*store).await, 2);
    let freed = TimerCall { writes: vec![cancel("a")], ..limited(put("x", 0).1) };
    assert_eq!(apply_one(&*store, freed).await, TimerStatus::Cancelled);
    assert_eq!(apply_one(&*store, limited(put("c", 60_000).1)).await, TimerStatus::Scheduled);
    let totals = store.timer_totals().await.expect("reads").tenants;
    assert_eq!((totals[0].pending, totals[0].metered), (2, 4));
}

async fn a_timer_is_claimed_once_until_its_lease_has_passed(store: Arc<dyn Store>) {
    apply(&*store, put("k", 0).1).await;
    let first = store.claim_due_timers(10, LEASE_US).await.expect("claims");
    assert_eq!(first.timers.len(), 1);
    assert_eq!(store.claim_due_timers(10, LEASE_US).await.expect("claims").timers, []);
    assert_eq!(apply_one(&*store, put("k", 0).1).await, TimerStatus::TooLate);
    store.clock().advance(LEASE);
    let again = store.claim_due_timers(10, LEASE_US).await.expect("claims");
    assert_eq!((again.timers.len(), again.timers[0].attempts), (1, 0));
}

async fn a_stale_claim_writes_nothing(store: Arc<dyn Store>) {
    apply(&*store, put("k", 0).1).await;
    let stale = store.claim_due_timers(10, LEASE_US).await.expect("claims");
    store.clock().advance(LEASE);
    let fired = store.fire_timers(stale.token, vec![stale.timers[0].id]).await.expect("answers");
    assert_eq!((fired.lags_us.len(), fired.stale), (0, 1));
    let (version, call) = put("k", 0);
    assert_eq!(apply_one(&*store, call).await, TimerStatus::Rescheduled);
    let fired = store.fire_timers(stale.token, vec![stale.timers[0].id]).await.expect("answers");
    assert_eq!((fired.lags_us.len(), fired.stale), (0, 1));
    let claim = store.claim_due_timers(10, LEASE_US).await.expect("claims");
    let fired = store.fire_timers(claim.token, vec![claim.timers[0].id]).await.expect("fires");
    assert_eq!((fired.lags_us.len(), fired.stale), (1, 0));
    assert_eq!(logged(&*store).await, [version.to_string()]);
}

async fn a_timer_whose_claim_went_stale_is_claimed_again(store: Arc<dyn Store>) {
    let (version, call) = put("k", 0);
    apply(&*store, call).await;
    let slow = store.claim_due_timers(10, LEASE_US).await.expect("claims");
    store.clock().advance(LEASE);
    let fired = store.fire_timers(slow.token, vec![slow.timers[0].id]).await.expect("answers");
    assert_eq!((fired.lags_us.len(), fired.stale), (0, 1));
    let again = store.claim_due_timers(10, LEASE_US).await.expect("claims");
    assert_eq!((again.timers.len(), again.timers[0].attempts), (1, 0));
    store.fire_timers(again.token, vec![again.timers[0].id]).await.expect("fires");
    assert_eq!(logged(&*store).await, [version.to_string()]);
}

async fn entries_that_are_out_of_date_hide_no_due_timer(store: Arc<dyn Store>) {
    // From the first claim on, a near timer is known in memory as well.
    assert_eq!(store.claim_due_timers(1, LEASE_US).await.expect("claims").timers, []);
    for key in ["a", "b", "c"] {
        apply(&*store, put(key, -1_000).1).await;
    }
    for key in ["a", "b", "c"] {
        assert_eq!(apply_one(&*store, put(key, 60_000).1).await, TimerStatus::Rescheduled);
    }
    apply(&*store, put("due", 0).1).await;
    let claim = store.claim_due_timers(1, LEASE_US).await.expect("claims");
    assert_eq!(claim.timers.iter().map(|timer| timer.timer_key.as_str()).collect::<Vec<_>>(), ["due"]);
}

async fn frames_of_one_cycle_enter_a_partition_in_expiry_order(store: Arc<dyn Store>) {
    let mut versions = Vec::new();
    for (key, delay_ms) in [("c", -1_000), ("a", -3_000), ("d", -500), ("b", -2_000)] {
        let (version, call) = put(key, delay_ms);
        apply(&*store, call).await;
        versions.push((delay_ms, version.to_string()));
    }
    let claim = store.claim_due_timers(10, LEASE_US).await.expect("claims");
    let keys: Vec<_> = claim.timers.iter().map(|timer| timer.timer_key.as_str()).collect();
    assert_eq!(keys, ["a", "b", "c", "d"]);
    let mut ids: Vec<_> = claim.timers.iter().map(|timer| timer.id).collect();
    ids.reverse();
    store.fire_timers(claim.token, ids).await.expect("fires");
    versions.sort();
    assert_eq!(logged(&*store).await, versions.into_iter().map(|(_, version)| version).collect::<Vec<_>>());
}

async fn a_failure_after_a_reschedule_is_history(store: Arc<dyn Store>) {
    apply(&*store, put("k", 0).1).await;
    let claim = store.claim_due_timers(10, LEASE_US).await.expect("claims");
    store.clock().advance(LEASE);
    assert_eq!(apply_one(&*store, put("k", 60_000).1).await, TimerStatus::Rescheduled);
    let failure =
        TimerFailure { id: claim.timers[0].id, error: "late".into(), consequence: Consequence::DeadLetter };
    assert_eq!(store.fail_timers(claim.token, vec![failure]).await, Ok(0));
    let peek = store.peek_timer("default", "q", "k").await.expect("reads").expect("stands").row;
    assert_eq!((peek.attempts, peek.last_error), (0, None));
}

async fn a_claim_on_a_deleted_queue_does_not_fire_what_comes_after_it(store: Arc<dyn Store>) {
    apply(&*store, put("k", 0).1).await;
    let claim = store.claim_due_timers(10, LEASE_US).await.expect("claims");
    store.delete_log("default", "q").await.expect("deletes");
    assert_eq!(apply_one(&*store, put("k", 60_000).1).await, TimerStatus::Scheduled);
    let fired = store.fire_timers(claim.token, vec![claim.timers[0].id]).await.expect("answers");
    assert_eq!((fired.lags_us, fired.stale), (vec![], 1));
    assert_eq!(logged(&*store).await, Vec::<String>::new());
    assert_eq!(
        apply_one(&*store, TimerCall { writes: vec![cancel("k")], ..put("x", 0).1 }).await,
        TimerStatus::Cancelled
    );
}

async fn a_far_timer_is_claimed_when_its_time_comes(store: Arc<dyn Store>) {
    const WEEK: Duration = Duration::from_hours(168);
    const MINUTE: Duration = Duration::from_mins(1);
    let (version, call) = put("k", 604_800_000);
    apply(&*store, call).await;
    assert_eq!(store.claim_due_timers(10, LEASE_US).await.expect("claims").timers, []);
    store.clock().advance(WEEK.saturating_sub(MINUTE));
    assert_eq!(store.claim_due_timers(10, LEASE_US).await.expect("claims").timers, []);
    let next = store.next_timer_due().await.expect("reads").expect("near");
    assert!((0..=60_000_000).contains(&(next - store.clock().now_micros())), "{next}");
    store.clock().advance(MINUTE);
    let claim = store.claim_due_timers(10, LEASE_US).await.expect("claims");
    store.fire_timers(claim.token, vec![claim.timers[0].id]).await.expect("fires");
    assert_eq!(logged(&*store).await, [version.to_string()]);
}

async fn a_tenant_meets_only_its_own(store: Arc<dyn Store>) {
    let (mine, call) = put_as("mine", "k", 0);
    apply(&*store, call).await;
    let (theirs, call) = put_as("theirs", "k", 0);
    assert_eq!(apply_one(&*store, call).await, TimerStatus::Scheduled);
    let absent = TimerCall { writes: vec![cancel("k")], ..put_as("nobody", "x", 0).1 };
    assert_eq!(apply_one(&*store, absent).await, TimerStatus::Absent);
    let claim = store.claim_due_timers(10, LEASE_US).await.expect("claims");
    store.fire_timers(claim.token, claim.timers.iter().map(|timer| timer.id).collect()).await.expect("fires");
    for (tenant, version) in [("mine", mine), ("theirs", theirs)] {
        let query = FrameQuery { queue: "q".into(), limit: 10, ..FrameQuery::default() };
        let frames = store.frames(tenant, query).await.expect("reads");
        assert_eq!(frames.iter().map(|frame| frame.message_id).collect::<Vec<_>>(), [version]);
        assert_eq!(
            store.newest_frame("nobody", frames[0].partition_id, &version.to_string()).await,
            Ok(None)
        );
    }
}

/// Entries read of the key's index, and rows written, so far.
async fn reading(url: &str) -> (i64, i64) {
    let mut connection = PgConnection::connect(url).await.expect("connects");
    sqlx::query_as(
        "SELECT (SELECT idx_tup_read FROM pg_stat_user_indexes \
                 WHERE schemaname = current_schema() AND indexrelname = 'timers_pkey'), \
                (SELECT n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables \
                 WHERE schemaname = current_schema() AND relname = 'timers')",
    )
    .fetch_one(&mut connection)
    .await
    .expect("reads the statistics")
}

/// Puts timers in calls of a hundred, and fires them a hundred at a time.
async fn put_and_fire(store: &dyn Store, calls: usize) {
    for call in 0..calls {
        let writes = (0..100).flat_map(|n| put(&format!("{call}-{n}"), 0).1.writes).collect();
        apply(store, TimerCall { writes, ..put("x", 0).1 }).await;
    }
    for _ in 0..calls {
        let claim = store.claim_due_timers(100, LEASE_US).await.expect("claims");
        let ids = claim.timers.iter().map(|timer| timer.id).collect();
        store.fire_timers(claim.token, ids).await.expect("fires");
    }
}

/// Plans are made by what the statistics say, and those are taken when the sweeper has just fired all there was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timers_are_found_by_their_keys_even_where_postgres_takes_their_table_for_empty() {
    let url = postgres_server::fresh_url().await;
    let store = store::open(&url.parse().expect("a URL"), Role::Serve, Clock::new()).await.expect("opens");
    put_and_fire(&*store, 1).await;
    let mut connection = PgConnection::connect(&url).await.expect("connects");
    // The pages stay, so that they are known to hold nothing.
    let emptied = "VACUUM (ANALYZE, TRUNCATE false) timers";
    sqlx::raw_sql(emptied).execute(&mut connection).await.expect("takes statistics");
    put_and_fire(&*store, 10).await;
    assert_eq!(logged(&*store).await.len(), 1_100);
    // A connection tells what it has done when it ends; each timer was put, claimed and fired.
    store.close().await;
    for _ in 0..200 {
        let (read, written) = reading(&url).await;
        if written == 3_300 {
            assert!(read <= 5_500, "{read} entries were read, where five a timer are enough");
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the statistics never came");
}

/// One step of a random history.
#[derive(Clone, Debug)]
enum Step {
    Put { key: u8, delay_ms: i64 },
    Cancel { key: u8 },
    Advance { ms: u64 },
    Claim { limit: u32 },
    Fire { claim: usize },
    Fail { claim: usize, dead: bool },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..6_u8, -500..8_000_i64).prop_map(|(key, delay_ms)| Step::Put { key, delay_ms }),
        2 => (0..6_u8).prop_map(|key| Step::Cancel { key }),
        3 => (1..6_000_u64).prop_map(|ms| Step::Advance { ms }),
        3 => (1..4_u32).prop_map(|limit| Step::Claim { limit }),
        3 => (0..3_usize).prop_map(|claim| Step::Fire { claim }),
        1 => (0..3_usize, any::<bool>()).prop_map(|(claim, dead)| Step::Fail { claim, dead }),
    ];
    prop::collection::vec(step, 1..60)
}

/// What the calls' answers say must be so.
#[derive(Default)]
struct Model {
    pending: HashMap<String, (Uuid, i64)>,
    created: usize,
    replaced: HashSet<Uuid>,
    cancelled: HashSet<Uuid>,
    fired: HashSet<Uuid>,
    dead: usize,
}

async fn random_calls_keep_to_the_model(store: Arc<dyn Store>) {
    let handle = tokio::runtime::Handle::current();
    // The runner is synchronous; each history drains the store, so that the next finds it empty.
    tokio::task::spawn_blocking(move || {
        let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
        let seen_before = std::cell::Cell::new(0);
        TestRunner::new(config)
            .run(&steps(), |steps| {
                let added = handle.block_on(live(&*store, steps, seen_before.get()));
                seen_before.set(seen_before.get() + added);
                Ok(())
            })
            .expect("every history keeps to the model");
    })
    .await
    .expect("runs");
}

/// Lives through a history; answers how many frames it added to the log.
async fn live(store: &dyn Store, steps: Vec<Step>, seen_before: usize) -> usize {
    let mut model = Model::default();
    let mut claims = Vec::new();
    for step in steps {
        match step {
            Step::Put { key, delay_ms } => {
                let key = format!("key-{key}");
                let (version, call) = put(&key, delay_ms);
                let due_us = store.clock().now_micros() + delay_ms * 1_000;
                let before = model.pending.get(&key).map(|(version, _)| *version);
                match (apply_one(store, call).await, before) {
                    (TimerStatus::Scheduled, None) => {
                        model.created += 1;
                        model.pending.insert(key, (version, due_us));
                    }
                    (TimerStatus::Rescheduled, Some(old)) => {
                        model.created += 1;
                        model.replaced.insert(old);
                        model.pending.insert(key, (version, due_us));
                    }
                    (TimerStatus::TooLate, Some(_)) => {}
                    answer => panic!("a put of {key} answered {answer:?}"),
                }
            }
            Step::Cancel { key } => {
                let key = format!("key-{key}");
                let call = TimerCall { writes: vec![cancel(&key)], ..put("x", 0).1 };
                match (apply_one(store, call).await, model.pending.get(&key).copied()) {
                    (TimerStatus::Cancelled, Some((version, _))) => {
                        model.cancelled.insert(version);
                        model.pending.remove(&key);
                    }
                    (TimerStatus::Absent, None) | (TimerStatus::TooLate, Some(_)) => {}
                    answer => panic!("a cancel of {key} answered {answer:?}"),
                }
            }
            Step::Advance { ms } => store.clock().advance(Duration::from_millis(ms)),
            Step::Claim { limit } => {
                let claim = store.claim_due_timers(limit, LEASE_US).await.expect("claims");
                for timer in &claim.timers {
                    let (_, due_us) = model.pending[&timer.timer_key];
                    assert!(due_us <= store.clock().now_micros(), "{} is early", timer.timer_key);
                }
                claims.push(claim);
            }
            Step::Fire { claim } if claim < claims.len() => {
                let claim = claims.swap_remove(claim);
                fire(store, &mut model, &claim).await;
            }
            Step::Fail { claim, dead } if claim < claims.len() => {
                let claim = claims.swap_remove(claim);
                let consequence = if dead {
                    Consequence::DeadLetter
                } else {
                    Consequence::Backoff { after_us: 1_000_000, spend: true }
                };
                let failures = claim
                    .timers
                    .iter()
                    .map(|timer| TimerFailure { id: timer.id, error: "poison".into(), consequence })
                    .collect();
                let before = pending(store).await;
                let dead = store.fail_timers(claim.token, failures).await.expect("fails");
                assert_eq!(before - pending(store).await, dead);
                model.dead += usize::try_from(dead).expect("few");
                for timer in &claim.timers {
                    if store.peek_timer("default", "q", &timer.timer_key).await.expect("reads").is_none() {
                        model.pending.remove(&timer.timer_key);
                    }
                }
            }
            Step::Fire { .. } | Step::Fail { .. } => {}
        }
    }
    assert_eq!(pending(store).await, model.pending.len() as u64);
    let settled = model.fired.len() + model.cancelled.len() + model.replaced.len() + model.dead;
    assert_eq!(
        model.created,
        settled + model.pending.len(),
        "created = fired + cancelled + replaced + dead + pending"
    );

    // Everything that is still pending is delivered in the end, once.
    store.clock().advance(Duration::from_mins(1));
    while !model.pending.is_empty() {
        let claim = store.claim_due_timers(10, LEASE_US).await.expect("claims");
        assert!(!claim.timers.is_empty(), "{:?} are pending and never claimed", model.pending);
        fire(store, &mut model, &claim).await;
    }
    let log = logged(store).await;
    let ours: Vec<&String> = log.iter().skip(seen_before).collect();
    let fired: HashSet<String> = model.fired.iter().map(Uuid::to_string).collect();
    assert_eq!(ours.len(), fired.len(), "each version is in the log once");
    assert!(ours.iter().all(|txn| fired.contains(*txn)));
    for taken_back in model.cancelled.iter().chain(&model.replaced) {
        assert!(!fired.contains(&taken_back.to_string()), "a version that was taken back was delivered");
    }
    ours.len()
}

async fn fire(store: &dyn Store, model: &mut Model, claim: &chronq_server::store::timers::TimerClaim) {
    let before = logged(store).await.len();
    let ids: Vec<_> = claim.timers.iter().map(|timer| timer.id).collect();
    let fired = store.fire_timers(claim.token, ids.clone()).await.expect("fires");
    assert_eq!(fired.lags_us.len() + fired.stale, ids.len());
    for txn in logged(store).await.into_iter().skip(before) {
        let version: Uuid = txn.parse().expect("a version");
        let key = model.pending.iter().find(|(_, (pending, _))| *pending == version);
        let key = key.unwrap_or_else(|| panic!("{version} was delivered and is not pending")).0.clone();
        let (_, due_us) = model.pending.remove(&key).expect("found");
        assert!(due_us <= store.clock().now_micros(), "{key} was delivered early");
        assert!(model.fired.insert(version), "{version} was delivered twice");
    }
}
