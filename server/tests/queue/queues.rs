//! "Queues".

use std::time::Duration;

use serde_json::json;

use crate::support::*;

#[tokio::test]
async fn a_queue_is_made_changed_shown_and_deleted() {
    let server = start().await;
    let made =
        put_queue(&server, "q", json!({ "retryLimit": 9, "retryDelay": "42s", "concurrency": 4 })).await;
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(
        made.json(),
        json!({
            "name": "q", "retryLimit": 9, "retryDelay": "42s", "maxDelay": "6h", "backoff": true,
            "expire": "30s", "concurrency": 4, "keepCompleted": "7d", "keepQueued": "14d", "enabled": true,
        })
    );
    let changed = put_queue(&server, "q", json!({ "description": "orders" })).await;
    assert_eq!((changed.status, &changed.json()["retryLimit"]), (200, &json!(3)));
    assert_eq!(get(&server, "/v2/queues/q").await.json(), changed.json());
    let names: Vec<String> = get(&server, "/v2/queues")
        .await
        .json()
        .as_array()
        .expect("queues")
        .iter()
        .map(|queue| queue["name"].as_str().expect("name").to_owned())
        .collect();
    assert_eq!(names, ["default", "q"]);
    assert_eq!(call(&server, "DELETE", "/v2/queues/q", &[], b"").await.status, 200);
    assert_eq!(call(&server, "DELETE", "/v2/queues/q", &[], b"").await.status, 404);
    assert_eq!(get(&server, "/v2/queues/q").await.status, 404);
}

#[tokio::test]
async fn default_is_always_there_and_cannot_be_deleted() {
    let server = start().await;
    assert_eq!(get(&server, "/v2/queues/default").await.json()["concurrency"], 10);
    assert_eq!(call(&server, "DELETE", "/v2/queues/default", &[], b"").await.status, 400);
    let put = put_queue(&server, "default", json!({ "concurrency": 5 })).await;
    assert!(put.status == 200 || put.status == 201, "{put:?}");
    assert_eq!(get(&server, "/v2/queues/default").await.json()["concurrency"], 5);
}

#[tokio::test]
async fn a_setting_out_of_bounds_is_refused_by_name() {
    let server = start().await;
    for (settings, named) in [
        (json!({ "concurrency": 0 }), "concurrency"),
        (json!({ "concurrency": 101 }), "concurrency"),
        (json!({ "retryLimit": 101 }), "retryLimit"),
        (json!({ "retryDelay": "2d" }), "retryDelay"),
        (json!({ "expire": "3h" }), "expire"),
        (json!({ "retrylimit": 1 }), "retrylimit"),
        (json!({ "deadLetterQueue": "nowhere" }), "deadLetterQueue"),
        (json!({ "deadLetterQueue": "q" }), "deadLetterQueue"),
    ] {
        let answer = put_queue(&server, "q", settings.clone()).await;
        assert_eq!(answer.status, 400, "{settings}: {answer:?}");
        assert!(answer.error().contains(named), "{settings}: {answer:?}");
    }
    assert_eq!(put_queue(&server, "-q", json!({})).await.status, 400);
}

#[tokio::test]
async fn a_duration_outside_the_grammar_is_refused_by_setting_and_value() {
    let server = start().await;
    for setting in ["retryDelay", "maxDelay", "expire", "keepCompleted", "keepQueued"] {
        for (value, got) in [
            (json!("0s"), ", got \"0s\""),
            (json!("10 s"), ", got \"10 s\""),
            (json!(30), ", as text, got \"30\""),
        ] {
            let answer = put_queue(&server, "q", json!({ setting: value })).await;
            let sentence =
                format!("{setting} must be a duration such as 500ms, 45s, 2m, 1h or 1d10h30m{got}");
            assert_eq!(answer.refusal(), (400, sentence));
        }
    }
}

#[tokio::test]
async fn disabling_a_queue_refuses_publishes_and_lets_queued_messages_go() {
    let server = start().await;
    put_queue(&server, "q", json!({})).await;
    let target = format!("q/{}", server.inbox_url("a"));
    publish(&server, &target, &[("chronq-delay", "1h")], "x").await.id();
    put_queue(&server, "q", json!({ "enabled": false })).await;
    let refused = publish(&server, &target, &[], "x").await;
    assert_eq!(refused.refusal(), (400, "queue is disabled: \"q\"".to_owned()));
    server.clock().advance(std::time::Duration::from_hours(1));
    received(&server, "a", 1).await;
}

#[tokio::test]
async fn a_dead_letter_that_fails_as_well_keeps_the_id_of_the_first_message() {
    let server = start().await;
    put_queue(&server, "last", json!({})).await;
    put_queue(&server, "middle", json!({ "retryLimit": 0, "deadLetterQueue": "last" })).await;
    put_queue(&server, "first", json!({ "retryLimit": 0, "deadLetterQueue": "middle" })).await;
    script(&server, "a", respond(&[500, 500, 200]));
    let id = publish_to(&server, "a", &[("chronq-queue", "first")], "x").await.id();
    let requests = received(&server, "a", 3).await;
    assert_eq!(requests[0].header("chronq-dead-letter-of"), None);
    for request in &requests[1..] {
        assert_eq!(request.header("chronq-dead-letter-of"), Some(id.as_str()));
        assert_ne!(request.header("chronq-message-id"), Some(id.as_str()));
    }
}

#[tokio::test]
async fn a_message_takes_timeout_and_retry_delay_of_its_queue() {
    let server = start().await;
    let settings = json!({ "expire": "200ms", "retryLimit": 1, "retryDelay": "1h", "backoff": false });
    put_queue(&server, "q", settings).await;
    // It takes connections and never answers.
    let silent = RawReceiver::start().await;
    let id = publish(&server, &silent.url("/"), &[("chronq-queue", "q")], "x").await.id();
    let waiting = message_in(&server, &id, "retry").await;
    assert_eq!(waiting["response"]["status"], 0);
    assert_eq!(waiting["response"]["body"], "timeout: no answer within 200ms");
    server.clock().advance(Duration::from_secs(3_590));
    assert_eq!(message(&server, &id).await["state"], "retry");
    server.clock().advance(Duration::from_secs(10));
    assert_eq!(message_in(&server, &id, "failed").await["retried"], 1);
}
