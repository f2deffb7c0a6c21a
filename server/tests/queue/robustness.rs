//! Any bytes on the port: no panic, and every refusal is JSON.

use std::net::SocketAddr;
use std::sync::OnceLock;

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::*;

/// One server for all cases, on a runtime of its own.
fn address() -> SocketAddr {
    static ADDRESS: OnceLock<SocketAddr> = OnceLock::new();
    *ADDRESS.get_or_init(|| {
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            runtime().block_on(async move {
                let server = start().await;
                send.send(server.address()).expect("told");
                std::future::pending::<()>().await;
            });
        });
        receive.recv().expect("started")
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime")
}

/// What comes back for these bytes, the sending side closed after them.
async fn exchange(bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address()).await.expect("connect");
    // The server may close before it has taken everything.
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    answer
}

fn check(bytes: &[u8]) {
    runtime().block_on(async {
        let answer = exchange(bytes).await;
        if !answer.is_empty() {
            let text = String::from_utf8_lossy(&answer);
            assert!(text.starts_with("HTTP/1."), "{text:?}");
            let status: u16 = text.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
            assert!(status < 500, "{text:?} to {:?}", String::from_utf8_lossy(bytes));
            if status >= 400 {
                assert!(text.to_ascii_lowercase().contains("content-type: application/json"), "{text:?}");
            }
        }
        let alive = exchange(b"GET /health HTTP/1.1\r\nhost: t\r\n\r\n").await;
        assert!(alive.starts_with(b"HTTP/1.1 200 OK"), "the server no longer answers");
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn raw_bytes_never_harm(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        check(&bytes);
    }

    #[test]
    fn raw_targets_and_headers_never_harm(
        method in "(GET|POST|PUT|DELETE|HEAD|BREW)",
        route in "(/v2/publish/|/v2/batch|/v2/messages/|/v2/events|/v2/topics/|/v2/queues/|/rpc/queue/jobs|/dev/inbox/|/dev/clock/advance|/)",
        target in proptest::collection::vec(any::<u8>().prop_filter("one line", |b| !b" \r\n".contains(b)), 0..200),
        name in "(chronq-[a-z-]{0,30}|content-type|content-length|transfer-encoding|authorization|[!-~]{1,20})",
        value in proptest::collection::vec(any::<u8>().prop_filter("one line", |b| !b"\r\n".contains(b)), 0..100),
        body in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let head = format!("{method} {route}");
        let fields = format!(
            " HTTP/1.1\r\nhost: t\r\nauthorization: Bearer {}\r\n{name}: ",
            chronq_server::dev::TOKEN
        );
        let length = format!("\r\ncontent-length: {}\r\n\r\n", body.len());
        check(&[head.as_bytes(), &target, fields.as_bytes(), &value, length.as_bytes(), &body].concat());
    }
}
