//! Several servers on one database.

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
