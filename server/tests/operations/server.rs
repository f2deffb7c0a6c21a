//! A server on a free port, and raw HTTP to it.

use std::time::Duration;

use chronq_server::config::Database;
use chronq_server::{Config, Running, Server};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The token of dev mode: admin.
pub(crate) const ADMIN: &str = "chronq_dev_token_not_a_secret";

/// One answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The sentence of a refusal.
    pub(crate) fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_else(|| panic!("no error in {self:?}")).to_owned()
    }
}

/// On which store a test runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// Each of these tests on SQLite and on Postgres.
macro_rules! on_both_stores {
    ($($test:ident,)+) => {
        mod sqlite {
            $(#[tokio::test] async fn $test() { super::$test($crate::server::Kind::Sqlite).await; })+
        }
        mod postgres {
            $(#[tokio::test] async fn $test() { super::$test($crate::server::Kind::Postgres).await; })+
        }
    };
}

/// A database that outlives its servers, for as long as this is held.
pub(crate) struct Place {
    pub(crate) database: Database,
    /// Where SQLite's file lies.
    pub(crate) folder: Option<tempfile::TempDir>,
}

impl Kind {
    /// A new, empty database.
    pub(crate) async fn place(self) -> Place {
        match self {
            Self::Sqlite => {
                let folder = tempfile::tempdir().expect("folder");
                let database = Database::Sqlite(folder.path().join("chronq.sqlite"));
                Place { database, folder: Some(folder) }
            }
            Self::Postgres => {
                let url = crate::postgres::fresh_url().await;
                Place { database: Database::Postgres(url.into()), folder: None }
            }
        }
    }
}

/// Starts a server on a database of its own; SQLite's is in memory.
pub(crate) async fn start(store: Kind) -> Running {
    match store {
        Kind::Sqlite => start_on(Database::Memory).await,
        Kind::Postgres => start_on(store.place().await.database).await,
    }
}

/// Starts a server on a database.
pub(crate) async fn start_on(database: Database) -> Running {
    crate::log::keep();
    let config = Config { database, ..Config::for_tests() };
    Server::start(config).await.expect("a server")
}

/// One request as an admin.
pub(crate) async fn call(server: &Running, method: &str, path: &str, body: Option<Value>) -> Answer {
    call_as(server, Some(ADMIN), method, path, body).await
}

/// One request on a connection of its own.
pub(crate) async fn call_as(
    server: &Running,
    token: Option<&str>,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> Answer {
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{authorization}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(server.address()).await.expect("connect");
    stream.write_all(request.as_bytes()).await.expect("send");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("read");
    let answer = String::from_utf8(answer).expect("utf-8");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head in {answer:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let head = head.to_ascii_lowercase();
    let body = if head.contains("transfer-encoding: chunked") { unchunk(body) } else { body.to_owned() };
    Answer { status, head, body }
}

fn unchunk(mut text: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a chunk's size");
        if size == 0 {
            break;
        }
        whole.push_str(&rest[..size]);
        text = &rest[size + 2..];
    }
    whole
}

/// What an inbox of the dev server has taken, once there are `count` requests or more.
pub(crate) async fn inbox(server: &Running, name: &str, count: usize) -> Vec<Value> {
    let path = format!("/dev/inbox/{name}/requests");
    eventually("a request to the inbox", || async {
        let requests = call(server, "GET", &path, None).await.json();
        let requests = requests.as_array().expect("a list").clone();
        (requests.len() >= count).then_some(requests)
    })
    .await
}

/// Asks again until the answer is there; for what happens in the background and gives no signal.
pub(crate) async fn eventually<T, F>(what: &str, mut ask: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        assert!(tokio::time::Instant::now() < deadline, "{what} did not happen within 10 s");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
