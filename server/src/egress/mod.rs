//! Outgoing requests: deliveries, callbacks, alerts.
//!
//! A request's target is written byte for byte as its publisher wrote it; no library prints it.
//! Names are resolved here, and the guard decides on the address that is dialled. Redirects and
//! proxies do not exist.

mod address;
mod dial;
mod guard;
mod pool;
mod target;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use chronq::Destination;
use chronq::contract::{Method, limits};
use http::{HeaderMap, HeaderName, HeaderValue, Request, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;

pub use address::literal_address;
pub use guard::Guard;

use crate::config::EgressRules;
use pool::{Connection, Pool};

/// The one client of a server.
#[derive(Clone, Debug)]
pub struct Egress {
    guard: Guard,
    pool: Arc<Pool>,
    kept_body_bytes: usize,
}

/// One request to make.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Where to.
    pub destination: &'a Destination,
    /// How.
    pub method: Method,
    /// What it carries besides `host` and `content-length`.
    pub headers: &'a [(HeaderName, HeaderValue)],
    /// The exact bytes.
    pub body: &'a Bytes,
    /// Bound of the whole attempt: resolving, connecting, sending, and reading the answer.
    pub timeout: Duration,
}

/// What came back, cut to what is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, to 8 KiB.
    pub body: Bytes,
    /// Whether the body was cut.
    pub truncated: bool,
}

/// Why no answer came: the text that is kept as the attempt's body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// The attempt's bound.
    #[error("timeout: no answer within {}", chronq::duration::format(*.0))]
    Timeout(Duration),
    /// The guard. One fixed sentence, so that nothing is learnt about the network behind it.
    #[error("blocked: the destination's address is not allowed")]
    Blocked,
    /// The name has no address.
    #[error("cannot resolve the destination's name")]
    Resolve,
    /// Nobody listens, or the network fails.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// TLS failed.
    #[error("TLS failed: {0}")]
    Tls(String),
    /// The connection broke, or what came was no HTTP.
    #[error("no valid answer: {0}")]
    Broken(String),
}

impl Egress {
    /// A client under these rules.
    pub fn new(rules: EgressRules) -> Self {
        Self {
            guard: Guard::new(rules),
            pool: Arc::default(),
            kept_body_bytes: limits::MAX_RESPONSE_BODY_BYTES,
        }
    }

    /// Keeps more or less of an answer's body than a delivery does.
    #[must_use]
    pub fn with_kept_body(mut self, bytes: usize) -> Self {
        self.kept_body_bytes = bytes;
        self
    }

    /// The guard, for what is refused before anything is dialled.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Makes a request; what failed is said as the reason that no answer came.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub async fn send(&self, outgoing: Outgoing<'_>) -> Result<Answer, NoAnswer> {
        tokio::time::timeout(outgoing.timeout, self.attempt(outgoing))
            .await
            .unwrap_or(Err(NoAnswer::Timeout(outgoing.timeout)))
    }

    async fn attempt(&self, outgoing: Outgoing<'_>) -> Result<Answer, NoAnswer> {
        let destination = outgoing.destination;
        let target = target::Target::of(destination);
        let mut request = build(&outgoing, &target)?;
        if target.is_expressible() {
            // A connection that was kept may have been closed by the other end in the meantime. Only
            // where the request certainly was not sent is it sent again.
            while let Some(mut kept) = self.pool.take(destination) {
                if !kept.is_ready().await {
                    continue;
                }
                match kept.sender.try_send_request(request).await {
                    Ok(response) => return self.finish(destination, kept, response).await,
                    Err(mut error) => match error.take_message() {
                        Some(unsent) => request = unsent,
                        None => return Err(broken(&error.into_error())),
                    },
                }
            }
        }
        // Apart, since it is seldom needed: in place, it would make up most of every attempt.
        let mut fresh = Box::pin(dial::connect(&self.guard, destination, &target)).await?;
        let response = fresh.sender.send_request(request).await.map_err(|error| broken(&error))?;
        self.finish(destination, fresh, response).await
    }

    /// Reads the answer, to what is kept of it; a connection with more to come is dropped.
    async fn finish(
        &self,
        destination: &Destination,
        connection: Connection,
        response: http::Response<Incoming>,
    ) -> Result<Answer, NoAnswer> {
        let (head, mut body) = response.into_parts();
        let (status, headers) = (head.status.as_u16(), head.headers);
        let mut kept = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| broken(&error))?;
            let Some(data) = frame.data_ref() else { continue };
            let room = self.kept_body_bytes - kept.len();
            kept.extend_from_slice(&data[..data.len().min(room)]);
            if data.len() > room {
                return Ok(Answer { status, headers, body: kept.freeze(), truncated: true });
            }
        }
        if connection.is_reusable {
            self.pool.put(destination, connection, Instant::now());
        }
        Ok(Answer { status, headers, body: kept.freeze(), truncated: false })
    }
}

fn build(outgoing: &Outgoing<'_>, target: &target::Target) -> Result<Request<Full<Bytes>>, NoAnswer> {
    let mut request = Request::new(Full::new(outgoing.body.clone()));
    *request.method_mut() = outgoing.method.into();
    *request.uri_mut() = target.uri().clone();
    let host = HeaderValue::from_str(outgoing.destination.authority())
        .map_err(|_| NoAnswer::Broken("the destination's host cannot stand in a header".to_owned()))?;
    let headers = request.headers_mut();
    headers.insert(header::HOST, host);
    for (name, value) in outgoing.headers {
        headers.append(name.clone(), value.clone());
    }
    if outgoing.body.is_empty() && matches!(outgoing.method, Method::Get | Method::Delete) {
        return Ok(request);
    }
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(outgoing.body.len()));
    Ok(request)
}

fn broken(error: &hyper::Error) -> NoAnswer {
    NoAnswer::Broken(with_sources(error))
}

/// An error and what caused it, in one line.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
