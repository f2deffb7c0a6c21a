//! A thousand due timers around which a server is killed or its database stopped, or which several
//! servers sweep: each is in the log exactly once, none early, none lost, no attempt spent.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::database::{Data, on_both};
use crate::own_postgres::{OwnPostgres, Stop};
use crate::process::{Process, until};

const TIMERS: usize = 1_000;
/// What a dead sweeper holds is free after so long.
const SHORT_LEASE: (&str, &str) = ("QUEEN_SWEEPER_LEASE_MS", "2000");

on_both! {
    a_kill_around_a_thousand_due_timers_loses_none_and_doubles_none,
}

/// Txn and instant of each timer that was promised.
type Promised = BTreeMap<String, String>;

/// Schedules timers of one part, due from 300 ms from now on, `step_ms` apart.
async fn schedule(server: &Process, part: usize, count: usize, step_ms: usize) -> Promised {
    let operations: Vec<_> = (0..count)
        .map(|n| {
            json!({"op": "schedule", "queue": "q", "timerKey": format!("{part}-{n}"),
                   "delayMs": 300 + step_ms * n, "txn": format!("txn-{part}-{n}"), "payload": "e30="})
        })
        .collect();
    let answer = server.json("POST", "/api/v1/timers", &json!(operations).to_string()).await;
    let text = |result: &Value, name: &str| result[name].as_str().expect("text").to_owned();
    let results = answer["results"].as_array().expect("results").iter();
    results.map(|result| (text(result, "txn"), text(result, "deliverAt"))).collect()
}

async fn a_thousand(server: &Process, step_ms: usize) -> Promised {
    let mut promised = Promised::new();
    for part in 0..4 {
        promised.append(&mut schedule(server, part, TIMERS / 4, step_ms).await);
    }
    assert_eq!(promised.len(), TIMERS);
    promised
}

/// Everything in the log, as far as the database answers.
async fn logged(server: &Process) -> Option<Vec<Value>> {
    let answer = server.call("GET", "/api/v1/messages?queue=q&limit=1000", "").await;
    let found: Value = serde_json::from_str(&answer.body).ok()?;
    found["messages"].as_array().cloned()
}

async fn until_some_fired(server: &Process, more_than: usize) {
    until("a fire", async || logged(server).await.filter(|frames| frames.len() > more_than)).await;
}

/// Waits until no timer is left; none may have spent an attempt meanwhile.
async fn until_all_fired(server: &Process) {
    until("the last fire", async || {
        let left = server.json("GET", "/api/v1/timers/q?limit=1000", "").await;
        let left = left["rows"].as_array().expect("rows");
        assert!(left.iter().all(|row| row["attempts"] == json!(0)), "an attempt was spent");
        left.is_empty().then_some(())
    })
    .await;
}

async fn assert_each_once_and_none_early(server: &Process, promised: &Promised) {
    let frames = logged(server).await.expect("the log");
    assert_eq!(frames.len(), promised.len(), "each once");
    let text = |frame: &Value, name: &str| frame[name].as_str().expect("text").to_owned();
    let delivered: Promised =
        frames.iter().map(|frame| (text(frame, "transactionId"), text(frame, "createdAt"))).collect();
    assert!(delivered.keys().eq(promised.keys()), "other timers than those promised");
    for (created_at, (txn, deliver_at)) in delivered.values().zip(promised) {
        assert!(created_at >= deliver_at, "{txn} was early: {created_at} before {deliver_at}");
    }
}

async fn a_kill_around_a_thousand_due_timers_loses_none_and_doubles_none(data: Data) {
    let mut server = Process::serve(&data, &[SHORT_LEASE]);
    let promised = a_thousand(&server, 1).await;
    // Killed again and again while they fire.
    let mut fired = 0;
    for _ in 0..3 {
        until_some_fired(&server, fired).await;
        server.kill();
        server = Process::serve(&data, &[SHORT_LEASE]);
        fired = logged(&server).await.expect("the log").len();
        if fired == TIMERS {
            break;
        }
    }
    until_all_fired(&server).await;
    assert_each_once_and_none_early(&server, &promised).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_stopped_around_a_thousand_due_timers_loses_none_and_doubles_none() {
    let mut postgres = OwnPostgres::start_new();
    let data = Data::on(&postgres).await;
    let mut server = Process::serve(&data, &[SHORT_LEASE]);
    let promised = a_thousand(&server, 8).await;
    let mut fired = 0;
    for stop in [Stop::Immediate, Stop::Fast] {
        until_some_fired(&server, fired).await;
        postgres.stop(stop);
        let answer = server.call("GET", "/api/v1/timers/q", "").await;
        assert_eq!(answer.status, 503, "{answer:?}");
        assert_eq!(answer.header("retry-after"), Some("1"), "{answer:?}");
        postgres.start();
        fired = until("the log", async || logged(&server).await).await.len();
        if fired == TIMERS {
            break;
        }
    }
    until_all_fired(&server).await;
    assert_each_once_and_none_early(&server, &promised).await;
    assert!(server.lives());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_sweep_one_postgres_without_a_double_fire() {
    let data = Data::postgres().await;
    // Small batches, so that both find some.
    let servers = [(); 2].map(|()| Process::serve(&data, &[("QUEEN_SWEEPER_CLAIM_BATCH", "10")]));
    let mut promised = Promised::new();
    let mut fired = [0; 2];
    let mut part = 0;
    while fired.contains(&0) || part < 6 {
        for server in &servers {
            promised.append(&mut schedule(server, part, 125, 1).await);
            part += 1;
        }
        until_all_fired(&servers[0]).await;
        for (count, server) in fired.iter_mut().zip(&servers) {
            *count = fired_by(server).await;
        }
    }
    assert_eq!(fired.iter().sum::<usize>(), promised.len(), "{fired:?}");
    assert_each_once_and_none_early(&servers[0], &promised).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wake_up_that_was_lost_while_postgres_was_away_is_made_up_for() {
    let mut postgres = OwnPostgres::start_new();
    let data = Data::on(&postgres).await;
    let sweeper = Process::serve(&data, &[("QUEEN_SWEEPER_MAX_SLEEP_MS", "3600000")]);
    let front = Process::serve(&data, &[("QUEEN_SWEEPER", "false")]);
    for part in 0..2 {
        if part == 1 {
            postgres.stop(Stop::Fast);
            // As long as an attempt to connect takes: those of the sweeper's listener fail too.
            assert_eq!(sweeper.call("GET", "/ready", "").await.status, 503);
            postgres.start();
        }
        let operation = json!([{"op": "schedule", "queue": "q", "timerKey": "k", "delayMs": 300,
                                "txn": format!("txn-{part}"), "payload": "e30="}]);
        // Right after the start, before the sweeper listens again.
        until("the schedule", async || {
            let answer = front.call("POST", "/api/v1/timers", &operation.to_string()).await;
            (answer.status == 200).then_some(())
        })
        .await;
        until_some_fired(&sweeper, part).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_stood_still_past_its_leases_fires_nothing_twice() {
    let data = Data::postgres().await;
    let paused = Process::serve(&data, &[SHORT_LEASE]);
    let mut promised = Promised::new();
    for part in 0..3 {
        promised.append(&mut schedule(&paused, part, 250, 3).await);
    }
    until_some_fired(&paused, 0).await;
    paused.pause();
    let other = Process::serve(&data, &[SHORT_LEASE]);
    until_all_fired(&other).await;
    other.kill();
    paused.resume();
    // One more, which it can fire only once it is through with what it had claimed.
    promised.append(&mut schedule(&paused, 3, 1, 1).await);
    until_all_fired(&paused).await;
    assert_each_once_and_none_early(&paused, &promised).await;
}

/// What this process fired, by its own count.
async fn fired_by(server: &Process) -> usize {
    let metrics = server.call("GET", "/metrics", "").await.body;
    let line = metrics.lines().find_map(|line| line.strip_prefix("queen_timers_fired_total "));
    line.and_then(|count| count.parse().ok()).expect("the count")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timer_put_where_nobody_sweeps_wakes_the_sweeper_of_another_process() {
    let data = Data::postgres().await;
    let sweeper = Process::serve(&data, &[("QUEEN_SWEEPER_MAX_SLEEP_MS", "3600000")]);
    let front = Process::serve(&data, &[("QUEEN_SWEEPER", "false")]);
    // The first may come before the sweeper falls asleep; after each it sleeps for an hour.
    for part in 0..3 {
        let promised = schedule(&front, part, 1, 0).await;
        until_some_fired(&sweeper, part).await;
        assert_eq!(promised.len(), 1);
    }
    assert_eq!(fired_by(&front).await, 0);
}
