//! Several servers on one database.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use chronq_server::config::Database;
use chronq_server::testing::TestServer;
use serde_json::json;

use crate::support::*;

/// Two servers that know nothing of each other but the database.
async fn two() -> (TestServer, TestServer) {
    let config = config().await;
    let first = TestServer::start_with(config.clone()).await.expect("a server");
    (first, TestServer::start_with(config).await.expect("another"))
}

#[tokio::test]
async fn each_attempt_is_made_once_while_nothing_fails() {
    let (first, second) = two().await;
    let receiver = start().await;
    put_queue(&first, "q", json!({ "concurrency": 5 })).await;
    for round in 0..10 {
        let entries: serde_json::Value = (0..100)
            .map(|n| json!({ "destination": receiver.inbox_url("a"), "queue": "q", "body": format!("{round}-{n}") }))
            .collect();
        let server = if round % 2 == 0 { &first } else { &second };
        let answer = call(server, "POST", "/v2/batch", &[], entries.to_string().as_bytes()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(
            answer.json().as_array().expect("results").iter().all(|result| result["messageId"].is_string())
        );
    }
    let requests = received(&receiver, "a", 1_000).await;
    assert!(first.shutdown().await);
    assert!(second.shutdown().await);
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for request in &requests {
        *counts.entry(request.header("chronq-message-id").expect("id").to_owned()).or_default() += 1;
    }
    assert_eq!(counts.len(), 1_000);
    assert_eq!(receiver.state().inboxes.as_ref().expect("dev").requests("a").len(), 1_000);
}

#[tokio::test]
async fn what_one_server_takes_another_shows_and_cancels() {
    let (first, second) = two().await;
    let id = publish_to(&first, "a", &[("chronq-delay", "1h")], "x").await.id();
    assert_eq!(message(&second, &id).await["state"], "created");
    let path = format!("/v2/messages/{id}");
    assert_eq!(call(&second, "DELETE", &path, &[], b"").await.status, 200);
    assert_eq!(message(&first, &id).await["state"], "cancelled");
}

#[tokio::test]
async fn a_killed_servers_messages_are_taken_over_after_the_lease() {
    let config = config().await;
    let Database::Postgres(url) = &config.database else { panic!("these tests run on Postgres") };
    let survivor = TestServer::start_with(config.clone()).await.expect("a server");
    let receiver = start().await;
    script(&receiver, "a", json!([{ "delayMs": 60_000 }, { "status": 200 }]));
    let mut doomed = Command::new(env!("CARGO_BIN_EXE_chronq"))
        .args(["serve", "--listen", "127.0.0.1:0", "--database-url", url.expose()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    let mut line = String::new();
    BufReader::new(doomed.stdout.take().expect("stdout")).read_line(&mut line).expect("a line");
    let ready: serde_json::Value = serde_json::from_str(&line).expect("json");
    assert!(ready.get("token").is_none(), "secrets are shown in dev mode only: {ready}");
    let address = ready["url"].as_str().and_then(|url| url.strip_prefix("http://")).expect("url");
    // The survivor put its token into the database that both share.
    let request = format!(
        "POST /v2/publish/{} HTTP/1.1\r\nhost: t\r\nconnection: close\r\nauthorization: Bearer {}\r\ncontent-length: 0\r\n\r\n",
        receiver.inbox_url("a"),
        survivor.token()
    );
    let id = raw(address.parse().expect("address"), request.as_bytes()).await.id();
    received(&receiver, "a", 1).await;
    doomed.kill().expect("killed");
    doomed.wait().expect("gone");
    assert_eq!(message(&survivor, &id).await["state"], "active");
    survivor.clock().advance(Duration::from_mins(1));
    received(&receiver, "a", 2).await;
    message_in(&survivor, &id, "completed").await;
}
