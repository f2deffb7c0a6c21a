//! The timers' routes, byte for byte (contract/timers.md).

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly"
)]

#[path = "support/postgres.rs"]
mod postgres_server;
mod timers_support;

use chronq_server::config::Database;
use serde_json::{Value, json};
use timers_support::{Api, on_both, schedule};

on_both! {
    a_schedule_answers_its_element_in_the_order_of_the_seed,
    the_same_upsert_answers_by_what_was_there_and_keeps_created_at,
    peek_has_every_field_in_order_and_a_miss_is_a_200,
    cancel_answers_one_bare_element_and_echoes_the_txn,
    a_list_is_in_byte_order_without_payloads_and_tells_whether_there_is_more,
    a_refused_call_writes_nothing_and_names_the_operation,
    one_call_reads_the_clock_once_and_1970_is_the_first_instant,
    a_timer_that_is_due_is_in_the_log_with_its_promised_id,
    a_held_claim_is_too_late_for_cancel_and_reschedule,
    a_paused_schedule_refuses_a_mixed_batch_with_a_hint_and_never_a_cancel,
    a_paused_fire_loses_nothing_and_drains_oldest_first,
    a_failure_in_backoff_is_not_claimed_and_the_last_attempt_is_a_dead_letter,
    a_transient_failure_spends_no_attempt_and_the_timer_is_delivered,
    deleting_a_queue_removes_its_log_and_its_timers,
    without_a_token_the_code_is_unauthorized,
}

async fn a_schedule_answers_its_element_in_the_order_of_the_seed(database: Database) {
    let api = Api::on(database).await;
    let answer = api.post("/api/v1/timers", &json!({"operations": [schedule("k", 604_800_000)]})).await;
    assert_eq!(answer.status, 200);
    let element = &answer.json()["results"][0];
    let (id, at) = (element["messageId"].as_str().expect("id"), element["deliverAt"].as_str().expect("at"));
    let expected = format!(
        r#"{{"results":[{{"ok":true,"status":"scheduled","queue":"q","timerKey":"k","txn":"txn-k","messageId":"{id}","deliverAt":"{at}"}}]}}"#
    );
    assert_eq!(answer.text(), expected);
    assert_eq!((id.len(), id.as_bytes()[14], id), (36, b'7', id.to_lowercase().as_str()));
    assert_eq!((at.len(), &at[19..20], &at[26..]), (27, ".", "Z"));
}

async fn the_same_upsert_answers_by_what_was_there_and_keeps_created_at(database: Database) {
    let api = Api::on(database).await;
    let first = api.apply(json!([schedule("k", 1_000_000)])).await;
    let mut again = schedule("k", 2_000_000);
    again["op"] = json!("schedule");
    again["txn"] = json!("second");
    again["partition"] = json!("p2");
    let second = api.apply(json!([again])).await;
    assert_eq!(
        (first[0]["status"].as_str(), second[0]["status"].as_str()),
        (Some("scheduled"), Some("rescheduled"))
    );
    assert_ne!(first[0]["messageId"], second[0]["messageId"]);
    let mut fresh = schedule("new", 1_000_000);
    fresh["op"] = json!("reschedule");
    assert_eq!(api.apply(json!([fresh])).await[0]["status"], "scheduled");
    let peek = api.get("/api/v1/timers/q/k").await.json();
    assert_eq!((peek["txn"].as_str(), peek["partition"].as_str()), (Some("second"), Some("p2")));
    assert_eq!(peek["deliverAt"], second[0]["deliverAt"]);
    assert!(peek["createdAt"].as_str() < peek["updatedAt"].as_str());
}

async fn peek_has_every_field_in_order_and_a_miss_is_a_200(database: Database) {
    let api = Api::on(database).await;
    api.apply(json!([schedule("tenant/42", 1_000_000)])).await;
    let answer = api.get("/api/v1/timers/q/tenant/42").await;
    let peek = answer.json();
    let keys = [
        "found",
        "queue",
        "timerKey",
        "partition",
        "deliverAt",
        "txn",
        "messageId",
        "payload",
        "payloadZstd",
        "encrypted",
        "producerSub",
        "attempts",
        "lastError",
        "claimed",
        "createdAt",
        "updatedAt",
    ];
    assert_eq!(answer.keys(), keys);
    assert_eq!(peek["payload"], "eyJuIjoxfQ==");
    assert_eq!(
        (&peek["claimed"], &peek["attempts"], &peek["lastError"]),
        (&json!(false), &json!(0), &Value::Null)
    );
    assert_eq!(api.get("/api/v1/timers/q/tenant%2F42").await.json(), peek);
    let missed = api.get("/api/v1/timers/q/other%2Fkey").await;
    assert_eq!(
        (missed.status, missed.text()),
        (200, r#"{"found":false,"queue":"q","timerKey":"other/key"}"#.to_owned())
    );
}

async fn cancel_answers_one_bare_element_and_echoes_the_txn(database: Database) {
    let api = Api::on(database).await;
    api.apply(json!([schedule("k", 1_000_000)])).await;
    let cancelled = api.delete("/api/v1/timers/q/k?txn=another").await;
    let expected = r#"{"ok":true,"status":"cancelled","queue":"q","timerKey":"k","txn":"txn-k"}"#;
    assert_eq!((cancelled.status, cancelled.text()), (200, expected.to_owned()));
    for (query, txn) in [("?txn=a+b", json!("a b")), ("?txn=", Value::Null), ("", Value::Null)] {
        let absent = api.delete(&format!("/api/v1/timers/q/k{query}")).await;
        let expected = json!({"ok": false, "status": "absent", "queue": "q", "timerKey": "k", "txn": txn});
        assert_eq!((absent.status, absent.json()), (200, expected));
    }
}

async fn a_list_is_in_byte_order_without_payloads_and_tells_whether_there_is_more(database: Database) {
    let api = Api::on(database).await;
    let keys = ["b", "B", "a/1", "a", "é", "z"];
    api.apply(keys.iter().map(|key| schedule(key, 1_000_000)).collect()).await;
    let list = |query: &'static str| api.get(query);
    let all = list("/api/v1/timers/q").await;
    assert_eq!(all.keys(), ["rows", "truncated", "nextAfter"]);
    let all = all.json();
    let names: Vec<_> =
        all["rows"].as_array().expect("rows").iter().map(|row| row["timerKey"].clone()).collect();
    assert_eq!(names, ["B", "a", "a/1", "b", "z", "é"]);
    assert_eq!((&all["truncated"], &all["nextAfter"]), (&json!(false), &Value::Null));
    assert!(all["rows"][0].get("payload").is_none() && all["rows"][0].get("found").is_none());
    let page = list("/api/v1/timers/q?limit=2&after=a").await.json();
    assert_eq!((&page["truncated"], &page["nextAfter"]), (&json!(true), &json!("b")));
    let end = list("/api/v1/timers/q?limit=2&after=b").await.json();
    assert_eq!((&end["truncated"], &end["nextAfter"]), (&json!(false), &Value::Null));
    assert_eq!(list("/api/v1/timers/q?limit=0").await.json()["rows"].as_array().map(Vec::len), Some(1));
    assert_eq!(list("/api/v1/timers/q?limit=many").await.json()["rows"].as_array().map(Vec::len), Some(6));
}

async fn a_refused_call_writes_nothing_and_names_the_operation(database: Database) {
    let api = Api::on(database).await;
    let mut beyond = schedule("far", 7_776_000_001);
    beyond["delayMs"] = json!(7_776_000_001_u64);
    let answer = api.post("/api/v1/timers", &json!([schedule("near", 1_000_000), beyond])).await;
    let expected = r#"{"error":"timer_horizon_exceeded","reason":"timers_horizon","detail":"operation 1 is beyond the horizon of 7776000 seconds"}"#;
    assert_eq!((answer.status, answer.text()), (403, expected.to_owned()));
    assert_eq!(api.get("/api/v1/timers/q/near").await.json()["found"], json!(false));
    for (body, status, error, reason) in [
        ("{", 400, "timers_bad_request", "timers_bad_body"),
        ("{}", 400, "timers_bad_request", "timers_bad_body"),
        (
            r#"[{"op":"schedule","queue":"q","timerKey":"k","delayMs":0,"txn":"t","payload":"e30"}]"#,
            400,
            "timers_bad_request",
            "timers_payload_not_base64",
        ),
        (
            r#"[{"op":"cancel","queue":"q","timerKey":"k"},{"op":"cancel","queue":"q","timerKey":"k"}]"#,
            400,
            "timers_bad_request",
            "timers_duplicate_key",
        ),
    ] {
        let answer = api.post_text("/api/v1/timers", body).await;
        let json = answer.json();
        assert_eq!(
            (answer.status, json["error"].as_str(), json["reason"].as_str()),
            (status, Some(error), Some(reason)),
            "{body}"
        );
    }
    assert_eq!(api.post_text("/api/v1/timers", "[]").await.text(), r#"{"results":[]}"#);
}

async fn one_call_reads_the_clock_once_and_1970_is_the_first_instant(database: Database) {
    let api = Api::on(database).await;
    let results = api.apply(json!([schedule("a", 1_000_000), schedule("b", 1_000_000), {
        "op": "schedule", "queue": "paused", "timerKey": "old", "delayMs": -1e17, "txn": "t", "payload": "e30="
    }])).await;
    assert_eq!(results[0]["deliverAt"], results[1]["deliverAt"]);
    assert_eq!(results[2]["deliverAt"], "1970-01-01T00:00:00.000000Z");
}

async fn a_timer_that_is_due_is_in_the_log_with_its_promised_id(database: Database) {
    let api = Api::on(database).await;
    let scheduled = api.apply(json!([schedule("k", 0)])).await;
    let popped = api.get("/api/v1/pop/queue/q?wait=true&timeout=10000").await;
    assert_eq!(popped.status, 200);
    let popped = popped.json();
    let message = &popped["messages"][0];
    assert_eq!(message["id"], scheduled[0]["messageId"]);
    assert_eq!((&message["transactionId"], &message["data"]), (&json!("txn-k"), &json!({"n": 1})));
    let found = api.get("/api/v1/messages?queue=q&transactionId=txn-k").await.json();
    assert_eq!(found["messages"][0]["id"], scheduled[0]["messageId"]);
    let absent = api.delete("/api/v1/timers/q/k?txn=txn-k").await.json();
    assert_eq!(absent["status"], "absent");
    let ack = json!({"transactionId": "txn-k", "partitionId": message["partitionId"], "leaseId": message["leaseId"], "status": "completed"});
    assert_eq!(api.post("/api/v1/ack", &ack).await.json()[0]["success"], json!(true));
    assert_eq!(api.get("/api/v1/pop/queue/q").await.status, 204);
}

async fn a_held_claim_is_too_late_for_cancel_and_reschedule(database: Database) {
    let api = Api::on(database).await;
    api.post("/dev/timers/fault", &json!({"queue": "q", "holdMs": 60_000})).await;
    api.apply(json!([schedule("k", 0)])).await;
    api.until_claimed("/api/v1/timers/q/k").await;
    let expected = r#"{"ok":false,"status":"too_late","queue":"q","timerKey":"k"}"#;
    let cancelled = api.delete("/api/v1/timers/q/k?txn=x").await;
    assert_eq!((cancelled.status, cancelled.text()), (200, expected.to_owned()));
    assert_eq!(
        api.apply(json!([schedule("k", 5_000)])).await[0],
        serde_json::from_str::<Value>(expected).expect("json")
    );
}

async fn a_paused_schedule_refuses_a_mixed_batch_with_a_hint_and_never_a_cancel(database: Database) {
    let api = Api::on(database).await;
    api.apply(json!([schedule("k", 1_000_000)])).await;
    let switches = api.post("/api/v1/system/timers", &json!({"schedule": false})).await.json();
    assert_eq!(switches, json!({"schedule": false, "fire": true}));
    let cancel = json!({"op": "cancel", "queue": "q", "timerKey": "k"});
    let refused = api.post("/api/v1/timers", &json!([schedule("new", 1_000), cancel])).await;
    assert_eq!((refused.status, refused.json()["error"].as_str()), (503, Some("timers_disabled")));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.header("x-queen-timers-hint"), Some("DELETE /api/v1/timers/:queue/*timerKey"));
    let plain = api.post("/api/v1/timers", &json!([schedule("new", 1_000)])).await;
    assert_eq!((plain.status, plain.header("x-queen-timers-hint")), (503, None));
    let misshapen = api.post("/api/v1/timers", &json!([{"op": "schedule"}, cancel])).await;
    assert_eq!((misshapen.status, misshapen.header("x-queen-timers-hint")), (400, None));
    assert_eq!(api.apply(json!([cancel])).await[0]["status"], "cancelled");
    assert_eq!(api.delete("/api/v1/timers/q/k").await.status, 200);
}

async fn a_paused_fire_loses_nothing_and_drains_oldest_first(database: Database) {
    let api = Api::on(database).await;
    api.post("/api/v1/system/timers", &json!({"fire": false})).await;
    api.apply(json!([schedule("second", -1_000), schedule("first", -2_000), schedule("third", 0)])).await;
    assert_eq!(api.get("/api/v1/pop/queue/q").await.status, 204);
    assert_eq!(api.get("/api/v1/timers/q").await.json()["rows"].as_array().map(Vec::len), Some(3));
    api.post("/api/v1/system/timers", &json!({"fire": true})).await;
    let mut txns = Vec::new();
    while txns.len() < 3 {
        let popped =
            api.get("/api/v1/pop/queue/q?wait=true&timeout=10000&batch=10&autoAck=true").await.json();
        txns.extend(
            popped["messages"].as_array().expect("messages").iter().map(|m| m["transactionId"].clone()),
        );
    }
    assert_eq!(txns, ["txn-first", "txn-second", "txn-third"]);
}

async fn a_failure_in_backoff_is_not_claimed_and_the_last_attempt_is_a_dead_letter(database: Database) {
    let api = Api::on(database).await;
    api.post("/dev/timers/fault", &json!({"queue": "q", "fail": "permanent", "times": 5})).await;
    let scheduled = api.apply(json!([schedule("k", 0)])).await;
    for attempts in 1..5 {
        api.until(|peek| peek["attempts"] == json!(attempts), "/api/v1/timers/q/k").await;
        let peek = api.get("/api/v1/timers/q/k").await.json();
        assert_eq!(
            (&peek["claimed"], peek["lastError"].as_str()),
            (&json!(false), Some("a permanent failure, on purpose"))
        );
        api.post("/dev/clock/advance", &json!({"ms": 60_000})).await;
    }
    api.until(|peek| peek["found"] == json!(false), "/api/v1/timers/q/k").await;
    let dead = api.get("/api/v1/dlq?queue=q").await.json();
    let letter = &dead["messages"][0];
    assert_eq!(dead["total"], json!(1));
    assert_eq!(
        (&letter["consumerGroup"], &letter["offset"], &letter["attempts"]),
        (&json!("__timer__"), &json!(-1), &json!(5))
    );
    assert_eq!(
        (&letter["messageId"], &letter["transactionId"]),
        (&scheduled[0]["messageId"], &json!("txn-k"))
    );
    assert_eq!(letter["payload"], json!({"n": 1}));
    let replay =
        api.post(&format!("/api/v1/dlq/{}/replay", letter["id"].as_str().expect("id")), &json!({})).await;
    assert_eq!((replay.status, replay.json()["error"].as_str()), (409, Some("dlq_not_replayable")));
}

async fn a_transient_failure_spends_no_attempt_and_the_timer_is_delivered(database: Database) {
    let api = Api::on(database).await;
    api.post("/dev/timers/fault", &json!({"queue": "q", "fail": "transient", "times": 1})).await;
    api.apply(json!([schedule("k", 0)])).await;
    api.until(|peek| !peek["lastError"].is_null(), "/api/v1/timers/q/k").await;
    assert_eq!(api.get("/api/v1/timers/q/k").await.json()["attempts"], json!(0));
    assert_eq!(api.delete("/api/v1/timers/q/k").await.json()["status"], "cancelled", "a backoff is no claim");
}

async fn deleting_a_queue_removes_its_log_and_its_timers(database: Database) {
    let api = Api::on(database).await;
    api.apply(json!([schedule("k", 1_000_000)])).await;
    api.post("/api/v1/push", &json!({"items": [{"queue": "q", "payload": {"n": 2}}]})).await;
    let deleted = api.delete("/api/v1/resources/queues/q").await.json();
    assert_eq!(deleted, json!({"deleted": true, "queue": "q", "messages": 1, "timers": 1}));
    assert_eq!(api.get("/api/v1/timers/q/k").await.json()["found"], json!(false));
    assert_eq!(api.delete("/api/v1/resources/queues/q").await.json()["deleted"], json!(false));
    let metrics = api.get("/metrics").await.text();
    assert!(metrics.contains("queen_timers_pending{tenant=\"default\"} 0"), "{metrics}");
    assert!(metrics.contains("queen_timers_metered_total{tenant=\"default\"} 1"));
}

async fn without_a_token_the_code_is_unauthorized(database: Database) {
    let api = Api::on(database).await;
    for path in ["/api/v1/timers/q", "/api/v1/timers/q/k", "/api/v1/messages?queue=q"] {
        let answer = api.get_as("nobody", path).await;
        assert_eq!((answer.status, answer.json()["error"].as_str()), (401, Some("unauthorized")), "{path}");
    }
}
