//! What a call is: the request it makes and the reading of the answer. Pure, over the `http` types.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};

use crate::contract::{ErrorCode, MessageState};
use crate::error::{Error, ErrorKind};
use crate::input::InvalidInput;
use crate::mint::Mint;
use crate::retry::Idempotence;
use crate::retry_after;
use crate::secret::Secret;

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
    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error>;

    /// Reads an answer. A status that the operation does not know itself goes to [`refusal`].
    ///
    /// # Errors
    /// The refusal, or a protocol error where the answer is not of the contract.
    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error>;
}

/// What an answer amounts to.
#[derive(Debug)]
pub enum Parsed<O: Operation> {
    /// The call is over.
    Done(O::Output),
    /// The call goes on with another request: the next part of a split batch, the next look of a `settle`.
    Next(Box<O>),
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

    /// A request to `path_and_query` under the base, with the credentials.
    ///
    /// # Errors
    /// [`InvalidInput`] where the path is no URL; operations escape what they put there.
    pub fn request(
        &self,
        method: Method,
        path_and_query: &str,
        body: Bytes,
    ) -> Result<Request<Bytes>, Error> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = format!("{}{path_and_query}", self.base)
            .parse()
            .map_err(|_| InvalidInput::with_rule("url", "must be an absolute URL", &self.base))?;
        let headers = request.headers_mut();
        let mut bearer = header_value("token", &format!("Bearer {}", self.token.expose()))?;
        bearer.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, bearer);
        headers.insert(header::USER_AGENT, header_value("user_agent", &self.user_agent)?);
        Ok(request)
    }

    /// A request with a JSON body.
    ///
    /// # Errors
    /// As [`Self::request`].
    pub fn json_request(
        &self,
        method: Method,
        path: &str,
        body: &impl serde::Serialize,
    ) -> Result<Request<Bytes>, Error> {
        let body = serde_json::to_vec(body)
            .map_err(|error| InvalidInput::new("body", format!("body cannot be written as JSON: {error}")))?;
        let mut request = self.request(method, path, Bytes::from(body))?;
        request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(request)
    }
}

fn header_value(option: &str, text: &str) -> Result<HeaderValue, InvalidInput> {
    HeaderValue::from_str(text)
        .map_err(|_| InvalidInput::new(option, format!("{option} cannot stand in a header")))
}

/// Reads a JSON answer.
///
/// # Errors
/// A protocol error naming the call and what did not fit.
pub fn read_json<T: serde::de::DeserializeOwned>(call: &str, response: &Response<Bytes>) -> Result<T, Error> {
    serde_json::from_slice(response.body()).map_err(|error| {
        Error::protocol(format!("the answer to {call} is not what the contract says: {error}"))
            .with_context(|context| context.status = Some(response.status().as_u16()))
    })
}

/// Reads a 200 as JSON, anything else as a refusal.
pub(crate) fn ok_json<T: serde::de::DeserializeOwned>(
    call: &str,
    response: &Response<Bytes>,
    circumstances: Circumstances,
) -> Result<T, Error> {
    if response.status() == StatusCode::OK {
        read_json(call, response)
    } else {
        Err(refusal(response, circumstances))
    }
}

/// Reads the answer to a delete. Where an earlier attempt may have deleted already, a 404 is this
/// call's own success.
pub(crate) fn deleted(response: &Response<Bytes>, circumstances: Circumstances) -> Result<(), Error> {
    match response.status() {
        StatusCode::OK => Ok(()),
        StatusCode::NOT_FOUND if circumstances.earlier_attempt_may_have_acted => Ok(()),
        _ => Err(refusal(response, circumstances)),
    }
}

/// What a server says in an error answer: `{"error", "reason"?, "detail"?, "state"?}`.
#[derive(Debug, Default, serde::Deserialize)]
struct Refusal {
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    detail: Option<String>,
    #[serde(default)]
    state: Option<MessageState>,
}

/// The error that an answer outside 2xx amounts to.
pub fn refusal(response: &Response<Bytes>, circumstances: Circumstances) -> Error {
    let status = response.status().as_u16();
    let said: Refusal = serde_json::from_slice(response.body()).unwrap_or_default();
    let word = said.error.as_deref().and_then(|word| word.parse::<ErrorCode>().ok());
    let (kind, code) = kind_of(status, word, said.state);
    // The timer routes put a code in `error` and the sentence in `detail`; the others a sentence in `error`.
    let sentence = said
        .detail
        .clone()
        .or(said.error)
        .unwrap_or_else(|| format!("the server answered {status} and no reason"));
    let retry_after = retry_after::asked_wait(response.headers(), circumstances.now_ms);
    Error::new(kind, code, sentence).with_context(|context| {
        context.status = Some(status);
        context.reason = said.reason;
        context.detail = said.detail;
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
