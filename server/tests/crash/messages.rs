//! Messages: killed servers, a stopped database, several servers.

use std::collections::BTreeSet;
use std::time::Duration;

use chronq_server::testing::TestServer;
use serde_json::{Value, json};

use crate::database::{Data, on_both};
use crate::load::{Load, all_arrive, assert_is_unavailable, verified};
use crate::own_postgres::{OwnPostgres, Stop};
use crate::process::{PATIENCE, Process, until};

on_both! {
    nothing_acknowledged_is_lost_when_the_process_is_killed_under_load,
}

async fn nothing_acknowledged_is_lost_when_the_process_is_killed_under_load(data: Data) {
    let receiver = TestServer::start().await.expect("a receiver");
    let inbox = receiver.inbox_url("a");
    let mut acknowledged = BTreeSet::new();
    for _ in 0..2 {
        let server = Process::serve(&data, &[]);
        let load = Load::start(server.address, &inbox);
        // Somewhere in the middle of it.
        let enough = verified(&receiver, "a").len() + 40;
        assert!(receiver.received("a", enough, PATIENCE).await.len() >= enough, "nothing is delivered");
        server.kill();
        acknowledged.extend(load.end().await);
    }
    assert!(acknowledged.len() >= 40, "{}", acknowledged.len());
    let last = data.serve_here().await;
    // What the dead had claimed is theirs until their leases pass.
    last.clock().advance(Duration::from_mins(1));
    all_arrive(&receiver, "a", &acknowledged).await;
    verified(&receiver, "a");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_postgres_is_away_publishes_are_refused_and_nothing_acknowledged_is_lost() {
    let mut postgres = OwnPostgres::start_new();
    let data = Data::on(&postgres).await;
    let receiver = TestServer::start().await.expect("a receiver");
    let mut server = Process::serve(&data, &[]);
    let every_second = json!({ "name": "tick", "cron": "* * * * * *", "url": receiver.inbox_url("ticks") });
    assert_eq!(server.call("POST", "/v2/schedules", &every_second.to_string()).await.status, 201);
    let load = Load::start(server.address, &receiver.inbox_url("a"));
    for stop in [Stop::Immediate, Stop::Fast] {
        load.acknowledges(50).await;
        assert_eq!(server.call("GET", "/ready", "").await.status, 200);
        postgres.stop(stop);
        let ((), ready) = tokio::join!(load.is_refused(), server.call("GET", "/ready", ""));
        assert_is_unavailable(&ready);
        assert_eq!(server.call("GET", "/health", "").await.status, 200);
        postgres.start();
        load.acknowledges(50).await;
        until("readiness", async || (server.call("GET", "/ready", "").await.status == 200).then_some(()))
            .await;
        let ticks = receiver.state().inboxes.as_ref().expect("dev").requests("ticks").len() + 1;
        assert!(receiver.received("ticks", ticks, PATIENCE).await.len() >= ticks, "{stop:?}: no more runs");
    }
    let acknowledged = load.end().await;
    all_arrive(&receiver, "a", &acknowledged).await;
    verified(&receiver, "a");
    assert!(server.lives());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_stands_still_keeps_nobody_waiting_for_ever() {
    let mut postgres = OwnPostgres::start_new();
    let data = Data::on(&postgres).await;
    let receiver = TestServer::start().await.expect("a receiver");
    let mut server = Process::serve(&data, &[]);
    let load = Load::start(server.address, &receiver.inbox_url("a"));
    load.acknowledges(50).await;
    postgres.pause();
    let ((), ready, events, peeked) = tokio::join!(
        load.is_refused(),
        server.call("GET", "/ready", ""),
        server.call("GET", "/v2/events", ""),
        server.call("GET", "/api/v1/timers/q/k", ""),
    );
    assert_is_unavailable(&ready);
    assert_is_unavailable(&events);
    assert_eq!(peeked.status, 503);
    assert!(peeked.body.starts_with(r#"{"error":"timers_unavailable","#), "{peeked:?}");
    postgres.resume();
    load.acknowledges(50).await;
    let acknowledged = load.end().await;
    // What was under way while it stood still is somebody's until its lease passes.
    all_arrive(&receiver, "a", &acknowledged).await;
    verified(&receiver, "a");
    assert!(server.lives());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_told_to_stop_while_postgres_is_away_stops() {
    let mut postgres = OwnPostgres::start_new();
    let data = Data::on(&postgres).await;
    let receiver = TestServer::start().await.expect("a receiver");
    let mut server = Process::serve(&data, &[("CHRONQ_SHUTDOWN_GRACE", "1s")]);
    let load = Load::start(server.address, &receiver.inbox_url("a"));
    load.acknowledges(20).await;
    postgres.stop(Stop::Immediate);
    server.terminate();
    until("the end of the process", async || (!server.lives()).then_some(())).await;
    // What it had acknowledged is another's to deliver.
    postgres.start();
    let acknowledged = load.end().await;
    let other = data.serve_here().await;
    other.clock().advance(Duration::from_mins(1));
    all_arrive(&receiver, "a", &acknowledged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_make_each_attempt_of_ten_thousand_messages_once() {
    const BATCHES: usize = 100;
    let data = Data::postgres().await;
    let receiver = TestServer::start().await.expect("a receiver");
    let servers = [Process::serve(&data, &[]), Process::serve(&data, &[])];
    let queue = json!({ "concurrency": 100 }).to_string();
    assert_eq!(servers[0].call("PUT", "/v2/queues/q", &queue).await.status, 201);
    let entry = json!({ "destination": receiver.inbox_url("a"), "queue": "q", "body": "x" });
    let batch = Value::from(vec![entry; 100]).to_string();
    let mut published = BTreeSet::new();
    for round in 0..BATCHES {
        let answer = servers[round % 2].json("POST", "/v2/batch", &batch).await;
        let ids = answer.as_array().expect("results").iter();
        published.extend(ids.map(|result| result["messageId"].as_str().expect("an id").to_owned()));
    }
    assert_eq!(published.len(), 10_000);
    receiver.received("a", 10_000, PATIENCE).await;
    // Once all are settled, no attempt can follow.
    until("the settlement of all", async || {
        let found = servers[0].json("GET", "/v2/events?queue=q&state=completed&limit=1", "").await;
        (found["total"] == 10_000).then_some(())
    })
    .await;
    let arrivals = verified(&receiver, "a");
    assert_eq!(arrivals.keys().cloned().collect::<BTreeSet<_>>(), published);
    assert!(arrivals.values().all(|count| *count == 1), "an attempt was made twice");
}
