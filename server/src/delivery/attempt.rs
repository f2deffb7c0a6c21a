//! One HTTP attempt at a message's destination.

use std::time::{Duration, Instant};

use bytes::Bytes;
use chronq::Destination;
use chronq::contract::{Method, headers, limits};
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::egress::Outgoing;
use crate::state::AppState;
use crate::store::types::Headers;
use crate::store::types::claim::{AttemptResponse, Claimed};

/// What every delivery and callback calls itself.
const USER_AGENT: &str = concat!("chronq/", env!("CARGO_PKG_VERSION"));

/// What came of an attempt. Status 0 means that no answer came; the body then says why.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) truncated: bool,
    pub(super) duration: Duration,
}

impl Attempt {
    /// The part that is kept; what follows from the answer is decided by all of it.
    pub(super) fn kept(self) -> AttemptResponse {
        let mut bytes = 0;
        let headers: Headers = self
            .headers
            .iter()
            .take_while(|(name, value)| {
                bytes += name.as_str().len() + value.len();
                bytes <= limits::MAX_RESPONSE_HEADERS_BYTES
            })
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        AttemptResponse {
            status: self.status,
            truncated: self.truncated || headers.len() < self.headers.len(),
            headers,
            body: self.body,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Delivers a message once.
pub(super) async fn make(state: &AppState, message: &Claimed) -> Attempt {
    let mut own = vec![
        (HeaderName::from_static(headers::RETRIED), HeaderValue::from(message.retried)),
        (HeaderName::from_static(headers::MESSAGE_ID), uuid_value(message.id)),
    ];
    if let Some(original) = message.dead_letter_of {
        own.push((HeaderName::from_static(headers::DEAD_LETTER_OF), uuid_value(original)));
    }
    let request = SignedRequest {
        destination: &message.destination,
        method: message.method,
        headers: &message.headers,
        body: &message.body,
        timeout: Duration::from_millis(message.timeout_ms),
    };
    request.send(state, own).await
}

/// A request that carries a token of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignedRequest<'a> {
    pub(super) destination: &'a Destination,
    pub(super) method: Method,
    pub(super) headers: &'a Headers,
    pub(super) body: &'a Bytes,
    pub(super) timeout: Duration,
}

impl SignedRequest<'_> {
    /// Signs and sends; `own` are the headers that chronq sets besides.
    pub(super) async fn send(self, state: &AppState, mut own: Vec<(HeaderName, HeaderValue)>) -> Attempt {
        let began = Instant::now();
        let done = match self.signature(state) {
            Ok(signature) => {
                own.push((HeaderName::from_static(headers::SIGNATURE), signature));
                sabotage!(CallbackUnsigned => if own.iter().all(|(name, _)| name != headers::MESSAGE_ID) {
                    own.clear();
                });
                append(&mut own, self.headers);
                let outgoing = Outgoing {
                    destination: self.destination,
                    method: self.method,
                    headers: &own,
                    body: self.body,
                    timeout: self.timeout,
                };
                state.egress.send(outgoing).await.map_err(|reason| reason.to_string())
            }
            Err(reason) => Err(reason),
        };
        let duration = began.elapsed();
        match done {
            Ok(answer) => Attempt {
                status: answer.status,
                headers: answer.headers,
                body: answer.body,
                truncated: answer.truncated,
                duration,
            },
            Err(reason) => Attempt {
                status: 0,
                headers: HeaderMap::new(),
                body: Bytes::from(reason),
                truncated: false,
                duration,
            },
        }
    }

    fn signature(&self, state: &AppState) -> Result<HeaderValue, String> {
        let token = state
            .signing_keys
            .sign(self.destination.as_str(), self.body)
            .map_err(|error| error.to_string())?;
        HeaderValue::try_from(token).map_err(|_| "the token cannot stand in a header".to_owned())
    }
}

/// Adds the message's own headers; one that names itself replaces `user-agent`.
fn append(own: &mut Vec<(HeaderName, HeaderValue)>, headers: &Headers) {
    let mut names_itself = false;
    for (name, value) in headers {
        // Checked when they were published.
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value.as_bytes()))
        {
            names_itself |= name == header::USER_AGENT;
            own.push((name, value));
        }
    }
    if !names_itself {
        own.push((header::USER_AGENT, HeaderValue::from_static(USER_AGENT)));
    }
}

fn uuid_value(id: uuid::Uuid) -> HeaderValue {
    let mut buffer = uuid::Uuid::encode_buffer();
    HeaderValue::from_str(id.hyphenated().encode_lower(&mut buffer))
        .unwrap_or_else(|_| HeaderValue::from_static(""))
}
