//! contract/http-queue.md, "Operations": signing keys.

use chronq::signature::{Body, Delivery, Receiver};
use chronq_server::Running;
use serde_json::{Value, json};

use crate::server::{Kind, call, start};

const KEYS: &str = "/v2/admin/keys";
const URL: &str = "https://example.com/hook";

async fn post(server: &Running, verb: &str) -> Value {
    let answer = call(server, "POST", &format!("{KEYS}/{verb}"), None).await;
    assert_eq!(answer.status, 200, "{verb}: {answer:?}");
    answer.json()
}

async fn list(server: &Running) -> Vec<Value> {
    call(server, "GET", KEYS, None).await.json().as_array().expect("a list").clone()
}

fn states(keys: &[Value]) -> Vec<&str> {
    keys.iter().map(|key| key["state"].as_str().expect("a state")).collect()
}

fn text(key: &Value) -> &str {
    key["key"].as_str().expect("a key")
}

/// Whether what the server signs now verifies with this key alone.
fn signs_with(server: &Running, key: &Value) -> bool {
    let token = server.state().signing_keys.sign(URL, b"{}").expect("a token");
    let receiver = Receiver::new(text(key), None).expect("a key");
    let delivery = Delivery { signature: token.as_str().into(), body: Body::Raw(b"{}"), url: Some(URL) };
    receiver.verify(&delivery, now_seconds()).is_ok()
}

fn now_seconds() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_secs()).expect("in range")
}

async fn a_rotated_key_signs_at_once_and_the_one_before_verifies(store: Kind) {
    let server = start(store).await;
    let before = list(&server).await;
    let new = post(&server, "rotate").await;
    assert!(text(&new).starts_with("sig_") && text(&new).len() == 47);
    assert_eq!(new["state"], "signing");
    assert!(new["createdAt"].is_i64());
    let after = list(&server).await;
    assert_eq!(after[0], new);
    assert_eq!(
        (after[1]["id"].clone(), after[1]["state"].clone()),
        (before[0]["id"].clone(), json!("verifying"))
    );
    assert_eq!(states(&after).iter().filter(|state| **state == "signing").count(), 1);
    assert!(signs_with(&server, &new));
    assert!(!signs_with(&server, &before[0]));
    server.shutdown().await;
}

async fn a_staged_key_is_shown_and_signs_only_once_it_is_activated(store: Kind) {
    let server = start(store).await;
    let before = list(&server).await;
    let staged = post(&server, "stage").await;
    assert_eq!(staged["state"], "staged");
    assert_eq!(list(&server).await[0], staged);
    assert!(!signs_with(&server, &staged));
    assert!(signs_with(&server, &before[0]));
    let active = post(&server, "activate").await;
    assert_eq!((&active["id"], &active["state"]), (&staged["id"], &json!("signing")));
    assert!(signs_with(&server, &active));
    let after = list(&server).await;
    assert_eq!(after[1]["state"], "verifying");
    server.shutdown().await;
}

async fn staging_twice_and_activating_nothing_are_409(store: Kind) {
    let server = start(store).await;
    let nothing = call(&server, "POST", &format!("{KEYS}/activate"), None).await;
    assert_eq!((nothing.status, nothing.error()), (409, "no key is staged: stage one first".to_owned()));
    post(&server, "stage").await;
    let twice = call(&server, "POST", &format!("{KEYS}/stage"), None).await;
    assert_eq!((twice.status, twice.error()), (409, "a key is staged already: activate it first".to_owned()));
    server.shutdown().await;
}

async fn pruning_deletes_the_keys_that_only_verify(store: Kind) {
    let server = start(store).await;
    post(&server, "rotate").await;
    let staged = post(&server, "stage").await;
    let signing = list(&server).await[1].clone();
    let pruned = post(&server, "prune").await;
    assert!(pruned["pruned"].as_u64().is_some_and(|count| count >= 1), "{pruned}");
    assert_eq!(list(&server).await, [staged, signing]);
    server.shutdown().await;
}

async fn a_key_rotated_elsewhere_signs_with_the_next_refresh(store: Kind) {
    let server = start(store).await;
    let before = list(&server).await;
    let elsewhere = chronq::Secret::new("sig_not-a-real-key-not-a-real-key-not-a-real-key-");
    server.state().store.rotate_signing_key(elsewhere).await.expect("store");
    assert!(signs_with(&server, &before[0]));
    chronq_server::refresh::once(server.state()).await;
    assert!(signs_with(&server, &list(&server).await[0]));
    server.shutdown().await;
}

async fn a_key_s_answer_may_not_be_cached(store: Kind) {
    let server = start(store).await;
    for (method, path) in [("GET", KEYS.to_owned()), ("POST", format!("{KEYS}/rotate"))] {
        let answer = call(&server, method, &path, None).await;
        assert!(answer.head.contains("cache-control: no-store"), "{path}: {}", answer.head);
    }
    server.shutdown().await;
}

on_both_stores! {
    a_rotated_key_signs_at_once_and_the_one_before_verifies,
    a_staged_key_is_shown_and_signs_only_once_it_is_activated,
    staging_twice_and_activating_nothing_are_409,
    pruning_deletes_the_keys_that_only_verify,
    a_key_rotated_elsewhere_signs_with_the_next_refresh,
    a_key_s_answer_may_not_be_cached,
}
