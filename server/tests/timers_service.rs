//! Timers as a service: poison, tenants, encryption at rest, the log.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly"
)]

#[path = "support/postgres.rs"]
mod postgres_server;
mod timers_support;

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine;
use chronq::Secret;
use chronq_server::config::Database;
use http::Method;
use serde_json::{Value, json};
use sqlx::Connection;
use timers_support::{Api, on_both, schedule};

const DATA_KEY: &str = "2026:bm90IGEgcmVhbCBrZXkgbm90IGEgcmVhbCBrZXkgbm8=";

on_both! {
    encryption_without_a_key_is_refused_at_configuration,
    a_tenant_without_a_quota_row_is_gated_and_its_plan_holds_from_the_moment_it_is_put,
    another_tenants_timer_looks_absent_everywhere,
    each_route_asks_for_its_level,
    acks_settle_retry_and_bury_messages_under_their_lease,
    frames_beyond_their_queues_retention_are_trimmed,
}

fn many(count: usize, delay_ms: i64) -> Value {
    (0..count).map(|n| schedule(&format!("key-{n:04}"), delay_ms)).collect()
}

/// The txns of a queue's log, as often as each stands there.
async fn logged(api: &Api) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    let mut from = String::new();
    loop {
        let query = format!("/api/v1/messages?queue=q&limit=1000&from={from}");
        let page = api.get(&query).await.json();
        let messages = page["messages"].as_array().expect("messages").clone();
        if messages.len() < 1_000 {
            for message in messages {
                *counts.entry(message["transactionId"].as_str().expect("txn").to_owned()).or_default() += 1;
            }
            return counts;
        }
        // A page that is full may end within an instant: read on from its last one, which is counted then.
        let last = messages[messages.len() - 1]["createdAt"].clone();
        for message in messages.iter().filter(|message| message["createdAt"] != last) {
            *counts.entry(message["transactionId"].as_str().expect("txn").to_owned()).or_default() += 1;
        }
        last.as_str().expect("instant").clone_into(&mut from);
    }
}

async fn until_logged(api: &Api, count: usize) -> HashMap<String, usize> {
    for _ in 0..2_000 {
        let logged = logged(api).await;
        if logged.values().sum::<usize>() >= count {
            return logged;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("only {} of {count} are in the log", logged(api).await.len());
}

async fn one_poison_holds_nobody_back(api: Api) {
    api.post("/api/v1/system/timers", &json!({"fire": false})).await;
    api.apply(many(200, 0)).await;
    api.post("/api/v1/system/timers", &json!({"fire": true})).await;
    let logged = until_logged(&api, 199).await;
    assert_eq!(logged.len(), 199);
    assert!(!logged.contains_key("txn-key-0077"));
    api.until(|peek| peek["attempts"] == json!(1), "/api/v1/timers/q/key-0077").await;
    let peek = api.get("/api/v1/timers/q/key-0077").await.json();
    assert!(peek["lastError"].as_str().expect("error").contains("poison"), "{peek}");
    assert_eq!(peek["claimed"], json!(false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_200_due_timers_with_one_poison_199_are_delivered_at_once_on_sqlite() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("chronq.db");
    let api = Api::start_with(|config| config.database = Database::Sqlite(path.clone())).await;
    let tool = rusqlite::Connection::open(&path).expect("opens");
    tool.execute_batch(
        "CREATE TRIGGER poison BEFORE INSERT ON log_frames WHEN NEW.txn = 'txn-key-0077'
         BEGIN SELECT RAISE(ABORT, 'poison'); END",
    )
    .expect("a trigger");
    one_poison_holds_nobody_back(api).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_200_due_timers_with_one_poison_199_are_delivered_at_once_on_postgres() {
    let url = postgres_server::fresh_url().await;
    let api = Api::start_with(|config| config.database = Database::Postgres(Secret::new(url.clone()))).await;
    let mut tool = sqlx::PgConnection::connect(&url).await.expect("connects");
    sqlx::raw_sql(
        "CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN IF NEW.txn = 'txn-key-0077' THEN RAISE EXCEPTION 'poison'; END IF; RETURN NEW; END $$;
         CREATE TRIGGER poison BEFORE INSERT ON log_frames FOR EACH ROW EXECUTE FUNCTION poison();",
    )
    .execute(&mut tool)
    .await
    .expect("a trigger");
    one_poison_holds_nobody_back(api).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_of_an_encrypted_queue_never_holds_the_clear_payload() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("chronq.db");
    let api = Api::start_with(|config| {
        config.database = Database::Sqlite(path.clone());
        config.data_key = Some(Secret::from(DATA_KEY));
    })
    .await;
    let options = json!({"queue": "q", "options": {"encryptionEnabled": true}});
    let configured = api.post("/api/v1/configure", &options).await;
    assert_eq!((configured.status, &configured.json()["configured"]), (200, &json!(true)));
    let clear = br#"{"card":"4000-not-a-real-card"}"#;
    let payload = base64::engine::general_purpose::STANDARD.encode(clear);
    let timer = |key: &str, delay_ms: i64| {
        let mut timer = schedule(key, delay_ms);
        timer["payload"] = json!(payload);
        timer
    };
    api.apply(json!([timer("later", 1_000_000), timer("now", 0)])).await;
    let conflict = {
        let mut timer = timer("x", 0);
        timer["encrypted"] = json!(true);
        api.post("/api/v1/timers", &json!([timer])).await
    };
    assert_eq!(conflict.json()["reason"], "timers_encrypted_conflict");
    let peek = api.get("/api/v1/timers/q/later").await.json();
    assert_eq!(peek["encrypted"], json!(true));
    assert_ne!(peek["payload"], json!(payload), "peek does not decrypt");
    let popped = api.get("/api/v1/pop/queue/q?wait=true&timeout=10000").await.json();
    assert_eq!(popped["messages"][0]["data"], json!({"card": "4000-not-a-real-card"}));
    for entry in std::fs::read_dir(folder.path()).expect("files") {
        let bytes = std::fs::read(entry.expect("file").path()).expect("bytes");
        for leak in [&clear[..], payload.as_bytes(), b"4000-not-a-real-card"] {
            assert!(!bytes.windows(leak.len()).any(|window| window == leak), "the clear payload is on disk");
        }
    }
}

async fn encryption_without_a_key_is_refused_at_configuration(database: Database) {
    let api = Api::on(database).await;
    let refused =
        api.post("/api/v1/configure", &json!({"queue": "q", "options": {"encryptionEnabled": true}})).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("CHRONQ_DATA_KEY"));
}

async fn token(api: &Api, tenant: &str, level: &str) -> String {
    let request = json!({"name": format!("{tenant}-{level}"), "level": level, "tenant": tenant});
    let minted = api.post("/v2/admin/tokens", &request).await;
    assert_eq!(minted.status, 201, "{}", minted.text());
    minted.json()["token"].as_str().expect("token").to_owned()
}

async fn post_as(api: &Api, token: &str, operations: Value) -> timers_support::Answer {
    api.call(token, Method::POST, "/api/v1/timers", operations.to_string().into_bytes()).await
}

async fn a_tenant_without_a_quota_row_is_gated_and_its_plan_holds_from_the_moment_it_is_put(
    database: Database,
) {
    let api = Api::on_with(database, |config| config.tenancy = true).await;
    let acme = token(&api, "acme", "read-write").await;
    let gated = post_as(&api, &acme, json!([schedule("a", 60_000)])).await;
    assert_eq!((gated.status, gated.json()["error"].as_str()), (403, Some("feature_gated")));
    let plan = json!({"maxTimers": 1, "maxTimerHorizonSeconds": 3_600, "maxPayloadBytes": 8,
                      "maxSchedulesPerSecond": 0.5, "burst": 4});
    let put = api.put("/v2/admin/tenants/acme", &plan).await;
    assert_eq!((put.status, &put.json()["enabled"]), (200, &json!(true)));
    assert_eq!(post_as(&api, &acme, json!([schedule("a", 3_600_000)])).await.status, 200);
    let beyond = post_as(&api, &acme, json!([schedule("a", 3_600_001)])).await;
    assert_eq!((beyond.status, beyond.json()["error"].as_str()), (403, Some("timer_horizon_exceeded")));
    let mut large = schedule("a", 0);
    large["payload"] = json!("MTIzNDU2Nzg5");
    let large = post_as(&api, &acme, json!([large])).await;
    assert_eq!((large.status, large.json()["error"].as_str()), (413, Some("payload_too_large")));
    assert_eq!(
        post_as(&api, &acme, json!([schedule("a", 5_000_000 / 2)])).await.status,
        200,
        "an upsert needs no room"
    );
    let cancel = json!({"op": "cancel", "queue": "q", "timerKey": "a"});
    let full = post_as(&api, &acme, json!([schedule("b", 60_000), cancel])).await;
    assert_eq!((full.status, full.json()["error"].as_str()), (403, Some("timers_quota_exceeded")));
    assert!(full.header("x-queen-timers-hint").is_some());
    assert_eq!(post_as(&api, &acme, json!([schedule("b", 60_000)])).await.status, 403);
    let slow = post_as(&api, &acme, json!([schedule("a", 60_000)])).await;
    assert_eq!((slow.status, slow.json()["error"].as_str()), (429, Some("rate_limited")));
    assert_eq!(slow.header("retry-after"), Some("2"));
    assert_eq!(post_as(&api, &acme, json!([cancel])).await.json()["results"][0]["status"], "cancelled");
    assert_eq!(api.delete("/v2/admin/tenants/acme").await.status, 200);
    assert_eq!(post_as(&api, &acme, json!([schedule("a", 1)])).await.json()["error"], "feature_gated");
}

async fn another_tenants_timer_looks_absent_everywhere(database: Database) {
    let api = Api::on_with(database, |config| config.tenancy = true).await;
    for tenant in ["acme", "rival"] {
        api.put(&format!("/v2/admin/tenants/{tenant}"), &json!({})).await;
    }
    let (acme, rival) = (token(&api, "acme", "read-write").await, token(&api, "rival", "admin").await);
    post_as(&api, &acme, json!([schedule("k", 1_000_000)])).await;
    let get = |path: &'static str| api.call(&rival, Method::GET, path, Vec::new());
    assert_eq!(get("/api/v1/timers/q/k").await.json()["found"], json!(false));
    assert_eq!(get("/api/v1/timers/q").await.json()["rows"], json!([]));
    let cancelled = api.call(&rival, Method::DELETE, "/api/v1/timers/q/k", Vec::new()).await;
    assert_eq!(cancelled.json()["status"], "absent");
    assert_eq!(
        post_as(&api, &rival, json!([schedule("k", 1_000_000)])).await.json()["results"][0]["status"],
        "scheduled"
    );
    let deleted = api.call(&rival, Method::DELETE, "/api/v1/resources/queues/q", Vec::new()).await;
    assert_eq!(deleted.json()["timers"], json!(1), "its own only");
    let mine = api.call(&acme, Method::GET, "/api/v1/timers/q/k", Vec::new()).await;
    assert_eq!(
        (&mine.json()["found"], &mine.json()["producerSub"]),
        (&json!(true), &json!("acme-read-write"))
    );
}

async fn each_route_asks_for_its_level(database: Database) {
    let api = Api::on(database).await;
    let reader = token(&api, "default", "read-only").await;
    let writer = token(&api, "default", "write-only").await;
    let both = token(&api, "default", "read-write").await;
    let statuses = |method: Method, path: &'static str, body: Value| {
        let (api, tokens) = (&api, [reader.clone(), writer.clone(), both.clone()]);
        async move {
            let mut statuses = Vec::new();
            for token in tokens {
                statuses
                    .push(api.call(&token, method.clone(), path, body.to_string().into_bytes()).await.status);
            }
            statuses
        }
    };
    assert_eq!(
        statuses(Method::POST, "/api/v1/timers", json!([schedule("k", 1_000_000)])).await,
        [403, 200, 200]
    );
    assert_eq!(statuses(Method::GET, "/api/v1/timers/q/k", Value::Null).await, [200, 403, 200]);
    assert_eq!(statuses(Method::GET, "/api/v1/timers/q", Value::Null).await, [200, 403, 200]);
    assert_eq!(statuses(Method::DELETE, "/api/v1/timers/q/k", Value::Null).await, [403, 403, 200]);
    assert_eq!(statuses(Method::GET, "/api/v1/system/timers", Value::Null).await, [403, 403, 403]);
    let forbidden = api.call(&reader, Method::DELETE, "/api/v1/timers/q/k", Vec::new()).await;
    assert_eq!(forbidden.json()["error"], "forbidden");
}

async fn acks_settle_retry_and_bury_messages_under_their_lease(database: Database) {
    let api = Api::on(database).await;
    api.post("/api/v1/configure", &json!({"queue": "q", "options": {"retryLimit": 1, "leaseTime": 30}}))
        .await;
    let items: Vec<_> = (0..3)
        .map(|n| json!({"queue": "q", "payload": {"n": n}, "transactionId": format!("t{n}")}))
        .collect();
    let pushed = api.post("/api/v1/push", &json!({"items": items})).await;
    assert_eq!((pushed.status, pushed.json()[2]["status"].as_str()), (201, Some("queued")));
    assert_eq!(pushed.json()[2]["queueName"], "q");
    let pop = || async { api.get("/api/v1/pop/queue/q?batch=10&consumerGroup=g").await };
    let popped = pop().await.json();
    assert_eq!(popped["messages"].as_array().map(Vec::len), Some(3));
    assert_eq!(pop().await.status, 204, "the partition is leased");
    let ack = |popped: &Value, txn: &str, status: &str| {
        json!({"transactionId": txn, "partitionId": popped["partitionId"], "leaseId": popped["leaseId"],
               "status": status, "consumerGroup": "g", "error": "no luck"})
    };
    let batch = json!({"acknowledgments": [ack(&popped, "t0", "completed"), ack(&popped, "t1", "failed"),
                                          ack(&popped, "t2", "completed"), ack(&popped, "t9", "completed")]});
    let results = api.post("/api/v1/ack/batch", &batch).await.json();
    let taken: Vec<_> =
        results.as_array().expect("results").iter().map(|result| result["success"].clone()).collect();
    assert_eq!(taken, [true, true, true, false]);
    let again = pop().await.json();
    assert_eq!(again["messages"].as_array().map(Vec::len), Some(1), "only the failed one comes back");
    assert_eq!(again["messages"][0]["transactionId"], "t1");
    let stale = api.post("/api/v1/ack", &ack(&popped, "t1", "completed")).await.json();
    assert_eq!(stale[0]["success"], json!(false), "the old lease is not held any more");
    assert_eq!(api.post("/api/v1/ack", &ack(&again, "t1", "failed")).await.json()[0]["success"], json!(true));
    assert_eq!(pop().await.status, 204);
    let dead = api.get("/api/v1/dlq?queue=q&consumerGroup=g").await.json();
    let letter = &dead["messages"][0];
    assert_eq!(
        (&letter["transactionId"], &letter["error"], &letter["attempts"]),
        (&json!("t1"), &json!("no luck"), &json!(2))
    );
    let replayed =
        api.post(&format!("/api/v1/dlq/{}/replay", letter["id"].as_str().expect("id")), &json!({})).await;
    assert_eq!(replayed.status, 200);
    assert_eq!(pop().await.json()["messages"][0]["data"], json!({"n": 1}));
    assert_eq!(api.get("/api/v1/dlq?queue=q").await.json()["total"], json!(0));
}

async fn frames_beyond_their_queues_retention_are_trimmed(database: Database) {
    let api = Api::on(database).await;
    api.post("/api/v1/configure", &json!({"queue": "q", "options": {"retentionSeconds": 60}})).await;
    let push = |txn: &str| json!({"items": [{"queue": "q", "payload": 1, "transactionId": txn}, {"queue": "kept", "payload": 1, "transactionId": txn}]});
    api.post("/api/v1/push", &push("old")).await;
    api.post("/dev/clock/advance", &json!({"ms": 61_000})).await;
    api.post("/api/v1/push", &push("new")).await;
    assert_eq!(api.server.state().store.trim_log(10).await, Ok(1));
    for (queue, count) in [("q", 0), ("kept", 1)] {
        let found = api.get(&format!("/api/v1/messages?queue={queue}&transactionId=old")).await.json();
        assert_eq!(found["messages"].as_array().map(Vec::len), Some(count), "{queue}");
    }
}
