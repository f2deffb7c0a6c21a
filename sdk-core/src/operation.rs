//! What a call is: the request it makes and the reading of the answer. Pure.

use bytes::Bytes;

use crate::contract::{ErrorCode, MessageState, Method};
use crate::error::{Error, ErrorKind};
use crate::input::InvalidInput;
use crate::json::Json;
use crate::json::shape::Shape;
use crate::mint::Mint;
use crate::retry::Idempotence;
use crate::retry_after;
use crate::secret::Secret;
use crate::wire::{Request, Response};

/// One call of the API, both directions in one place.
pub trait Operation: Sized {
    /// What the call answers.
    type Output;

    /// Whether repeating the request can do harm.
    fn idempotence(&self) -> Idempotence;

    /// Fills in what makes repeating safe: a deduplication id, a `txn`. Called once per call, before
    /// the first attempt, so that every attempt carries the same.
    fn prepare(&mut self, mint: &mut Mint) {
        let _ = mint;
    }

    /// The request of this call.
    ///
    /// # Errors
    /// [`InvalidInput`] for everything that the contract would refuse.
    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error>;

    /// Reads an answer as JSON in the shape of the contract: all that a binding needs. `None`: the operation has
    /// become another request, and the call goes on with it: the next part of a split batch, the next look of a
    /// `settle`. A status that the operation does not know itself goes to [`refusal`].
    ///
    /// # Errors
    /// The refusal, or a protocol error where the answer is not of the contract.
    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error>;

    /// The typed output of what [`Self::answer`] gave.
    ///
    /// # Errors
    /// A protocol error where the type holds the answer to more than its shape does; none of the contract's does.
    fn output(answer: Json) -> Result<Self::Output, Error>;
}

/// What an operation may have to know of the attempts before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// Instant of the answer, unix milliseconds.
    pub now_ms: i64,
    /// Whether an earlier attempt of the same request may have reached the server, its answer lost:
    /// a cancel that reads "already cancelled" may then be this call's own.
    pub earlier_attempt_may_have_acted: bool,
}

/// Where and as whom calls are made.
#[derive(Clone, Debug)]
pub struct Endpoint {
    base: String,
    token: Secret,
    user_agent: String,
}

impl Endpoint {
    /// `url` is the server's base, such as `https://queue.example.com`; a path prefix is kept.
    ///
    /// # Errors
    /// [`InvalidInput`] naming `url` or `token`.
    pub fn new(url: &str, token: Secret, user_agent_suffix: Option<&str>) -> Result<Self, InvalidInput> {
        let base = crate::destination::Destination::parse("url", url)?;
        if base.as_str().contains('?') {
            return Err(InvalidInput::with_rule("url", "must not have a query", url));
        }
        let text = token.expose();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = "token must not be empty, nor hold white space or control characters: copy it without the line end";
            return Err(InvalidInput::new("token", message));
        }
        let mut user_agent = concat!("chronq-sdk/", env!("CARGO_PKG_VERSION")).to_owned();
        if let Some(suffix) = user_agent_suffix.filter(|suffix| !suffix.is_empty()) {
            if !suffix.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
                return Err(InvalidInput::with_rule("user_agent", "must be visible ASCII", suffix));
            }
            user_agent.push(' ');
            user_agent.push_str(suffix);
        }
        Ok(Self { base: base.as_str().trim_end_matches('/').to_owned(), token, user_agent })
    }

    /// The base URL, without a slash at its end.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// A request to `path_and_query` under the base, with the credentials. Operations escape what they put there.
    pub fn request(&self, method: Method, path_and_query: &str, body: Bytes) -> Request {
        let headers = vec![
            ("authorization".to_owned(), ["Bearer ", self.token.expose()].concat()),
            ("user-agent".to_owned(), self.user_agent.clone()),
        ];
        Request { method, url: [&self.base, path_and_query].concat(), headers, body }
    }

    /// A request with a JSON body.
    pub fn json_request(&self, method: Method, path: &str, body: &Json) -> Request {
        let mut request = self.request(method, path, Bytes::from(body.to_string()));
        request.headers.push(("content-type".to_owned(), "application/json".to_owned()));
        request
    }
}

/// Reads a JSON answer of this shape.
///
/// # Errors
/// A protocol error naming the call and what did not fit.
pub(crate) fn read(call: &str, shape: &Shape, response: &Response) -> Result<Json, Error> {
    let said = std::str::from_utf8(&response.body).ok().and_then(Json::parse);
    let fitted = said.map_or_else(|| Err("it is not JSON".to_owned()), |said| shape.fit(said));
    fitted.map_err(|fault| {
        Error::protocol(["the answer to ", call, " is not what the contract says: ", &fault].concat())
            .with_context(|context| context.status = Some(response.status))
    })
}

/// Reads an answer of one of these statuses as JSON, any other as a refusal.
pub(crate) fn read_if(
    statuses: &[u16],
    call: &str,
    shape: &Shape,
    response: &Response,
    circumstances: Circumstances,
) -> Result<Option<Json>, Error> {
    if !statuses.contains(&response.status) {
        return Err(refusal(response, circumstances));
    }
    read(call, shape, response).map(Some)
}

/// Reads a 200 as JSON, anything else as a refusal.
pub(crate) fn read_ok(
    call: &str,
    shape: &Shape,
    response: &Response,
    circumstances: Circumstances,
) -> Result<Option<Json>, Error> {
    read_if(&[200], call, shape, response, circumstances)
}

/// The typed form of an answer.
pub(crate) fn typed<T: serde::de::DeserializeOwned>(answer: &Json) -> Result<T, Error> {
    serde_json::from_str(&answer.to_string())
        .map_err(|error| Error::protocol(format!("the answer is not what the contract says: {error}")))
}

/// Reads the answer to a delete. Where an earlier attempt may have deleted already, a 404 is this
/// call's own success.
pub(crate) fn deleted(response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
    match response.status {
        200 => Ok(Some(Json::Null)),
        404 if circumstances.earlier_attempt_may_have_acted => Ok(Some(Json::Null)),
        _ => Err(refusal(response, circumstances)),
    }
}

/// The error that an answer outside 2xx amounts to. A server says `{"error", "reason"?, "detail"?, "state"?}`.
pub fn refusal(response: &Response, circumstances: Circumstances) -> Error {
    let status = response.status;
    let said = std::str::from_utf8(&response.body).ok().and_then(Json::parse).unwrap_or_default();
    let text = |name: &str| said.text(name).map(str::to_owned);
    let (error, reason, detail) = (text("error"), text("reason"), text("detail"));
    let word = error.as_deref().and_then(|word| word.parse::<ErrorCode>().ok());
    let state = said.text("state").and_then(|state| state.parse().ok());
    let (kind, code) = kind_of(status, word, state);
    // The timer routes put a code in `error` and the sentence in `detail`; the others a sentence in `error`.
    let sentence =
        detail.clone().or(error).unwrap_or_else(|| format!("the server answered {status} and no reason"));
    let retry_after = retry_after::asked_wait(&|name| response.header(name), circumstances.now_ms);
    Error::new(kind, code, sentence).with_context(|context| {
        context.status = Some(status);
        context.reason = reason;
        context.detail = detail;
        context.retry_after = retry_after;
    })
}

fn kind_of(status: u16, word: Option<ErrorCode>, state: Option<MessageState>) -> (ErrorKind, ErrorCode) {
    match (status, word) {
        (403, Some(code @ ErrorCode::TimerHorizonExceeded)) => (ErrorKind::HorizonExceeded, code),
        (403, Some(code @ ErrorCode::TimersQuotaExceeded)) => (ErrorKind::QuotaExceeded, code),
        (403, Some(code @ ErrorCode::FeatureGated)) => (ErrorKind::FeatureGated, code),
        (400, code) => (ErrorKind::InvalidInput(None), code.unwrap_or(ErrorCode::InvalidInput)),
        (401, _) => (ErrorKind::Unauthorized, ErrorCode::Unauthorized),
        (403, _) => (ErrorKind::Forbidden, ErrorCode::Forbidden),
        (404, _) => (ErrorKind::NotFound, ErrorCode::NotFound),
        (409, code) => (ErrorKind::Conflict(state), code.unwrap_or(ErrorCode::Conflict)),
        (413, _) => (ErrorKind::TooLarge, ErrorCode::PayloadTooLarge),
        (429, _) => (ErrorKind::Throttled, ErrorCode::RateLimited),
        (408 | 500..=599, code) => (ErrorKind::Unavailable, code.unwrap_or(ErrorCode::Unavailable)),
        _ => (ErrorKind::Protocol, ErrorCode::Protocol),
    }
}

/// Appends `name=value` pairs as a query, escaped; leaves out what is not given.
pub(crate) fn with_query(path: &str, pairs: &[(&str, Option<&str>)]) -> String {
    let mut text = path.to_owned();
    let mut separator = '?';
    for (name, value) in pairs {
        if let Some(value) = value {
            text.push(separator);
            text.push_str(name);
            text.push('=');
            text.push_str(&crate::ids::escape_segment(value));
            separator = '&';
        }
    }
    text
}
