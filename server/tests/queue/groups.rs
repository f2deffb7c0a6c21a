//! "URL groups".

use serde_json::{Value, json};

use crate::support::*;

fn endpoints(urls: &[String]) -> String {
    json!({ "endpoints": urls.iter().map(|url| json!({ "url": url })).collect::<Vec<_>>() }).to_string()
}

async fn change(
    server: &chronq_server::testing::TestServer,
    method: &str,
    name: &str,
    urls: &[String],
) -> Answer {
    call(server, method, &format!("/v2/topics/{name}/endpoints"), &[], endpoints(urls).as_bytes()).await
}

fn urls(group: &Value) -> Vec<&str> {
    group["endpoints"]
        .as_array()
        .expect("endpoints")
        .iter()
        .map(|e| e["url"].as_str().expect("url"))
        .collect()
}

#[tokio::test]
async fn a_publish_to_a_group_delivers_one_copy_to_each_endpoint_under_its_own_signature() {
    let server = start().await;
    let (a, b) = (server.inbox_url("a"), server.inbox_url("b"));
    assert_eq!(change(&server, "POST", "order-events", &[a.clone(), b.clone()]).await.status, 200);
    let answer = publish(&server, "order-events", &[("chronq-label", "x")], "{}").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let copies = answer.json();
    assert_eq!((&copies[0]["url"], &copies[1]["url"]), (&json!(a), &json!(b)));
    assert_eq!((&copies[0]["queue"], &copies[0]["deduplicated"]), (&json!("default"), &json!(false)));
    for (inbox, url, copy) in [("a", &a, &copies[0]), ("b", &b, &copies[1])] {
        let request = &received(&server, inbox, 1).await[0];
        verify(request, url);
        assert_eq!(request.header("chronq-message-id"), copy["messageId"].as_str());
    }
}

#[tokio::test]
async fn groups_are_made_changed_listed_and_deleted() {
    let server = start().await;
    let (a, b) = (server.inbox_url("a"), server.inbox_url("b"));
    let made = change(&server, "POST", "g", std::slice::from_ref(&a)).await.json();
    assert_eq!((made["name"].as_str(), urls(&made)), (Some("g"), vec![a.as_str()]));
    assert!(made["createdAt"].is_i64() && made["updatedAt"].is_i64());
    let grown = change(&server, "POST", "g", &[b.clone(), a.clone()]).await.json();
    assert_eq!(urls(&grown), [a.as_str(), b.as_str()], "a known url is kept");
    assert_eq!(get(&server, "/v2/topics/g").await.json(), grown);
    assert_eq!(get(&server, "/v2/topics").await.json(), json!([grown]));
    let shrunk = change(&server, "DELETE", "g", &[a.clone(), b]).await.json();
    assert!(urls(&shrunk).is_empty(), "it may become empty");
    let empty = publish(&server, "g", &[], "x").await;
    assert_eq!(empty.refusal(), (400, "URL group has no endpoints: \"g\"".to_owned()));
    assert_eq!(call(&server, "DELETE", "/v2/topics/g", &[], b"").await.status, 200);
    assert_eq!(call(&server, "DELETE", "/v2/topics/g", &[], b"").await.status, 404);
    assert_eq!(get(&server, "/v2/topics/g").await.status, 404);
    assert_eq!(change(&server, "DELETE", "g", &[a]).await.status, 404);
}

#[tokio::test]
async fn a_group_holds_at_most_a_hundred_destinations() {
    let server = start().await;
    let all: Vec<String> = (0..100).map(|n| server.inbox_url(&n.to_string())).collect();
    assert_eq!(change(&server, "POST", "g", &all).await.status, 200);
    let over = change(&server, "POST", "g", &[server.inbox_url("100")]).await;
    assert_eq!(over.refusal(), (400, "endpoints must be at most 100 in one URL group".to_owned()));
    let bad = change(&server, "POST", "g", &["nowhere".to_owned()]).await;
    assert_eq!(bad.status, 400);
    assert!(bad.error().contains("must be an absolute URL"), "{bad:?}");
    assert_eq!(change(&server, "POST", ".bad", &all).await.status, 400);
}

#[tokio::test]
async fn a_deduplication_id_is_scoped_to_the_endpoint_and_202_means_every_copy_was_one() {
    let server = start().await;
    let (a, b) = (server.inbox_url("a"), server.inbox_url("b"));
    change(&server, "POST", "g", &[a]).await;
    let id = [("chronq-deduplication-id", "order-42")];
    let first = publish(&server, "g", &id, "x").await;
    assert_eq!(first.status, 200);
    let again = publish(&server, "g", &id, "x").await;
    assert_eq!(again.status, 202);
    assert_eq!(again.json()[0]["messageId"], first.json()[0]["messageId"]);
    change(&server, "POST", "g", &[b]).await;
    let grown = publish(&server, "g", &id, "x").await;
    assert_eq!(grown.status, 200, "one copy is new");
    assert_eq!(
        (&grown.json()[0]["deduplicated"], &grown.json()[1]["deduplicated"]),
        (&json!(true), &json!(false))
    );
}

#[tokio::test]
async fn chronq_queue_picks_the_queue_that_the_copies_go_through() {
    let server = start().await;
    put_queue(&server, "orders", json!({})).await;
    change(&server, "POST", "g", &[server.inbox_url("a"), server.inbox_url("b")]).await;
    let copies = publish(&server, "g", &[("chronq-queue", "orders")], "x").await.json();
    for (copy, inbox) in [(&copies[0], "a"), (&copies[1], "b")] {
        assert_eq!(copy["queue"], "orders");
        assert_eq!(message(&server, copy["messageId"].as_str().expect("id")).await["queue"], "orders");
        received(&server, inbox, 1).await;
    }
}

#[tokio::test]
async fn editing_a_group_changes_later_publishes_not_messages_already_queued() {
    let server = start().await;
    let (a, b) = (server.inbox_url("a"), server.inbox_url("b"));
    change(&server, "POST", "g", std::slice::from_ref(&a)).await;
    let queued = publish(&server, "g", &[("chronq-delay", "1h")], "early").await.json();
    change(&server, "DELETE", "g", std::slice::from_ref(&a)).await;
    change(&server, "POST", "g", std::slice::from_ref(&b)).await;
    let later = publish(&server, "g", &[], "late").await.json();
    assert_eq!((later.as_array().map(Vec::len), &later[0]["url"]), (Some(1), &json!(b)));
    message_in(&server, later[0]["messageId"].as_str().expect("id"), "completed").await;
    assert_eq!(received(&server, "b", 1).await[0].body.as_deref(), Some("late"));
    server.clock().advance(std::time::Duration::from_hours(1));
    message_in(&server, queued[0]["messageId"].as_str().expect("id"), "completed").await;
    assert_eq!(received(&server, "a", 1).await[0].body.as_deref(), Some("early"));
    received(&server, "b", 1).await;
}

#[tokio::test]
async fn content_is_deduplicated_per_endpoint() {
    let server = start().await;
    change(&server, "POST", "g", &[server.inbox_url("a")]).await;
    let content = [("chronq-content-based-deduplication", "true")];
    assert_eq!(publish(&server, "g", &content, "x").await.status, 200);
    assert_eq!(publish(&server, "g", &content, "x").await.status, 202);
    change(&server, "POST", "g", &[server.inbox_url("b")]).await;
    let third = publish(&server, "g", &content, "x").await;
    let copies = third.json();
    assert_eq!(third.status, 200);
    assert_eq!((&copies[0]["deduplicated"], &copies[1]["deduplicated"]), (&json!(true), &json!(false)));
    assert_eq!(publish(&server, "g", &content, "y").await.json()[0]["deduplicated"], false);
}
