//! A scripted HTTP server on loopback: the API that clients are tested against, and the receiver of
//! deliveries. One socket; the first segment of the path says whose request it is.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::fault::Fault;

/// One answer of a script.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Answer {
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Text as it is; anything else as JSON.
    #[serde(default)]
    body: Value,
    #[serde(default)]
    delay_ms: u64,
    /// Closes the connection instead of answering.
    #[serde(default)]
    close: bool,
}

const fn ok() -> u16 {
    200
}

/// What happens when a script is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The last answer repeats.
    Repeat,
    /// Another request is a mistake of the client; it is recorded and answered with 599.
    Refuse,
}

/// A running server; it stops with the runtime.
#[derive(Clone)]
pub(crate) struct ScriptedServer {
    address: SocketAddr,
    books: Arc<Mutex<BTreeMap<String, Arc<Book>>>>,
}

/// The script and the requests of one name.
pub(crate) struct Book {
    script: Mutex<Vec<Answer>>,
    after: After,
    requests: Mutex<Vec<Value>>,
    count: watch::Sender<usize>,
}

impl ScriptedServer {
    /// Starts on a free port.
    pub(crate) async fn start() -> Result<Self, Fault> {
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = bound.map_err(|error| Fault::new(format!("no free port: {error}")))?;
        let address = listener.local_addr().map_err(|error| Fault::new(error.to_string()))?;
        let server = Self { address, books: Arc::default() };
        let accepting = server.clone();
        tokio::spawn(async move {
            // An accept that fails is over with its connection, not with the server.
            loop {
                if let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(accepting.clone().serve(stream));
                }
            }
        });
        Ok(server)
    }

    /// Opens a book; requests to `{base}/…` go there.
    pub(crate) fn open(&self, name: &str, script: Vec<Answer>, after: After) -> Arc<Book> {
        let book = Arc::new(Book {
            script: Mutex::new(script),
            after,
            requests: Mutex::default(),
            count: watch::Sender::new(0),
        });
        lock(&self.books).insert(name.to_owned(), Arc::clone(&book));
        book
    }

    /// Base URL of a book.
    pub(crate) fn base(&self, name: &str) -> String {
        format!("http://{}/{name}", self.address)
    }

    async fn serve(self, stream: TcpStream) {
        let service = service_fn(move |request| {
            let server = self.clone();
            async move { server.answer(request).await }
        });
        // One request per connection: some runtimes repeat a request by themselves where a connection
        // that they used before closes. A client may go away at any time; that is its business.
        let _ = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service)
            .await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Closed> {
        let target = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str).to_owned();
        let name = target.trim_start_matches('/').split(['/', '?']).next().unwrap_or_default();
        let Some(book) = lock(&self.books).get(name).cloned() else {
            return Ok(plain(404, "no such book"));
        };
        let answer = book.record(name, &target, request).await?;
        tokio::time::sleep(Duration::from_millis(answer.delay_ms)).await;
        if answer.close {
            return Err(Closed);
        }
        Ok(answer.into_response())
    }
}

impl Book {
    /// Records a request and takes the next answer.
    async fn record(&self, name: &str, target: &str, request: Request<Incoming>) -> Result<Answer, Closed> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(|_| Closed)?.to_bytes();
        let mut headers = Map::new();
        for (name, value) in &parts.headers {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            let joined = match headers.get(name.as_str()).and_then(Value::as_str) {
                Some(first) => format!("{first}, {value}"),
                None => value,
            };
            headers.insert(name.as_str().to_owned(), joined.into());
        }
        let received = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut recorded = json!({
            "method": parts.method.as_str(),
            "target": target,
            // What a client asked for, below the base URL that it was given.
            "path": target.strip_prefix(&format!("/{name}")).unwrap_or(target),
            "headers": headers,
            "receivedAt": u64::try_from(received.as_millis()).unwrap_or(u64::MAX),
            "base64": base64::engine::general_purpose::STANDARD.encode(&body),
        });
        if let Ok(text) = std::str::from_utf8(&body) {
            recorded["body"] = text.into();
            recorded["json"] = serde_json::from_str(text).unwrap_or(Value::Null);
        }
        let index = {
            let mut requests = lock(&self.requests);
            requests.push(recorded);
            requests.len()
        };
        self.count.send_replace(index);
        let script = lock(&self.script);
        let scripted = match self.after {
            After::Repeat => script.get(index - 1).or(script.last()),
            After::Refuse => script.get(index - 1),
        };
        Ok(scripted.cloned().unwrap_or_else(|| match self.after {
            After::Repeat => Answer::plain(200),
            After::Refuse => Answer::plain(599),
        }))
    }

    /// Everything received so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        lock(&self.requests).clone()
    }

    /// Replaces the script; what was received stays and counts on.
    pub(crate) fn rescript(&self, script: Vec<Answer>) {
        *lock(&self.script) = script;
    }

    /// Waits until so many requests have come; says whether they came within `patience`.
    pub(crate) async fn wait_for(&self, count: usize, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut watched = self.count.subscribe();
        let came = watched.wait_for(|received| *received >= count);
        tokio::time::timeout_at(deadline.into(), came).await.is_ok_and(|outcome| outcome.is_ok())
    }
}

impl Answer {
    const fn plain(status: u16) -> Self {
        Self { status, headers: BTreeMap::new(), body: Value::Null, delay_ms: 0, close: false }
    }

    fn into_response(self) -> Response<Full<Bytes>> {
        let body = match self.body {
            Value::Null => String::new(),
            Value::String(text) => text,
            other => other.to_string(),
        };
        let mut response = plain(self.status, &body);
        for (name, value) in self.headers {
            if let (Ok(name), Ok(value)) =
                (http::HeaderName::from_bytes(name.as_bytes()), http::HeaderValue::from_str(&value))
            {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}

/// Ends the connection without an answer.
#[derive(Debug)]
struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("closed by the script")
    }
}

impl std::error::Error for Closed {}

impl From<Infallible> for Closed {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

fn plain(status: u16, body: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_owned())));
    *response.status_mut() =
        http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    response
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
