//! Raw HTTP in both directions, and a receiver that verifies what it gets.

use std::net::SocketAddr;
use std::time::Duration;

use chronq::signature::{Body, Delivery, Receiver, Verified};
use chronq_server::Config;
use chronq_server::dev::inbox::{Recorded, ScriptedAnswer};
use chronq_server::testing::TestServer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Longer than anything that happens takes; only a failing test waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn config() -> Config {
    Config { database: crate::database().await, ..Config::for_tests() }
}

pub(crate) async fn start() -> TestServer {
    TestServer::start_with(config().await).await.expect("a server")
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    pub(crate) fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_else(|| panic!("no error in {self:?}")).to_owned()
    }

    pub(crate) fn id(&self) -> String {
        assert!(self.status < 300, "{self:?}");
        self.json()["messageId"].as_str().unwrap_or_else(|| panic!("no id in {self:?}")).to_owned()
    }

    /// Status and sentence.
    pub(crate) fn refusal(&self) -> (u16, String) {
        (self.status, self.error())
    }
}

/// Sends these bytes and reads to the end of the answer.
pub(crate) async fn raw(address: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).await.expect("connect");
    stream.write_all(bytes).await.expect("send");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("read");
    parse(&String::from_utf8_lossy(&answer))
}

fn parse(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head in {text:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

/// One request with the dev token, on a connection of its own; the target is sent as it is.
pub(crate) async fn call(
    server: &TestServer,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let mut request = format!(
        "{method} {target} HTTP/1.1\r\nhost: test\r\nconnection: close\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n",
        server.token(),
        body.len()
    );
    for (name, value) in headers {
        request.extend([name, ": ", value, "\r\n"]);
    }
    request.push_str("\r\n");
    raw(server.address(), &[request.as_bytes(), body].concat()).await
}

pub(crate) async fn get(server: &TestServer, target: &str) -> Answer {
    call(server, "GET", target, &[], b"").await
}

pub(crate) async fn put_queue(server: &TestServer, name: &str, settings: Value) -> Answer {
    call(server, "PUT", &format!("/v2/queues/{name}"), &[], settings.to_string().as_bytes()).await
}

/// Publishes to a target as it stands behind `/v2/publish/`.
pub(crate) async fn publish(
    server: &TestServer,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    call(server, "POST", &format!("/v2/publish/{target}"), headers, body.as_bytes()).await
}

/// Publishes to an inbox.
pub(crate) async fn publish_to(
    server: &TestServer,
    inbox: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    publish(server, &server.inbox_url(inbox), headers, body).await
}

pub(crate) fn script(server: &TestServer, inbox: &str, answers: Value) {
    let answers: Vec<ScriptedAnswer> = serde_json::from_value(answers).expect("a script");
    server.state().inboxes.as_ref().expect("dev mode").script(inbox, answers);
}

/// Exactly so many requests, no fewer; that there are no more is for the test to say at its end.
pub(crate) async fn received(server: &TestServer, inbox: &str, count: usize) -> Vec<Recorded> {
    let requests = server.received(inbox, count, PATIENCE).await;
    assert_eq!(requests.len(), count, "{requests:#?}");
    requests
}

/// Verifies a request under the dev keys against the URL it was published with.
pub(crate) fn verify(request: &Recorded, url: &str) -> Verified {
    let (current, next) = chronq_server_keys();
    let receiver = Receiver::new(current, Some(next.into())).expect("keys");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("now").as_secs();
    let delivery = Delivery {
        signature: request.header("chronq-signature").expect("signed").into(),
        body: Body::Raw(request.body.as_deref().unwrap_or_default().as_bytes()),
        url: Some(url),
    };
    receiver.verify(&delivery, i64::try_from(now).expect("now")).expect("a valid signature")
}

fn chronq_server_keys() -> (&'static str, &'static str) {
    (chronq_server::dev::SIGNING_KEY, chronq_server::dev::NEXT_SIGNING_KEY)
}

pub(crate) async fn message(server: &TestServer, id: &str) -> Value {
    let answer = get(server, &format!("/v2/messages/{id}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// The message once it is in this state: a settlement gives no signal over HTTP.
pub(crate) async fn message_in(server: &TestServer, id: &str, state: &str) -> Value {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let found = message(server, id).await;
        if found["state"] == state {
            return found;
        }
        assert!(tokio::time::Instant::now() < deadline, "not {state}: {found}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// A receiver that speaks no HTTP library: it shows the bytes that came, and sends bytes back.
pub(crate) struct RawReceiver {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
}

impl RawReceiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listen");
        let address = listener.local_addr().expect("address");
        Self { listener, address }
    }

    pub(crate) fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// Takes one request, answers it, and gives back its bytes up to the end of its body.
    pub(crate) async fn take(&self, answer: &[u8]) -> String {
        let (mut stream, _) =
            tokio::time::timeout(PATIENCE, self.listener.accept()).await.expect("a request").expect("accept");
        let request = read_request(&mut stream).await;
        // The other end may have read enough.
        let _ = stream.write_all(answer).await;
        let _ = stream.shutdown().await;
        request
    }

    /// Takes one request and never answers it; says how long the other end waited.
    pub(crate) async fn take_in_silence(&self) -> Duration {
        let (mut stream, _) =
            tokio::time::timeout(PATIENCE, self.listener.accept()).await.expect("a request").expect("accept");
        read_request(&mut stream).await;
        let began = std::time::Instant::now();
        let end = tokio::time::timeout(PATIENCE, stream.read(&mut [0; 1])).await.expect("an end");
        assert_eq!(end.unwrap_or(0), 0);
        began.elapsed()
    }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let count = stream.read(&mut buffer).await.expect("read");
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .to_ascii_lowercase()
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ").map(str::to_owned))
                .map_or(0, |length| length.parse::<usize>().expect("a length"));
            if body.len() >= length {
                return text;
            }
        }
        assert!(count > 0, "the request broke off: {text:?}");
    }
}

pub(crate) fn respond(statuses: &[u16]) -> Value {
    statuses.iter().map(|status| json!({ "status": status })).collect()
}
