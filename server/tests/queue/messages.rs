//! "Messages": lookup, cancel, retry, the event log.

use serde_json::json;

use crate::support::*;

async fn delete(server: &chronq_server::testing::TestServer, id: &str) -> Answer {
    call(server, "DELETE", &format!("/v2/messages/{id}"), &[], b"").await
}

#[tokio::test]
async fn a_message_is_looked_up_as_the_seed_shows_it() {
    let server = start().await;
    let id = publish_to(&server, "a", &[("chronq-delay", "1h"), ("chronq-label", "orders")], "x").await.id();
    let found = message(&server, &id).await;
    let created = found["createdAt"].as_str().expect("time").to_owned();
    assert_eq!(created.len(), "2026-10-16T23:32:52.604Z".len());
    assert_eq!(
        found,
        json!({
            "messageId": id, "queue": "default", "state": "created", "url": server.inbox_url("a"),
            "labels": ["orders"], "cronjob": null, "createdAt": created, "startedAt": null,
            "completedAt": null, "retried": 0, "maxRetries": 3, "response": null,
        })
    );
    for unknown in ["01a22c24-412b-7000-9f66-18642551dfd5", "nonsense", "%2e%2e"] {
        assert_eq!(get(&server, &format!("/v2/messages/{unknown}")).await.status, 404, "{unknown}");
    }
}

#[tokio::test]
async fn a_message_that_waits_can_be_cancelled() {
    let server = start().await;
    let id = publish_to(&server, "a", &[("chronq-delay", "1h")], "x").await.id();
    let answer = delete(&server, &id).await;
    assert_eq!((answer.status, answer.json()), (200, json!({ "messageId": id, "state": "cancelled" })));
    assert_eq!(message(&server, &id).await["state"], "cancelled");
    let again = delete(&server, &id).await;
    assert_eq!((again.status, &again.json()["state"]), (409, &json!("cancelled")));
    script(&server, "b", respond(&[500]));
    let retrying = publish_to(&server, "b", &[], "x").await.id();
    message_in(&server, &retrying, "retry").await;
    assert_eq!(delete(&server, &retrying).await.status, 200);
    assert_eq!(delete(&server, "01a22c24-412b-7000-9f66-18642551dfd5").await.status, 404);
}

#[tokio::test]
async fn a_cancel_that_comes_too_late_is_a_409_with_the_state() {
    let server = start().await;
    let done = publish_to(&server, "a", &[], "x").await.id();
    message_in(&server, &done, "completed").await;
    let answer = delete(&server, &done).await;
    assert_eq!((answer.status, &answer.json()["state"]), (409, &json!("completed")));
    assert!(!answer.error().is_empty());
    script(&server, "slow", json!([{ "delayMs": 60_000 }]));
    let active = publish_to(&server, "slow", &[], "x").await.id();
    received(&server, "slow", 1).await;
    let answer = delete(&server, &active).await;
    assert_eq!((answer.status, &answer.json()["state"]), (409, &json!("active")));
}

#[tokio::test]
async fn a_failed_message_gets_one_more_attempt_under_the_same_id() {
    let server = start().await;
    script(&server, "a", respond(&[500, 500, 200]));
    let id = publish_to(&server, "a", &[("chronq-retries", "0")], "x").await.id();
    let retry = format!("/v2/messages/{id}/retry");
    message_in(&server, &id, "failed").await;
    assert_eq!(call(&server, "POST", &retry, &[], b"").await.status, 200);
    received(&server, "a", 2).await;
    message_in(&server, &id, "failed").await;
    assert_eq!(call(&server, "POST", &retry, &[], b"").await.status, 200);
    let requests = received(&server, "a", 3).await;
    assert!(requests.iter().all(|request| request.header("chronq-message-id") == Some(id.as_str())));
    message_in(&server, &id, "completed").await;
    let answer = call(&server, "POST", &retry, &[], b"").await;
    assert_eq!((answer.status, &answer.json()["state"]), (409, &json!("completed")));
}

#[tokio::test]
async fn the_event_log_is_filtered_counted_and_newest_first() {
    let server = start().await;
    put_queue(&server, "q", json!({})).await;
    let mut ids = Vec::new();
    for (target, label) in [("", "a"), ("", "b"), ("q/", "a")] {
        let target = format!("{target}{}", server.inbox_url("a"));
        let headers = [("chronq-delay", "1h"), ("chronq-label", label)];
        ids.push(publish(&server, &target, &headers, "x").await.id());
    }
    let found = async |query: &str| {
        let page = get(&server, &format!("/v2/events{query}")).await.json();
        let ids: Vec<String> = page["jobs"]
            .as_array()
            .expect("jobs")
            .iter()
            .map(|job| job["messageId"].as_str().expect("id").to_owned())
            .collect();
        (ids, page["total"].as_u64().expect("total"))
    };
    let newest: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(found("").await, (newest.clone(), 3));
    assert_eq!(found("?limit=1&offset=1").await, (vec![newest[1].clone()], 3));
    assert_eq!(found("?label=a").await, (vec![ids[2].clone(), ids[0].clone()], 2));
    assert_eq!(found("?queue=q&state=created").await, (vec![ids[2].clone()], 1));
    assert_eq!(found("?state=failed").await, (vec![], 0));
    let answer = get(&server, "/v2/events?state=done").await;
    assert_eq!(answer.status, 400);
    assert!(answer.error().starts_with("state must be one of created, retry, active"), "{answer:?}");
    assert_eq!(get(&server, "/v2/events?limit=x").await.status, 400);
    assert_eq!(get(&server, "/v2/events?stat=x").await.status, 400);
}

#[tokio::test]
async fn the_event_log_is_the_same_in_orpcs_envelope() {
    let server = start().await;
    let id = publish_to(&server, "a", &[("chronq-delay", "1h")], "x").await.id();
    let body = json!({ "json": { "queue": "default", "limit": 10 } }).to_string();
    let answer =
        call(&server, "POST", "/rpc/queue/jobs", &[("content-type", "application/json")], body.as_bytes())
            .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["json"], get(&server, "/v2/events").await.json());
    assert_eq!(answer.json()["json"]["jobs"][0]["messageId"], id);
}

#[tokio::test]
async fn a_retry_by_hand_that_fails_again_is_reported_again() {
    let server = start().await;
    put_queue(&server, "dead", json!({})).await;
    put_queue(&server, "q", json!({ "retryLimit": 0, "deadLetterQueue": "dead" })).await;
    script(&server, "a", respond(&[500, 200, 500, 200]));
    let told = server.inbox_url("told");
    let headers = [("chronq-queue", "q"), ("chronq-failure-callback", told.as_str())];
    let id = publish_to(&server, "a", &headers, "x").await.id();
    received(&server, "told", 1).await;
    received(&server, "a", 2).await;
    assert_eq!(call(&server, "POST", &format!("/v2/messages/{id}/retry"), &[], b"").await.status, 200);
    let reports = received(&server, "told", 2).await;
    assert!(reports.iter().all(|report| report.body.as_deref().expect("text").contains(&id)));
    for dead_letter in [1, 3] {
        let request = &received(&server, "a", 4).await[dead_letter];
        assert_eq!(request.header("chronq-dead-letter-of"), Some(id.as_str()));
    }
}
