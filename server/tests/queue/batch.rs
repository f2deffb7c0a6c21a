//! "Batch".

use serde_json::{Value, json};

use crate::support::*;

async fn batch(server: &chronq_server::testing::TestServer, entries: Value) -> Answer {
    call(server, "POST", "/v2/batch", &[("content-type", "application/json")], entries.to_string().as_bytes())
        .await
}

#[tokio::test]
async fn each_entry_is_queued_on_its_own_with_the_options_of_its_headers() {
    let server = start().await;
    let answer = batch(
        &server,
        json!([
            { "destination": server.inbox_url("a"), "body": "{\"n\":1}",
              "headers": { "content-type": "application/json", "chronq-method": "PUT", "Chronq-Forward-X-A": "1" } },
            { "destination": server.inbox_url("b"), "queue": "orders" },
            { "destination": server.inbox_url("b") },
        ]),
    )
    .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let results = answer.json();
    assert_eq!(results[0]["queue"], "default");
    assert_eq!(results[0]["deduplicated"], false);
    assert_eq!(results[1], json!({ "error": "unknown queue: \"orders\"" }));
    assert!(results[2]["messageId"].is_string());
    let request = &received(&server, "a", 1).await[0];
    assert_eq!((request.method.as_str(), request.header("x-a")), ("PUT", Some("1")));
    assert_eq!(received(&server, "b", 1).await[0].body.as_deref(), Some(""));
}

#[tokio::test]
async fn a_batch_is_checked_whole_before_anything_is_queued() {
    let server = start().await;
    let good = json!({ "destination": server.inbox_url("a") });
    for (bad, sentence) in [
        (
            json!({ "destination": "not-a-url" }),
            "entry 1: destination must be an absolute URL, got \"not-a-url\"",
        ),
        (
            json!({ "destination": server.inbox_url("a"), "headers": { "chronq-retries": "101" } }),
            "entry 1: chronq-retries must be between 0 and 100",
        ),
        (
            json!({ "destination": "http://169.254.169.254/" }),
            "entry 1: destination must not lead to an address that this server may not dial, got \"http://169.254.169.254/\"",
        ),
    ] {
        assert_eq!(batch(&server, json!([good, bad])).await.refusal(), (400, sentence.to_owned()));
    }
    let none = batch(&server, json!([])).await;
    assert_eq!(none.status, 400);
    let many = batch(&server, (0..101).map(|_| good.clone()).collect()).await;
    assert_eq!(many.status, 400);
    assert_eq!(call(&server, "POST", "/v2/batch", &[], b"{").await.status, 400);
    let large = json!([{ "destination": server.inbox_url("a"), "body": "x".repeat(1_048_576) }]);
    assert_eq!(batch(&server, large).await.status, 413);
    assert_eq!(get(&server, "/v2/events").await.json()["total"], 0);
}

#[tokio::test]
async fn an_option_twice_in_one_entry_must_agree_with_itself() {
    let server = start().await;
    let url = server.inbox_url("a");
    let entry = |headers: &str| format!(r#"[{{"destination":"{url}","headers":{{{headers}}}}}]"#);
    for (name, other) in [("chronq-retries", "chronq-retries"), ("chronq-retries", "Chronq-Retries")] {
        let body = entry(&format!(r#""{name}":"1","{other}":"2""#));
        let answer = call(&server, "POST", "/v2/batch", &[], body.as_bytes()).await;
        let sentence = "entry 0: chronq-retries is given twice with different values";
        assert_eq!(answer.refusal(), (400, sentence.to_owned()));
    }
    let body = entry(r#""content-type":"a/b","content-type":"a/b","content-type":"c/d""#);
    let answer = call(&server, "POST", "/v2/batch", &[], body.as_bytes()).await;
    let sentence = "entry 0: content-type is given twice with different values";
    assert_eq!(answer.refusal(), (400, sentence.to_owned()));
    let body = entry(r#""chronq-retries":"1","chronq-retries":"1""#);
    assert_eq!(call(&server, "POST", "/v2/batch", &[], body.as_bytes()).await.status, 200);
}

#[tokio::test]
async fn options_of_the_batch_itself_are_refused_by_name() {
    let server = start().await;
    let body = json!([{ "destination": server.inbox_url("a") }]).to_string();
    for (header, value, sentence) in [
        ("Chronq-Delay", "1h", "chronq-delay must stand in the headers of a batch's entries"),
        (
            "Chronq-Dely",
            "1h",
            "chronq-dely is not an option: unknown chronq- headers are refused, so that a typo does not pass silently",
        ),
    ] {
        let answer = call(&server, "POST", "/v2/batch", &[(header, value)], body.as_bytes()).await;
        assert_eq!(answer.refusal(), (400, sentence.to_owned()));
    }
    assert_eq!(get(&server, "/v2/events").await.json()["total"], 0);
}

#[tokio::test]
async fn a_hundred_entries_are_delivered() {
    let server = start().await;
    let entries =
        (0..100).map(|n| json!({ "destination": server.inbox_url("a"), "body": n.to_string() })).collect();
    let answer = batch(&server, entries).await;
    assert_eq!(answer.json().as_array().map(Vec::len), Some(100));
    received(&server, "a", 100).await;
}

#[tokio::test]
async fn an_entry_into_a_disabled_queue_answers_for_itself() {
    let server = start().await;
    put_queue(&server, "q", json!({ "enabled": false })).await;
    let url = server.inbox_url("a");
    let results = batch(&server, json!([{ "destination": url, "queue": "q" }, { "destination": url }])).await;
    assert_eq!(results.status, 200);
    let results = results.json();
    assert_eq!(results[0], json!({ "error": "queue is disabled: \"q\"" }));
    assert_eq!(results[1]["queue"], "default");
    received(&server, "a", 1).await;
}
