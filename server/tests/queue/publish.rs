//! "Publishing" and "Option headers".

use chronq_server::testing::TestServer;

use crate::support::*;

async fn refused(server: &TestServer, target: &str, headers: &[(&str, &str)]) -> (u16, String) {
    publish(server, target, headers, "{}").await.refusal()
}

#[tokio::test]
async fn a_destination_arrives_and_is_signed_byte_for_byte_as_written() {
    let server = start().await;
    for target in ["/a/../b%2f?x=1&y=%20", "//x/./%2E%2e/", "/?", "?b=2&a=1&b=1", ""] {
        let receiver = RawReceiver::start().await;
        let url = receiver.url(target);
        let (answer, request) = tokio::join!(
            publish(&server, &url, &[], "x"),
            receiver.take(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
        );
        assert_eq!(answer.status, 200, "{answer:?}");
        let line = request.lines().next().expect("a request line");
        let path = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        assert_eq!(line, format!("POST {path} HTTP/1.1"));
        let claims = claims_of(&request);
        assert_eq!(claims["sub"], url);
        assert_eq!(message(&server, &answer.id()).await["url"], url);
    }
    assert!(server.shutdown().await);
}

#[tokio::test]
async fn what_no_url_library_can_hold_arrives_as_written_through_a_batch() {
    let server = start().await;
    let receiver = RawReceiver::start().await;
    let url = receiver.url("/<a>/`b`/\"c\"?q=<\"'>\\");
    let body = serde_json::json!([{ "destination": url, "body": "x" }]).to_string();
    let (answer, request) = tokio::join!(
        call(&server, "POST", "/v2/batch", &[], body.as_bytes()),
        receiver.take(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
    );
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(request.starts_with("POST /<a>/`b`/\"c\"?q=<\"'>\\ HTTP/1.1\r\n"), "{request}");
    assert_eq!(claims_of(&request)["sub"], url);
}

fn claims_of(request: &str) -> serde_json::Value {
    use base64::Engine;
    let token = request
        .lines()
        .find_map(|line| line.strip_prefix("chronq-signature: "))
        .unwrap_or_else(|| panic!("no signature in {request}"));
    let payload = token.split('.').nth(1).expect("a payload");
    let payload = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).expect("base64url");
    serde_json::from_slice(&payload).expect("json")
}

#[tokio::test]
async fn a_queue_may_stand_before_the_destination_and_a_url_may_be_encoded_whole() {
    let server = start().await;
    assert_eq!(put_queue(&server, "hooks", serde_json::json!({})).await.status, 201);
    let url = server.inbox_url("a");
    let answer = publish(&server, &format!("hooks/{url}"), &[], "1").await;
    assert_eq!((answer.status, answer.json()["queue"].as_str()), (200, Some("hooks")));
    let encoded = url.replace(':', "%3A").replace('/', "%2F");
    assert_eq!(publish(&server, &encoded, &[], "2").await.status, 200);
    assert_eq!(publish(&server, &format!("hooks/{encoded}%3Fx=%2520"), &[], "3").await.status, 200);
    let targets: Vec<String> = received(&server, "a", 3).await.into_iter().map(|r| r.target).collect();
    assert_eq!(targets.iter().filter(|target| *target == "/dev/inbox/a").count(), 2);
    assert!(targets.contains(&"/dev/inbox/a?x=%20".to_owned()), "{targets:?}");
}

#[tokio::test]
async fn what_is_no_destination_is_refused_by_name() {
    let server = start().await;
    for (target, status, sentence) in [
        ("orders/not-a-url", 400, "destination must be an absolute URL, got \"not-a-url\""),
        ("", 400, "destination must be an absolute URL, got \"\""),
        ("ftp://example.com/", 400, "destination must be an absolute URL, got \"ftp://example.com/\""),
        ("not-a-group", 404, "no such URL group: \"not-a-group\""),
    ] {
        assert_eq!(refused(&server, target, &[]).await, (status, sentence.to_owned()));
    }
    let (status, sentence) = refused(&server, "https:/example.com/x", &[]).await;
    assert_eq!(status, 400);
    assert!(sentence.contains("a proxy on the way merged the slashes"), "{sentence}");
    for target in ["http://user@example.com/", "http://", "http://example.com:0/"] {
        assert_eq!(refused(&server, target, &[]).await.0, 400, "{target}");
    }
    let long = format!("http://example.com/{}", "a".repeat(2_048));
    assert_eq!(refused(&server, &long, &[]).await.0, 400);
}

#[tokio::test]
async fn nothing_is_published_without_a_token() {
    let server = start().await;
    let target = format!("/v2/publish/{}", server.inbox_url("a"));
    for authorization in ["", "authorization: Bearer chronq_wrong\r\n", "authorization: Basic x\r\n"] {
        let request = format!(
            "POST {target} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n{authorization}content-length: 0\r\n\r\n"
        );
        let answer = raw(server.address(), request.as_bytes()).await;
        assert_eq!(answer.status, 401, "{answer:?}");
        assert!(!answer.error().is_empty());
        assert!(answer.head.contains("www-authenticate: bearer"), "{answer:?}");
    }
}

#[tokio::test]
async fn every_refused_option_is_named() {
    let server = start().await;
    let url = server.inbox_url("a");
    for (name, value, sentence) in [
        (
            "Chronq-Method",
            "TRACE",
            "chronq-method must be one of GET, POST, PUT, PATCH, DELETE, got \"TRACE\"",
        ),
        ("Chronq-Retries", "101", "chronq-retries must be between 0 and 100"),
        ("Chronq-Queue", "webhoks", "unknown queue: \"webhoks\""),
        ("Chronq-Timeout", "3h", "chronq-timeout must be at most 2h, got \"3h\""),
        (
            "Chronq-Retry-Delay",
            "0s",
            "chronq-retry-delay must be a duration such as 500ms, 45s, 2m, 1h or 1d10h30m, got \"0s\"",
        ),
    ] {
        assert_eq!(refused(&server, &url, &[(name, value)]).await, (400, sentence.to_owned()));
    }
    for (name, value) in [
        ("chronq-delay", "366d"),
        ("chronq-not-before", "soon"),
        ("chronq-deduplication-id", ""),
        ("chronq-content-based-deduplication", "maybe"),
        ("chronq-callback", "nowhere"),
        ("chronq-failure-callback", "ftp://x/"),
        ("chronq-callback-method", "TRACE"),
        ("chronq-forward-host", "x"),
        ("chronq-forward-connection", "x"),
        ("chronq-forward-upstash-signature", "x"),
        ("chronq-forward-chronq-retried", "x"),
        ("chronq-label", "a,,b"),
        ("chronq-retires", "3"),
    ] {
        let (status, sentence) = refused(&server, &url, &[(name, value)]).await;
        assert_eq!(status, 400, "{name}: {sentence}");
        assert!(sentence.contains(name) || sentence.contains("chronq-callback"), "{name}: {sentence}");
    }
    let twice = refused(&server, &url, &[("chronq-retries", "1"), ("Chronq-Retries", "2")]).await;
    assert_eq!(twice, (400, "chronq-retries is given twice with different values".to_owned()));
    let contradiction = refused(&server, &format!("hooks/{url}"), &[("chronq-queue", "other")]).await;
    assert_eq!(contradiction.0, 400);
    assert!(contradiction.1.starts_with("chronq-queue"), "{}", contradiction.1);
}

#[tokio::test]
async fn a_body_must_be_utf_8_and_may_be_empty() {
    let server = start().await;
    let target = format!("/v2/publish/{}", server.inbox_url("a"));
    let answer = call(&server, "POST", &target, &[], b"\xff\xfe").await;
    assert_eq!(answer.status, 400);
    assert!(answer.error().starts_with("body must be valid UTF-8"), "{answer:?}");
    assert_eq!(call(&server, "POST", &target, &[], b"").await.status, 200);
    let request = &received(&server, "a", 1).await[0];
    assert_eq!(request.body.as_deref(), Some(""));
    assert_eq!(request.header("content-type"), None, "none is invented");
}

#[tokio::test]
async fn a_body_over_a_mebibyte_is_refused_before_it_is_read() {
    let server = start().await;
    let head = |length: &str| {
        format!(
            "POST /v2/publish/{} HTTP/1.1\r\nhost: t\r\nconnection: close\r\nauthorization: Bearer {}\r\n{length}\r\n\r\n",
            server.inbox_url("a"),
            server.token()
        )
    };
    // Not one byte of the body is sent.
    let answer =
        raw(server.address(), head("expect: 100-continue\r\ncontent-length: 1048577").as_bytes()).await;
    assert_eq!((answer.status, answer.error()), (413, "body must be at most 1048576 bytes".to_owned()));
    let chunk = format!("100001\r\n{}\r\n0\r\n\r\n", "x".repeat(1_048_577));
    let chunked = [head("transfer-encoding: chunked"), chunk].concat();
    assert_eq!(raw(server.address(), chunked.as_bytes()).await.status, 413);
    let largest = "x".repeat(1_048_576);
    assert_eq!(publish_to(&server, "a", &[], &largest).await.status, 200);
    assert_eq!(received(&server, "a", 1).await[0].body.as_deref().map(str::len), Some(1_048_576));
}

#[tokio::test]
async fn form_content_types_are_refused_and_every_other_is_forwarded_as_it_is() {
    let server = start().await;
    for form in ["application/x-www-form-urlencoded", "Multipart/Form-Data; boundary=x"] {
        let answer = publish_to(&server, "a", &[("content-type", form)], "a=1").await;
        assert_eq!(answer.status, 403, "{answer:?}");
        assert!(answer.error().contains("form content types are refused"));
    }
    for kind in ["application/json; charset=UTF-8", "text/csv"] {
        assert_eq!(
            publish_to(&server, kind.split('/').next().expect("kind"), &[("content-type", kind)], "x")
                .await
                .status,
            200
        );
    }
    assert_eq!(
        received(&server, "application", 1).await[0].header("content-type"),
        Some("application/json; charset=UTF-8")
    );
}

#[tokio::test]
async fn every_error_is_json() {
    let server = start().await;
    for request in [
        "GET /nowhere HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n",
        "PATCH /v2/batch HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n",
        "GET /v2/publish/http://a/ HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n",
        "POST /v2/publish/http://a/<x> HTTP/1.1\r\nhost: t\r\n\r\n",
        "POST / HTTP/1.1\r\nbad header: x\r\n\r\n",
        "not http at all\r\n\r\n",
        "POST /v2/publish/http://a/ HTTP/9.9\r\n\r\n",
    ] {
        let answer = raw(server.address(), request.as_bytes()).await;
        assert!((400..500).contains(&answer.status), "{request:?}: {answer:?}");
        assert!(!answer.error().is_empty(), "{request:?}");
        assert!(answer.head.contains("content-type: application/json"), "{request:?}: {answer:?}");
    }
    for target in [
        "/v2/queues/%ff",
        "/v2/messages/%ff",
        "/v2/topics/%ff",
        "/v2/schedules/%ff",
        "/v2/admin/tokens/%ff",
        "/v2/admin/tenants/%ff",
        "/api/v1/pop/queue/%ff",
    ] {
        for method in ["GET", "PUT", "DELETE"] {
            let answer = call(&server, method, target, &[], b"").await;
            assert!((400..500).contains(&answer.status), "{method} {target}: {answer:?}");
            assert!(answer.head.contains("content-type: application/json"), "{method} {target}: {answer:?}");
        }
    }
    let jobs = "/rpc/queue/jobs";
    let answer = call(&server, "POST", jobs, &[], &vec![b' '; 2 * 1_024 * 1_024 + 1]).await;
    assert_eq!(answer.refusal(), (413, "body must be at most 2097152 bytes".to_owned()));
    let many = format!("GET /health HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(300));
    assert_eq!(raw(server.address(), many.as_bytes()).await.status, 431);
}

#[tokio::test]
async fn option_headers_are_never_forwarded_and_forward_headers_are_sent_by_their_own_name() {
    let server = start().await;
    let headers = [
        ("Chronq-Forward-X-Api-Key", "shh"),
        ("chronq-forward-Authorization", "Bearer not-a-real-token"),
        ("chronq-method", "put"),
        ("chronq-label", "orders, eu"),
        ("x-mine", "not forwarded"),
    ];
    let answer = publish_to(&server, "a", &headers, "x").await;
    let request = &received(&server, "a", 1).await[0];
    assert_eq!(request.method, "PUT");
    assert_eq!(request.header("x-api-key"), Some("shh"));
    assert_eq!(request.header("authorization"), Some("Bearer not-a-real-token"));
    assert_eq!(request.header("x-mine"), None);
    let own: Vec<&str> = request
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| name.starts_with("chronq-"))
        .collect();
    assert_eq!(own, ["chronq-retried", "chronq-message-id", "chronq-signature"]);
    assert_eq!(message(&server, &answer.id()).await["labels"], serde_json::json!(["orders", "eu"]));
}

#[tokio::test]
async fn a_connection_serves_one_publish_after_another() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let server = start().await;
    let mut stream = tokio::net::TcpStream::connect(server.address()).await.expect("connect");
    for _ in 0..3 {
        let request = format!(
            "POST /v2/publish/{} HTTP/1.1\r\nhost: t\r\nauthorization: Bearer {}\r\ncontent-length: 1\r\n\r\nx",
            server.inbox_url("a"),
            server.token()
        );
        stream.write_all(request.as_bytes()).await.expect("send");
        let mut buffer = vec![0; 4_096];
        let count = stream.read(&mut buffer).await.expect("read");
        assert!(buffer[..count].starts_with(b"HTTP/1.1 200 OK\r\n"));
    }
    received(&server, "a", 3).await;
}

#[tokio::test]
async fn every_content_type_line_counts_and_an_empty_one_is_none() {
    let server = start().await;
    let types = |lines: &[&'static str]| lines.iter().map(|line| ("content-type", *line)).collect::<Vec<_>>();
    let form = "multipart/form-data; boundary=x";
    for lines in [&["text/plain", form][..], &[form, "text/plain"]] {
        assert_eq!(publish_to(&server, "a", &types(lines), "x").await.status, 403, "{lines:?}");
    }
    let twice = publish_to(&server, "a", &types(&["text/plain", "text/html"]), "x").await;
    assert_eq!(twice.refusal(), (400, "content-type is given twice with different values".to_owned()));
    for (lines, forwarded) in [(&[""][..], None), (&["text/plain", "text/plain"], Some("text/plain"))] {
        let inbox = if forwarded.is_some() { "same" } else { "none" };
        assert_eq!(publish_to(&server, inbox, &types(lines), "x").await.status, 200, "{lines:?}");
        assert_eq!(received(&server, inbox, 1).await[0].header("content-type"), forwarded);
    }
}
