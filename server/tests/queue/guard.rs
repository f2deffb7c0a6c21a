//! The outbound guard, as a publisher meets it.

use chronq_server::Config;
use chronq_server::config::{EgressPolicy, EgressRules};
use chronq_server::testing::TestServer;

use crate::support::*;

async fn public_only() -> TestServer {
    let egress = EgressRules { policy: EgressPolicy::Public, allowed: Vec::new() };
    TestServer::start_with(Config { egress, ..config().await }).await.expect("a server")
}

#[tokio::test]
async fn a_literal_that_is_refused_is_a_400_at_publish_in_every_spelling() {
    let server = public_only().await;
    for host in [
        "127.0.0.1",
        "0x7f.1",
        "2130706433",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "169.254.169.254",
        "10.0.0.1",
    ] {
        let url = format!("http://{host}:9/");
        let answer = publish(&server, &url, &[], "x").await;
        assert_eq!(answer.status, 400, "{host}: {answer:?}");
        assert!(answer.error().starts_with("destination must not lead to an address"), "{answer:?}");
        for option in ["chronq-callback", "chronq-failure-callback"] {
            let answer = publish(&server, "http://example.com/", &[(option, &url)], "x").await;
            assert_eq!(answer.status, 400, "{host}: {answer:?}");
            assert!(answer.error().starts_with(&format!("{option} must not")), "{answer:?}");
        }
        let endpoints = serde_json::json!({ "endpoints": [{ "url": url }] }).to_string();
        assert_eq!(
            call(&server, "POST", "/v2/topics/g/endpoints", &[], endpoints.as_bytes()).await.status,
            400
        );
    }
    assert_eq!(get(&server, "/v2/events").await.json()["total"], 0);
}

#[tokio::test]
async fn a_name_that_leads_to_a_refused_address_fails_the_attempt_with_one_fixed_message() {
    let server = public_only().await;
    let url = format!("http://localhost:{}/dev/inbox/a", server.address().port());
    let id = publish(&server, &url, &[("chronq-retries", "0")], "x").await.id();
    let failed = message_in(&server, &id, "failed").await;
    assert_eq!(failed["response"]["status"], 0);
    assert_eq!(failed["response"]["body"], "blocked: the destination's address is not allowed");
    assert!(server.state().inboxes.as_ref().expect("dev").requests("a").is_empty());
}

#[tokio::test]
async fn another_spelling_of_an_allowed_address_is_dialled_and_signed_as_written() {
    let server = start().await;
    for host in ["0x7f.1", "2130706433", "localhost"] {
        let url = format!("http://{host}:{}/dev/inbox/{}", server.address().port(), host.replace('.', "-"));
        publish(&server, &url, &[], "x").await.id();
        let request = &received(&server, &host.replace('.', "-"), 1).await[0];
        verify(request, &url);
        assert_eq!(request.header("host"), Some(format!("{host}:{}", server.address().port()).as_str()));
    }
}

#[tokio::test]
async fn a_callback_to_a_name_that_leads_to_a_refused_address_is_not_made() {
    let server = public_only().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("listen");
    listener.set_nonblocking(true).expect("does not block");
    let told = format!("http://localhost:{}/", listener.local_addr().expect("address").port());
    let headers = [("chronq-retries", "0"), ("chronq-failure-callback", told.as_str())];
    let url = format!("http://localhost:{}/dev/inbox/a", server.address().port());
    let id = publish(&server, &url, &headers, "x").await.id();
    message_in(&server, &id, "failed").await;
    // It waits for callbacks under way.
    assert!(server.shutdown().await);
    let nobody = listener.accept().expect_err("somebody connected");
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
}
