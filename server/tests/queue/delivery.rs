//! "Delivery".

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use crate::support::*;

#[tokio::test]
async fn a_delivery_carries_the_body_its_headers_and_a_signature_of_its_own() {
    let server = start().await;
    let url = server.inbox_url("a");
    let id = publish(&server, &url, &[("content-type", "application/json")], "{\"orderId\":42}").await.id();
    let request = &received(&server, "a", 1).await[0];
    assert_eq!(request.method, "POST");
    assert_eq!(request.body.as_deref(), Some("{\"orderId\":42}"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("chronq-retried"), Some("0"));
    assert_eq!(request.header("chronq-message-id"), Some(id.as_str()));
    assert_eq!(request.header("user-agent"), Some(concat!("chronq/", env!("CARGO_PKG_VERSION"))));
    let claims = verify(request, &url).claims;
    assert_eq!((claims.exp - claims.iat.expect("iat"), claims.iat.expect("iat") - claims.nbf), (300, 5));
}

#[tokio::test]
async fn a_503_503_200_destination_sees_three_attempts_three_tokens_and_counts_the_retries() {
    let server = start().await;
    script(&server, "a", respond(&[503, 503, 200]));
    let url = server.inbox_url("a");
    let id = publish(&server, &url, &[("chronq-retry-delay", "1ms")], "x").await.id();
    let requests = received(&server, "a", 3).await;
    let retried: Vec<_> = requests.iter().map(|r| r.header("chronq-retried").expect("retried")).collect();
    assert_eq!(retried, ["0", "1", "2"]);
    let tokens: BTreeSet<_> = requests.iter().map(|request| verify(request, &url).claims.jti).collect();
    assert_eq!(tokens.len(), 3, "a fresh jti each");
    assert!(requests.iter().all(|request| request.header("chronq-message-id") == Some(id.as_str())));
    let done = message_in(&server, &id, "completed").await;
    assert_eq!((&done["retried"], &done["maxRetries"]), (&json!(2), &json!(3)));
    assert_eq!(done["response"]["status"], 200);
}

#[tokio::test]
async fn attempts_are_one_and_the_retries() {
    let server = start().await;
    script(&server, "a", respond(&[500]));
    let headers = [("chronq-retry-delay", "1ms"), ("chronq-retries", "2")];
    let id = publish_to(&server, "a", &headers, "x").await.id();
    let failed = message_in(&server, &id, "failed").await;
    assert_eq!((&failed["retried"], &failed["maxRetries"]), (&json!(2), &json!(2)));
    assert!(failed["completedAt"].is_string());
    assert_eq!(received(&server, "a", 3).await.len(), 3);
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_is_not_followed() {
    let server = start().await;
    script(&server, "a", json!([{ "status": 302, "headers": { "location": server.inbox_url("b") } }]));
    let id = publish_to(&server, "a", &[("chronq-retries", "0")], "x").await.id();
    let failed = message_in(&server, &id, "failed").await;
    assert_eq!(failed["response"]["status"], 302);
    assert_eq!(failed["response"]["headers"]["location"], server.inbox_url("b"));
    assert!(server.state().inboxes.as_ref().expect("dev").requests("b").is_empty());
}

#[tokio::test]
async fn eight_kibibytes_of_an_answer_are_kept_and_the_connection_is_dropped_past_that() {
    let server = start().await;
    let receiver = RawReceiver::start().await;
    // It promises more than it ever sends: whoever wanted all of it would wait for ever.
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n{}", "y".repeat(20_000));
    let url = receiver.url("/");
    let (published, _) = tokio::join!(publish(&server, &url, &[], "x"), receiver.take(answer.as_bytes()));
    let done = message_in(&server, &published.id(), "completed").await;
    assert_eq!(done["response"]["body"].as_str().map(str::len), Some(8_192));
    assert_eq!(done["response"]["truncated"], true);
    script(&server, "exact", json!([{ "status": 200, "body": "z".repeat(8_192) }]));
    let id = publish_to(&server, "exact", &[], "x").await.id();
    let done = message_in(&server, &id, "completed").await;
    assert_eq!(
        (&done["response"]["truncated"], done["response"]["body"].as_str().map(str::len)),
        (&json!(false), Some(8_192))
    );
}

#[tokio::test]
async fn sixteen_kibibytes_of_headers_are_kept() {
    let server = start().await;
    let receiver = RawReceiver::start().await;
    let lines =
        (0..40).map(|n| format!("x-{n}: {}", "v".repeat(1_000))).collect::<Vec<_>>().join("\r\n") + "\r\n";
    let answer = format!("HTTP/1.1 200 OK\r\n{lines}content-length: 2\r\n\r\nok");
    let url = receiver.url("/");
    let (published, _) = tokio::join!(publish(&server, &url, &[], "x"), receiver.take(answer.as_bytes()));
    let done = message_in(&server, &published.id(), "completed").await;
    let kept = done["response"]["headers"].as_object().expect("headers");
    let bytes: usize =
        kept.iter().map(|(name, value)| name.len() + value.as_str().expect("text").len()).sum();
    assert!((15_000..=16_384).contains(&bytes), "{bytes}");
    assert_eq!((&done["response"]["truncated"], &done["response"]["body"]), (&json!(true), &json!("ok")));
}

#[tokio::test]
async fn no_answer_is_status_0_with_the_reason_in_the_body() {
    let server = start().await;
    let once = [("chronq-retries", "0")];
    let nobody = RawReceiver::start().await.url("/");
    let id = publish(&server, &nobody, &once, "x").await.id();
    let failed = message_in(&server, &id, "failed").await;
    assert_eq!(failed["response"]["status"], 0);
    assert_eq!(failed["response"]["body"], "cannot connect: connection refused");

    script(&server, "slow", json!([{ "status": 200, "delayMs": 60_000 }]));
    let headers = [("chronq-retries", "0"), ("chronq-timeout", "50ms")];
    let id = publish_to(&server, "slow", &headers, "x").await.id();
    let failed = message_in(&server, &id, "failed").await;
    assert_eq!(failed["response"]["status"], 0);
    assert_eq!(failed["response"]["body"], "timeout: no answer within 50ms");

    let receiver = RawReceiver::start().await;
    let url = receiver.url("/");
    let (published, _) =
        tokio::join!(publish(&server, &url, &once, "x"), receiver.take(b"SSH-2.0-x\r\n\r\n"));
    let failed = message_in(&server, &published.id(), "failed").await;
    assert_eq!(failed["response"]["status"], 0);
    assert!(failed["response"]["body"].as_str().expect("reason").starts_with("no valid answer"), "{failed}");
}

#[tokio::test]
async fn status_489_with_its_header_ends_the_message_at_once() {
    let server = start().await;
    script(&server, "a", json!([{ "status": 489, "headers": { "Chronq-NonRetryable-Error": "TRUE" } }]));
    let id = publish_to(&server, "a", &[], "x").await.id();
    let failed = message_in(&server, &id, "failed").await;
    assert_eq!((&failed["retried"], &failed["maxRetries"]), (&json!(0), &json!(3)));
}

#[tokio::test]
async fn headers_beyond_what_is_kept_still_decide() {
    let server = start().await;
    let receiver = RawReceiver::start().await;
    let padding = format!("x: {}\r\n", "v".repeat(1_000)).repeat(20);
    let answer =
        format!("HTTP/1.1 489 No\r\n{padding}chronq-nonretryable-error: true\r\ncontent-length: 0\r\n\r\n");
    let url = receiver.url("/");
    let (published, _) = tokio::join!(publish(&server, &url, &[], "x"), receiver.take(answer.as_bytes()));
    let failed = message_in(&server, &published.id(), "failed").await;
    assert_eq!((&failed["retried"], &failed["response"]["truncated"]), (&json!(0), &json!(true)));
    assert_eq!(failed["response"]["headers"].get("chronq-nonretryable-error"), None);
}

#[tokio::test]
async fn retry_after_is_a_floor_of_the_next_wait() {
    let server = start().await;
    script(&server, "a", json!([{ "status": 429, "headers": { "retry-after": "3600" } }, { "status": 200 }]));
    let id = publish_to(&server, "a", &[("chronq-retry-delay", "1ms")], "x").await.id();
    message_in(&server, &id, "retry").await;
    server.clock().advance(Duration::from_secs(3_590));
    assert_eq!(message(&server, &id).await["state"], "retry");
    server.clock().advance(Duration::from_hours(2));
    received(&server, "a", 2).await;
    message_in(&server, &id, "completed").await;
}

#[tokio::test]
async fn a_delayed_message_waits_and_is_delivered_when_its_time_has_come() {
    let server = start().await;
    let id = publish_to(&server, "a", &[("chronq-delay", "7d")], "x").await.id();
    assert_eq!(message(&server, &id).await["state"], "created");
    server.clock().advance(Duration::from_hours(6 * 24));
    assert_eq!(message(&server, &id).await["state"], "created");
    server.clock().advance(Duration::from_hours(24));
    let url = server.inbox_url("a");
    // The dates in the signature are real although the clock was moved by a week.
    verify(&received(&server, "a", 1).await[0], &url);
}

#[tokio::test]
async fn not_before_wins_over_delay_and_a_past_one_is_now() {
    let server = start().await;
    let headers = [("chronq-not-before", "1000000000"), ("chronq-delay", "365d")];
    publish_to(&server, "a", &headers, "x").await.id();
    received(&server, "a", 1).await;
}

#[tokio::test]
async fn a_short_delay_is_kept_by_wake_up_and_not_by_the_next_poll() {
    let server = start().await;
    let began = std::time::Instant::now();
    publish_to(&server, "a", &[("chronq-delay", "300ms")], "x").await.id();
    received(&server, "a", 1).await;
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(300), "{took:?}");
    // The poll comes every two seconds.
    assert!(took < Duration::from_millis(1_500), "{took:?}");
}

#[tokio::test]
async fn a_queue_of_concurrency_1_delivers_one_after_another() {
    let server = start().await;
    put_queue(&server, "narrow", json!({ "concurrency": 1 })).await;
    script(&server, "a", json!([{ "delayMs": 20 }]));
    let target = format!("narrow/{}", server.inbox_url("a"));
    for n in 0..5 {
        assert_eq!(publish(&server, &target, &[], &n.to_string()).await.status, 200);
    }
    let times: Vec<_> = received(&server, "a", 5)
        .await
        .iter()
        .map(|request| chrono::DateTime::parse_from_rfc3339(&request.received_at).expect("time"))
        .collect();
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] >= chrono::TimeDelta::milliseconds(19), "{times:?}");
    }
}

#[tokio::test]
async fn a_slow_destination_slows_its_own_queue_only() {
    let server = start().await;
    put_queue(&server, "slow", json!({ "concurrency": 1 })).await;
    script(&server, "slow", json!([{ "delayMs": 60_000 }]));
    let target = format!("slow/{}", server.inbox_url("slow"));
    for _ in 0..3 {
        publish(&server, &target, &[], "x").await.id();
    }
    received(&server, "slow", 1).await;
    for _ in 0..20 {
        publish_to(&server, "fast", &[], "x").await.id();
    }
    received(&server, "fast", 20).await;
    assert_eq!(server.state().inboxes.as_ref().expect("dev").requests("slow").len(), 1);
}

#[tokio::test]
async fn a_change_of_concurrency_applies_at_once() {
    let server = start().await;
    put_queue(&server, "q", json!({ "concurrency": 1 })).await;
    script(&server, "a", json!([{ "delayMs": 60_000 }]));
    let target = format!("q/{}", server.inbox_url("a"));
    for _ in 0..3 {
        publish(&server, &target, &[], "x").await.id();
    }
    received(&server, "a", 1).await;
    put_queue(&server, "q", json!({ "concurrency": 3 })).await;
    received(&server, "a", 3).await;
}

#[tokio::test]
async fn a_dead_letter_queue_receives_failed_messages_as_new_ones_that_name_the_original() {
    let server = start().await;
    put_queue(&server, "dead", json!({ "retryLimit": 0 })).await;
    put_queue(&server, "q", json!({ "retryLimit": 0, "deadLetterQueue": "dead" })).await;
    script(&server, "a", respond(&[500, 200]));
    let target = format!("q/{}", server.inbox_url("a"));
    let headers = [("chronq-method", "PUT"), ("chronq-forward-x-a", "1"), ("content-type", "text/plain")];
    let id = publish(&server, &target, &headers, "body").await.id();
    let requests = received(&server, "a", 2).await;
    message_in(&server, &id, "failed").await;
    let dead = &requests[1];
    assert_eq!(dead.header("chronq-dead-letter-of"), Some(id.as_str()));
    assert_ne!(dead.header("chronq-message-id"), Some(id.as_str()));
    assert_eq!(
        (dead.method.as_str(), dead.body.as_deref(), dead.header("x-a")),
        ("PUT", Some("body"), Some("1"))
    );
    assert_eq!(dead.header("chronq-retried"), Some("0"));
}

#[tokio::test]
async fn header_wins_over_queue_setting_and_that_over_the_default_option_by_option() {
    let server = start().await;
    put_queue(&server, "q", json!({ "retryLimit": 9, "retryDelay": "42s", "expire": "777s" })).await;
    script(&server, "a", respond(&[500]));
    let target = format!("q/{}", server.inbox_url("a"));
    let bare = publish(&server, &target, &[], "x").await.id();
    assert_eq!(message(&server, &bare).await["maxRetries"], 9);
    let given = publish(&server, &target, &[("chronq-retries", "1")], "x").await.id();
    assert_eq!(message(&server, &given).await["maxRetries"], 1);
    let default = publish_to(&server, "b", &[], "x").await.id();
    assert_eq!(message(&server, &default).await["maxRetries"], 3);
}

#[tokio::test]
async fn everything_published_under_load_is_delivered_once_while_nothing_fails() {
    let server = start().await;
    let mut tasks = tokio::task::JoinSet::new();
    let server = std::sync::Arc::new(server);
    for n in 0..300 {
        let server = server.clone();
        tasks.spawn(async move { publish_to(&server, "a", &[], &n.to_string()).await.id() });
    }
    let published: BTreeSet<String> = tasks.join_all().await.into_iter().collect();
    let requests = received(&server, "a", 300).await;
    let delivered: BTreeSet<String> =
        requests.iter().map(|request| request.header("chronq-message-id").expect("id").to_owned()).collect();
    assert_eq!(delivered, published);
    let server = std::sync::Arc::into_inner(server).expect("no publish is left");
    let state = server.state().clone();
    assert!(server.shutdown().await);
    assert_eq!(state.engine.in_flight(), 0);
}
