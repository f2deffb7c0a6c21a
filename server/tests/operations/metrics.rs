//! contract/http-queue.md, "Operations": metrics.

use serde_json::json;

use crate::server::{ADMIN, Kind, call, call_as, eventually, start};

async fn metrics_are_prometheus_text_for_a_token_that_may_read(store: Kind) {
    let server = start(store).await;
    let answer = call(&server, "GET", "/metrics", None).await;
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("content-type: text/plain; version=0.0.4"), "{}", answer.head);
    for line in [
        "# TYPE chronq_queue_runs_finished gauge",
        "chronq_queue_runs_finished{queue=\"default\"} 0",
        "chronq_queue_runs_succeeded{queue=\"default\"} 0",
        "chronq_build_info{version=",
        "chronq_process_start_time_seconds ",
    ] {
        assert!(answer.body.contains(line), "{line} in {}", answer.body);
    }
    assert!(!answer.body.contains(ADMIN));
    assert_eq!(call_as(&server, None, "GET", "/metrics", None).await.status, 401);
    server.shutdown().await;
}

async fn every_line_is_a_comment_or_a_sample_and_no_metric_stands_twice(store: Kind) {
    let server = start(store).await;
    let queue = json!({ "name": "n", "cron": "@daily", "url": "http://127.0.0.1:9/" });
    assert_eq!(call(&server, "POST", "/v2/schedules", Some(queue)).await.status, 201);
    let text = call(&server, "GET", "/metrics", None).await.body;
    assert!(text.contains("chronq_queue_messages_waiting{queue=\"n\"} 0"), "{text}");
    let mut types = std::collections::BTreeSet::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let name = kind.split(' ').next().expect("a name");
            assert!(types.insert(name.to_owned()), "{name} stands twice");
        } else if !line.starts_with("# HELP ") {
            let (name, value) = line.rsplit_once(' ').expect("a sample");
            assert!(value.parse::<f64>().is_ok(), "{line}");
            assert!(name.starts_with("chronq_") || name.starts_with("queen_"), "{line}");
        }
    }
    server.shutdown().await;
}

async fn per_queue_runs_finished_succeeded_and_the_percentiles_of_the_last_24_hours(store: Kind) {
    let server = start(store).await;
    let path = format!("/v2/publish/{}/dev/inbox/hook", server.url());
    assert_eq!(call(&server, "POST", &path, None).await.status, 200);
    let text = eventually("a finished run", || async {
        let text = call(&server, "GET", "/metrics", None).await.body;
        text.contains("chronq_queue_runs_finished{queue=\"default\"} 1").then_some(text)
    })
    .await;
    for part in [
        "chronq_queue_runs_succeeded{queue=\"default\"} 1\n",
        "chronq_queue_last_attempt_duration_seconds{queue=\"default\",quantile=\"0.5\"} ",
        "chronq_queue_last_attempt_duration_seconds{queue=\"default\",quantile=\"0.95\"} ",
        "chronq_queue_messages_waiting{queue=\"default\"} 0\n",
        "chronq_attempts_total{outcome=\"completed\"} ",
        "chronq_publishes_total{outcome=\"queued\"} ",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let advanced = call(&server, "POST", "/dev/clock/advance", Some(json!({ "ms": 86_400_001 }))).await;
    assert_eq!(advanced.status, 200);
    let text = call(&server, "GET", "/metrics", None).await.body;
    assert!(text.contains("chronq_queue_runs_finished{queue=\"default\"} 0\n"), "{text}");
    server.shutdown().await;
}

async fn health_and_ready_are_open(store: Kind) {
    let server = start(store).await;
    for path in ["/health", "/ready"] {
        assert_eq!(call_as(&server, None, "GET", path, None).await.status, 200, "{path}");
    }
    server.shutdown().await;
}

on_both_stores! {
    metrics_are_prometheus_text_for_a_token_that_may_read,
    every_line_is_a_comment_or_a_sample_and_no_metric_stands_twice,
    per_queue_runs_finished_succeeded_and_the_percentiles_of_the_last_24_hours,
    health_and_ready_are_open,
}
