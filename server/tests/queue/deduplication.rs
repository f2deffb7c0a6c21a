//! Deduplication, by id and by content.

use std::time::Duration;

use crate::support::*;

#[tokio::test]
async fn a_second_publish_with_the_same_id_answers_202_with_the_first_ones_id() {
    let server = start().await;
    let id = [("chronq-deduplication-id", "order-42")];
    let first = publish_to(&server, "a", &id, "1").await;
    assert_eq!(first.status, 200);
    let second = publish_to(&server, "b", &id, "2").await;
    assert_eq!((second.status, second.id()), (202, first.id()));
    received(&server, "a", 1).await;
    assert_eq!(get(&server, "/v2/events").await.json()["total"], 1);
}

#[tokio::test]
async fn the_window_is_ten_minutes_from_the_first_publish() {
    let server = start().await;
    let id = [("chronq-deduplication-id", "order-42")];
    publish_to(&server, "a", &id, "x").await.id();
    server.clock().advance(Duration::from_secs(590));
    assert_eq!(publish_to(&server, "a", &id, "x").await.status, 202);
    server.clock().advance(Duration::from_secs(11));
    assert_eq!(publish_to(&server, "a", &id, "x").await.status, 200);
}

#[tokio::test]
async fn a_failed_message_keeps_its_id_for_the_window() {
    let server = start().await;
    script(&server, "a", respond(&[500]));
    let headers = [("chronq-deduplication-id", "order-42"), ("chronq-retries", "0")];
    let id = publish_to(&server, "a", &headers, "x").await.id();
    message_in(&server, &id, "failed").await;
    assert_eq!(publish_to(&server, "a", &headers, "x").await.status, 202);
}

#[tokio::test]
async fn content_is_destination_body_and_forwarded_headers_in_any_order_and_case() {
    let server = start().await;
    let by_content = |extra: &[(&'static str, &'static str)]| {
        let mut headers =
            vec![("chronq-content-based-deduplication", "TRUE"), ("content-type", "text/plain")];
        headers.extend_from_slice(extra);
        headers
    };
    let one = by_content(&[("chronq-forward-x-a", "1"), ("chronq-forward-x-b", "2")]);
    let other = by_content(&[("Chronq-Forward-X-B", "2"), ("Chronq-Forward-X-A", "1")]);
    assert_eq!(publish_to(&server, "a", &one, "x").await.status, 200);
    assert_eq!(publish_to(&server, "a", &other, "x").await.status, 202);
    assert_eq!(publish_to(&server, "a", &one, "y").await.status, 200, "another body");
    assert_eq!(publish_to(&server, "b", &one, "x").await.status, 200, "another destination");
    let changed = by_content(&[("chronq-forward-x-a", "2"), ("chronq-forward-x-b", "2")]);
    assert_eq!(publish_to(&server, "a", &changed, "x").await.status, 200, "another header");
    let explicit = by_content(&[
        ("chronq-forward-x-a", "1"),
        ("chronq-forward-x-b", "2"),
        ("chronq-deduplication-id", "wins"),
    ]);
    assert_eq!(publish_to(&server, "a", &explicit, "x").await.status, 200, "an explicit id wins");
}
