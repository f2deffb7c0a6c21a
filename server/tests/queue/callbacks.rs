//! Callbacks and failure callbacks.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::*;

#[tokio::test]
async fn a_callback_reports_once_and_is_signed_for_its_own_url() {
    let server = start().await;
    script(&server, "a", json!([{ "status": 201, "headers": { "x-r": "1" }, "body": "{\"ok\":true}" }]));
    let (url, after) = (server.inbox_url("a"), server.inbox_url("after?x=1"));
    let headers = [
        ("chronq-callback", after.as_str()),
        ("chronq-callback-method", "put"),
        ("chronq-callback-forward-x-trace", "abc123"),
        ("chronq-failure-callback", after.as_str()),
        ("chronq-label", "orders"),
    ];
    let id = publish(&server, &url, &headers, "x").await.id();
    let request = &received(&server, "after", 1).await[0];
    assert_eq!((request.method.as_str(), request.header("x-trace")), ("PUT", Some("abc123")));
    assert_eq!(request.header("content-type"), Some("application/json"));
    verify(request, &after);
    let report: Value = serde_json::from_str(request.body.as_deref().expect("text")).expect("json");
    assert_eq!(report["messageId"], id);
    assert_eq!(report["url"], url);
    assert_eq!((&report["status"], &report["responseBody"]), (&json!(201), &json!("{\"ok\":true}")));
    assert_eq!(report["responseHeaders"]["x-r"], "1");
    assert_eq!((&report["responseTruncated"], &report["labels"]), (&json!(false), &json!(["orders"])));
    assert_eq!((&report["retried"], &report["maxRetries"]), (&json!(0), &json!(3)));
    assert!(report["durationMs"].is_u64());
    assert_eq!(report.as_object().expect("object").len(), 10);
}

#[tokio::test]
async fn a_failure_callback_fires_once_at_exhaustion() {
    let server = start().await;
    script(&server, "a", respond(&[500]));
    let failed = server.inbox_url("failed");
    let headers = [
        ("chronq-failure-callback", failed.as_str()),
        ("chronq-callback", failed.as_str()),
        ("chronq-retries", "1"),
        ("chronq-retry-delay", "1ms"),
    ];
    let id = publish_to(&server, "a", &headers, "x").await.id();
    let request = &received(&server, "failed", 1).await[0];
    let report: Value = serde_json::from_str(request.body.as_deref().expect("text")).expect("json");
    assert_eq!((&report["retried"], &report["maxRetries"]), (&json!(1), &json!(1)));
    assert_eq!((&report["messageId"], &report["status"]), (&json!(id), &json!(500)));
    received(&server, "a", 2).await;
    assert!(server.shutdown().await);
}

#[tokio::test]
async fn a_failure_callback_fires_on_the_first_attempt_for_a_non_retryable_failure() {
    let server = start().await;
    script(&server, "a", json!([{ "status": 489, "headers": { "chronq-nonretryable-error": "true" } }]));
    let failed = server.inbox_url("failed");
    publish_to(&server, "a", &[("chronq-failure-callback", failed.as_str())], "x").await.id();
    let request = &received(&server, "failed", 1).await[0];
    let report: Value = serde_json::from_str(request.body.as_deref().expect("text")).expect("json");
    assert_eq!((&report["retried"], &report["maxRetries"]), (&json!(0), &json!(3)));
}

#[tokio::test]
async fn a_callback_that_fails_is_not_made_again_and_changes_nothing() {
    let server = start().await;
    script(&server, "after", respond(&[500]));
    let after = server.inbox_url("after");
    let id = publish_to(&server, "a", &[("chronq-callback", after.as_str())], "x").await.id();
    received(&server, "after", 1).await;
    assert_eq!(message_in(&server, &id, "completed").await["retried"], 0);
    let inboxes = server.state().clone();
    // A shutdown finishes callbacks: whatever would still have come is there afterwards.
    assert!(server.shutdown().await);
    assert_eq!(inboxes.inboxes.as_ref().expect("dev").requests("after").len(), 1);
}

#[tokio::test]
async fn a_callback_s_own_timeout_cuts_it_off() {
    let server = start().await;
    script(&server, "b", respond(&[500]));
    for (inbox, callback) in [("a", "chronq-callback"), ("b", "chronq-failure-callback")] {
        let silent = RawReceiver::start().await;
        let (url, timeout) = (silent.url("/"), format!("{callback}-timeout"));
        let headers = [(callback, url.as_str()), (timeout.as_str(), "300ms"), ("chronq-retries", "0")];
        publish_to(&server, inbox, &headers, "x").await.id();
        let waited = silent.take_in_silence().await;
        // The default is half a minute, longer than the test has patience.
        assert!(waited >= Duration::from_millis(250), "{waited:?}");
    }
}
