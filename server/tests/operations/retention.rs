//! contract/http-queue.md, "Queues": how long messages are kept.

use chronq_server::retention;
use serde_json::json;

use crate::server::{Kind, call, eventually, inbox, start};

const WEEK_MS: u64 = 7 * 86_400_000;

async fn a_finished_message_is_kept_for_its_queue_s_keep_completed_and_is_a_404_afterwards(store: Kind) {
    let server = start(store).await;
    let path = format!("/v2/publish/{}/dev/inbox/hook", server.url());
    let id = call(&server, "POST", &path, None).await.json()["messageId"].as_str().expect("an id").to_owned();
    inbox(&server, "hook", 1).await;
    let message = format!("/v2/messages/{id}");
    eventually("the delivery", || async {
        let state = call(&server, "GET", &message, None).await.json()["state"].clone();
        (state == "completed").then_some(())
    })
    .await;
    let advance = async |ms: u64| {
        assert_eq!(call(&server, "POST", "/dev/clock/advance", Some(json!({ "ms": ms }))).await.status, 200);
    };
    advance(WEEK_MS - 60_000).await;
    retention::once(server.state()).await.expect("store");
    assert_eq!(call(&server, "GET", &message, None).await.status, 200);
    advance(120_000).await;
    // The move of the clock wakes the loop.
    eventually("the deletion", || async {
        (call(&server, "GET", &message, None).await.status == 404).then_some(())
    })
    .await;
    server.shutdown().await;
}

on_both_stores! {
    a_finished_message_is_kept_for_its_queue_s_keep_completed_and_is_a_404_afterwards,
}
