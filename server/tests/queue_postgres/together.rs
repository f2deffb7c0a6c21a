//! Several servers on one database.

use std::collections::BTreeMap;

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
