use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use super::driver::{self, Transport};
use super::surface::prelude::*;
use super::{Client, ClientBuilder};
use crate::call::{ClientConfig, Spelling};
use crate::error::ErrorKind;
use crate::exchange::Failure;
use crate::retry::RetryPolicy;
use crate::wire::{Request, Response};

const TOKEN: &str = "chronq_not-a-real-token";

/// Answers from a list, in memory, so that waits are virtual.
struct Scripted {
    answers: Mutex<VecDeque<Response>>,
    requests: Mutex<Vec<Request>>,
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Response>) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()), requests: Mutex::default() }
    }
}

impl Transport for Scripted {
    async fn send(&self, request: Request) -> Result<Response, Failure> {
        self.requests.lock().unwrap().push(request);
        Ok(self.answers.lock().unwrap().pop_front().expect("an answer"))
    }
}

fn config() -> ClientConfig {
    let options = serde_json::json!({"url": "http://127.0.0.1:1", "token": TOKEN});
    ClientConfig::from_json(options, Spelling::Snake).expect("legal")
}

fn unavailable(retry_after: &str) -> Response {
    let headers = vec![("retry-after".to_owned(), retry_after.to_owned())];
    Response { headers, ..Response::new(503, r#"{"error":"the store is unavailable"}"#) }
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_waited_out_and_then_the_answer_counts() {
    let body = r#"{"messageId":"m1","queue":"default","deduplicated":false}"#;
    let transport = Scripted::new([unavailable("2"), unavailable("2"), Response::new(200, body)]);
    let publish = Publish::to("https://example.com/", Content::text("hi")).unwrap();
    let began = Instant::now();
    let published = driver::run(publish, &config(), &transport).await.expect("the third answer");
    assert_eq!(published.message_id.as_str(), "m1");
    assert!((4_000..4_500).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    let requests = transport.requests.lock().unwrap();
    let ids: Vec<_> = requests.iter().map(|request| request.header("chronq-deduplication-id")).collect();
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|id| id.is_some() && *id == ids[0]), "{ids:?}");
}

/// Reads one request: its head, and a body of the length that the head gives.
async fn read_request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).expect("text");
            let length = head
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok())
                .unwrap_or(0);
            let mut body = bytes.split_off(end + 4);
            while body.len() < length {
                assert_ne!(stream.read_buf(&mut body).await.expect("readable"), 0, "cut off");
            }
            return (head, body);
        }
        assert_ne!(stream.read_buf(&mut bytes).await.expect("readable"), 0, "cut off");
    }
}

fn header<'a>(head: &'a str, name: &str) -> &'a str {
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}: ")));
    &line.unwrap_or_else(|| panic!("no {name} in {head}"))[name.len() + 2..]
}

async fn listen() -> (TcpListener, ClientBuilder) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let quick = RetryPolicy::new(4, Duration::from_millis(1), Duration::from_millis(1)).unwrap();
    (listener, Client::builder().url(url).token(TOKEN).retry(quick))
}

async fn answer(stream: &mut TcpStream, status: &str, body: &str) {
    let text = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).await.expect("writable");
}

#[tokio::test]
async fn a_publish_whose_answer_was_lost_is_repeated_under_the_same_id() {
    let (listener, builder) = listen().await;
    let server = tokio::spawn(async move {
        // Committed, and then the connection is gone.
        let (mut stream, _) = listener.accept().await.unwrap();
        let first = read_request(&mut stream).await;
        drop(stream);
        let (mut stream, _) = listener.accept().await.unwrap();
        let second = read_request(&mut stream).await;
        answer(&mut stream, "202 Accepted", r#"{"messageId":"m1","queue":"default"}"#).await;
        (first, second)
    });
    let client = builder.user_agent("orders/7").build().unwrap();
    let published = client
        .publish("https://example.com/hook?a=%20", Content::text("hi"), PublishOptions::default())
        .await
        .expect("one message");
    assert_eq!((published.message_id.as_str(), published.deduplicated), ("m1", true));
    let ((first, body), (second, again)) = server.await.unwrap();
    assert!(first.starts_with("POST /v2/publish/https://example.com/hook?a=%20 HTTP/1.1"), "{first}");
    assert_eq!((body.as_slice(), again.as_slice()), (b"hi".as_slice(), b"hi".as_slice()));
    assert_eq!(header(&first, "chronq-deduplication-id"), header(&second, "chronq-deduplication-id"));
    assert_eq!(header(&first, "authorization"), format!("Bearer {TOKEN}"));
    assert!(header(&first, "user-agent").ends_with(" orders/7"), "{first}");
}

#[tokio::test]
async fn a_call_that_acts_twice_is_not_repeated_when_it_may_have_arrived() {
    let (listener, builder) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
    });
    let error = builder.build().unwrap().messages().retry("m1").await.expect_err("lost");
    assert_eq!((error.kind(), error.attempts()), (&ErrorKind::Transport, 1));
    assert!(error.may_have_been_sent());
    server.await.unwrap();
}

#[tokio::test]
async fn a_refused_connection_was_certainly_not_sent() {
    let (listener, builder) = listen().await;
    drop(listener);
    let error = builder.build().unwrap().messages().retry("m1").await.expect_err("refused");
    assert_eq!(
        (error.kind(), error.attempts(), error.may_have_been_sent()),
        (&ErrorKind::Transport, 4, false)
    );
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(!error.to_string().contains("m1"), "the URL stays out: {error}");
}

#[tokio::test]
async fn an_attempt_ends_at_its_bound() {
    let (listener, builder) = listen().await;
    let client = builder.retry(RetryPolicy::off()).timeout(Duration::from_millis(50)).build().unwrap();
    let error = client.queues().list().await.expect_err("no answer");
    assert_eq!((error.code(), error.attempts(), error.may_have_been_sent()), ("transport", 1, true));
    drop(listener);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (listener, builder) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        let text = "HTTP/1.1 307 Temporary Redirect\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(text.as_bytes()).await.unwrap();
    });
    let error = builder.build().unwrap().queues().list().await.expect_err("a redirect");
    assert_eq!((error.kind(), error.status()), (&ErrorKind::Protocol, Some(307)));
    server.await.unwrap();
}

#[tokio::test]
async fn pages_of_timers_are_read_one_after_another() {
    fn row(key: &str) -> String {
        format!(
            r#"{{"queue":"q","timerKey":"{key}","partition":"Default","deliverAt":"2026-12-07T00:00:00.000000Z","txn":"t","messageId":"m","payloadZstd":false,"encrypted":false,"producerSub":null,"attempts":0,"lastError":null,"claimed":false,"createdAt":"2026-11-30T00:00:00.000000Z","updatedAt":"2026-11-30T00:00:00.000000Z"}}"#
        )
    }
    let (listener, builder) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (first, _) = read_request(&mut stream).await;
        let page = format!(r#"{{"rows":[{}],"truncated":true,"nextAfter":"a b"}}"#, row("a b"));
        answer(&mut stream, "200 OK", &page).await;
        let (second, _) = read_request(&mut stream).await;
        let page = format!(r#"{{"rows":[{}],"truncated":false,"nextAfter":null}}"#, row("c"));
        answer(&mut stream, "200 OK", &page).await;
        (first, second)
    });
    let mut timers = builder.build().unwrap().timers().list("q");
    let mut keys = Vec::new();
    while let Some(row) = timers.next().await.expect("a page") {
        keys.push(row.timer_key);
    }
    assert_eq!(keys, ["a b", "c"]);
    let (first, second) = server.await.unwrap();
    assert!(first.starts_with("GET /api/v1/timers/q HTTP/1.1"), "{first}");
    assert!(second.starts_with("GET /api/v1/timers/q?after=a%20b HTTP/1.1"), "{second}");
}

#[test]
fn an_empty_id_is_refused_before_the_network() {
    let client = Client::new("http://127.0.0.1:1", TOKEN).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let error = runtime.block_on(client.messages().cancel("")).expect_err("empty");
    assert_eq!((error.code(), error.attempts()), ("invalid_input", 0));
}

#[test]
fn no_secret_shows_in_debug() {
    let builder = || Client::builder().url("http://127.0.0.1:1").token(TOKEN).retry(RetryPolicy::off());
    let client = builder().build().unwrap();
    let request = config().endpoint.request(crate::contract::Method::Get, "/", bytes::Bytes::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let refused = runtime.block_on(client.queues().list()).expect_err("nobody listens");
    let illegal = builder().token(format!("{TOKEN}\n")).build().expect_err("a line end");
    let mut shown = vec![format!("{:?} {client:?} {:?} {request:?}", builder(), client.timers().list("q"))];
    shown.extend([refused, illegal].iter().map(|error| format!("{error} {error:?}")));
    #[cfg(feature = "blocking")]
    shown.push(format!("{:?}", builder().build_blocking().unwrap()));
    for text in shown {
        assert!(!text.contains(TOKEN), "{text}");
    }
}

#[test]
fn a_client_needs_a_timeout_above_zero() {
    let builder = Client::builder().url("http://127.0.0.1:1").token(TOKEN).timeout(Duration::ZERO);
    assert!(builder.build().expect_err("zero").to_string().starts_with("timeout must be"));
}

#[cfg(feature = "blocking")]
mod blocking {
    use super::*;

    /// A server of so many connections, one answer each, on a thread of its own.
    fn serve(answers: Vec<&'static str>) -> (String, std::thread::JoinHandle<Vec<String>>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            runtime.block_on(async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut heads = Vec::new();
                for body in answers {
                    heads.push(read_request(&mut stream).await.0);
                    answer(&mut stream, "200 OK", body).await;
                }
                heads
            })
        });
        (url, server)
    }

    #[test]
    fn a_call_blocks_until_its_answer() {
        let (url, server) = serve(vec![r#"{"messageId":"m1","queue":"default","deduplicated":false}"#, "[]"]);
        let client = super::super::blocking::Client::new(url, TOKEN).unwrap();
        let published = client
            .publish("https://example.com/", Content::text("hi"), PublishOptions::default())
            .expect("published");
        assert_eq!(published.message_id.as_str(), "m1");
        assert_eq!(client.queues().list().expect("a list"), []);
        assert_eq!(server.join().unwrap().len(), 2, "over one connection");
    }

    #[test]
    fn a_blocking_call_inside_a_runtime_is_no_panic() {
        let (url, server) = serve(vec!["[]"]);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let client = super::super::blocking::Client::new(url, TOKEN).unwrap();
            assert_eq!(client.groups().list().expect("a list"), []);
        });
        server.join().unwrap();
    }
}
