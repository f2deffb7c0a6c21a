//! The rest of what a binding needs: a client's configuration, one call's exchange, and errors as JSON.

use std::time::Duration;

use bytes::Bytes;

use super::Call;
use super::fields::{Fields, Spelling, wrong_type};
use crate::contract::{MessageState, UrlDifference, limits};
use crate::error::{Error, ErrorKind};
use crate::exchange::{Exchange, Failure, Step};
use crate::input::InvalidInput;
use crate::json::{Json, number};
use crate::mint::Mint;
use crate::operation::Endpoint;
use crate::retry::RetryPolicy;
use crate::secret::Secret;
use crate::wire::Response;

/// What a client is built from (contract/sdk.md, "Client").
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Where and as whom.
    pub endpoint: Endpoint,
    /// How patiently.
    pub retry: RetryPolicy,
    /// Bound of one attempt.
    pub timeout: Duration,
}

impl ClientConfig {
    /// Reads `{url, token, timeout?, retry?: {attempts?, base?, cap?} | false, user_agent?}`. The
    /// binding has already looked `CHRONQ_URL` and `CHRONQ_TOKEN` up where its caller gave nothing.
    ///
    /// # Errors
    /// [`InvalidInput`] naming the option; a missing one names its environment variable too.
    pub fn from_json(options: impl Into<Json>, spelling: Spelling) -> Result<Self, Error> {
        let mut fields = Fields::new("options", options.into(), spelling)?;
        let url = fields.text("url")?.ok_or_else(|| missing("url", "CHRONQ_URL"))?;
        let token = fields.text("token")?.ok_or_else(|| missing("token", "CHRONQ_TOKEN"))?;
        let user_agent = fields.text("user_agent")?;
        let timeout = fields.duration("timeout")?;
        let timeout = timeout.unwrap_or(Duration::from_millis(limits::DEFAULT_CLIENT_TIMEOUT_MS));
        if timeout.is_zero() {
            return Err(InvalidInput::with_rule("timeout", "must be a duration above zero", "0").into());
        }
        let retry = read_retry(&mut fields)?;
        fields.finish()?;
        Ok(Self { endpoint: Endpoint::new(&url, Secret::new(token), user_agent.as_deref())?, retry, timeout })
    }
}

fn missing(option: &str, variable: &str) -> InvalidInput {
    InvalidInput::new(option, format!("{option} is missing: pass it or set {variable}"))
}

fn read_retry(fields: &mut Fields) -> Result<RetryPolicy, InvalidInput> {
    let default = RetryPolicy::default();
    match fields.take("retry") {
        None => Ok(default),
        Some(Json::Flag(false)) => Ok(RetryPolicy::off()),
        Some(value @ Json::Object(_)) => {
            let mut inner = Fields::new("retry", value, fields.spelling())?;
            let attempts = inner.count("attempts")?.unwrap_or(default.attempts());
            let base = inner.duration("base")?.unwrap_or(default.base());
            let cap = inner.duration("cap")?.unwrap_or_else(|| default.cap().max(base));
            inner.finish()?;
            RetryPolicy::new(attempts, base, cap)
        }
        Some(other) => Err(wrong_type(&fields.name("retry"), "a retry policy, or false", &other)),
    }
}

/// One call in progress, for a driver outside Rust: everything that crosses the bridge is JSON text,
/// numbers and bytes.
#[derive(Debug)]
pub struct Session {
    exchange: Exchange<Call>,
    spelling: Spelling,
}

impl Session {
    /// Starts a call; `seed` is 32 random bytes, `now_ms` unix milliseconds.
    pub fn new(config: &ClientConfig, call: Call, spelling: Spelling, seed: [u8; 32], now_ms: i64) -> Self {
        let mut mint = Mint::new(seed, now_ms);
        Self { exchange: Exchange::new(call, config.endpoint.clone(), config.retry, &mut mint), spelling }
    }

    /// What to do next: `{"send":{"method","url","headers":[[name,value]],"body"}}`,
    /// `{"wait": milliseconds}`, `{"done": answer}` or `{"error": error}`.
    pub fn next_json(&mut self) -> Json {
        match self.exchange.step() {
            Step::Send(request) => {
                let header = |(name, value): (String, String)| vec![name.into(), value.into()].into();
                let headers: Vec<Json> = request.headers.into_iter().map(header).collect();
                let send = Json::object([
                    ("method", request.method.as_str().into()),
                    ("url", request.url.into()),
                    ("headers", headers.into()),
                    ("body", String::from_utf8(request.body.into()).unwrap_or_default().into()),
                ]);
                Json::object([("send", send)])
            }
            Step::Wait(wait) => Json::object([("wait", fixed(wait, 6))]),
            Step::Done(Ok(answer)) => Json::object([("done", answer)]),
            Step::Done(Err(error)) => Json::object([("error", error_to_json(&error, self.spelling))]),
        }
    }

    /// Reports an answer.
    pub fn respond<'a>(
        &mut self,
        status: u16,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
        body: impl Into<Bytes>,
        now_ms: i64,
        jitter: f64,
    ) {
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        self.take(&Response { status, headers, body: body.into() }, now_ms, jitter);
    }

    fn take(&mut self, response: &Response, now_ms: i64, jitter: f64) {
        if (100..1_000).contains(&response.status) {
            return self.exchange.respond(response, now_ms, jitter);
        }
        let message = format!("the answer has the status {}, which is none", response.status);
        self.exchange.fail(Failure { message, may_have_been_sent: true }, jitter);
    }

    /// Reports that no answer came; a driver that cannot tell whether the request was sent says that
    /// it may have been.
    pub fn fail(&mut self, message: &str, may_have_been_sent: bool, jitter: f64) {
        self.exchange.fail(Failure { message: message.to_owned(), may_have_been_sent }, jitter);
    }
}

/// A duration as a number: nanoseconds, with the point moved by so many digits.
fn fixed(duration: Duration, digits: usize) -> Json {
    let nanos =
        duration.as_secs().saturating_mul(1_000_000_000).saturating_add(duration.subsec_nanos().into());
    Json::Number(number::fixed(i64::try_from(nanos).unwrap_or(i64::MAX), digits))
}

/// An error with all its attributes (contract/sdk.md, "Errors"); `kind` is the class in every language.
pub fn error_to_json(error: &Error, spelling: Spelling) -> Json {
    let context = error.context();
    let mut message = error.to_string();
    let mut json = Json::object([
        ("kind", error.kind().name().into()),
        ("code", error.code().into()),
        ("status", context.status.map(u32::from).into()),
        ("reason", context.reason.as_deref().into()),
        ("detail", context.detail.as_deref().into()),
        ("retryAfter", context.retry_after.map(|wait| fixed(wait, 9)).into()),
        ("attempts", context.attempts.into()),
        ("mayHaveBeenSent", context.may_have_been_sent.into()),
    ]);
    match error.kind() {
        ErrorKind::InvalidInput(Some(input)) => {
            let option = spelling.of(input.option());
            message = crate::text::replace_first(&message, input.option(), &option);
            json.put("option", option);
            json.put("value", input.value());
            json.put("index", input.index().map(|index| index as u64));
        }
        ErrorKind::Conflict(state) => json.put("state", state.map(MessageState::as_str)),
        ErrorKind::Signature(refused) => {
            json.put("claim", refused.claim());
            json.put("seconds", refused.seconds().map(|seconds| Json::Number(seconds.to_string())));
            json.put("difference", refused.difference().map(UrlDifference::as_str));
        }
        ErrorKind::InvalidInput(None)
        | ErrorKind::Unauthorized
        | ErrorKind::Forbidden
        | ErrorKind::NotFound
        | ErrorKind::TooLarge
        | ErrorKind::Throttled
        | ErrorKind::Unavailable
        | ErrorKind::QuotaExceeded
        | ErrorKind::HorizonExceeded
        | ErrorKind::FeatureGated
        | ErrorKind::Transport
        | ErrorKind::Protocol => {}
    }
    json.put("message", message);
    json
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// What to do next, as the tests look at it.
    pub(in crate::call) fn next(session: &mut Session) -> Value {
        serde_json::from_str(&session.next_json().to_string()).expect("json")
    }

    fn value(json: &Json) -> Value {
        serde_json::from_str(&json.to_string()).expect("json")
    }

    fn config() -> ClientConfig {
        let options = json!({"url": "http://127.0.0.1:7460/", "token": "chronq_fake"});
        ClientConfig::from_json(options, Spelling::Snake).expect("legal")
    }

    fn session(name: &str, options: Value) -> Session {
        let call = Call::from_json(name, options, Spelling::Snake).expect("legal");
        Session::new(&config(), call, Spelling::Snake, [1; 32], 1_795_996_800_000)
    }

    #[test]
    fn a_publish_is_sent_with_everything_it_needs() {
        let mut session = session(
            "publish",
            json!({"destination": "https://example.com/hook?a=1", "json_text": "{\"n\":1}", "queue": "orders", "retries": 0, "retry_delay": {"milliseconds": 1500}}),
        );
        let step = next(&mut session);
        let send = &step["send"];
        assert_eq!(send["method"], "POST");
        assert_eq!(send["url"], "http://127.0.0.1:7460/v2/publish/orders/https://example.com/hook?a=1");
        assert_eq!(send["body"], "{\"n\":1}");
        let headers: std::collections::BTreeMap<_, _> = send["headers"]
            .as_array()
            .expect("list")
            .iter()
            .map(|pair| (pair[0].as_str().expect("name"), pair[1].as_str().expect("value")))
            .collect();
        assert_eq!(headers["authorization"], "Bearer chronq_fake");
        assert_eq!(headers["content-type"], "application/json");
        assert_eq!(headers["chronq-retries"], "0");
        assert_eq!(headers["chronq-retry-delay"], "1s500ms");
        assert_eq!(headers["chronq-deduplication-id"].len(), 36);
        assert!(!headers.contains_key("chronq-queue"));
    }

    #[test]
    fn a_destination_that_libraries_rewrite_travels_in_a_batch_of_one() {
        let mut session = session(
            "publish",
            json!({"destination": "http://127.0.0.1:1/a/../b%2f?x=1&y=%20", "body": "hi"}),
        );
        let send = next(&mut session)["send"].clone();
        assert_eq!(send["url"], "http://127.0.0.1:7460/v2/batch");
        let body: Value = serde_json::from_str(send["body"].as_str().expect("text")).expect("json");
        assert_eq!(body[0]["destination"], "http://127.0.0.1:1/a/../b%2f?x=1&y=%20");
        assert_eq!(body[0]["headers"]["content-type"], "text/plain");
        session.respond(200, [], r#"[{"messageId":"m1","queue":"default","deduplicated":false}]"#, 0, 0.5);
        assert_eq!(next(&mut session)["done"]["messageId"], "m1");
    }

    #[test]
    fn a_refused_batch_of_one_is_the_refusal_of_a_publish() {
        let mut session = session("publish", json!({"destination": "http://h/..", "queue": "nope"}));
        next(&mut session);
        session.respond(200, [], r#"[{"error":"unknown queue: \"nope\""}]"#, 0, 0.5);
        let error = next(&mut session)["error"].clone();
        assert_eq!(
            (error["kind"].as_str(), error["message"].as_str()),
            (Some("InvalidInput"), Some("unknown queue: \"nope\""))
        );
    }

    #[test]
    fn a_lost_answer_is_repeated_with_the_same_id() {
        let mut session = session("publish", json!({"destination": "https://example.com/"}));
        let first = next(&mut session);
        session.fail("connection reset", true, 1.0);
        assert_eq!(next(&mut session), json!({"wait": 250}));
        assert_eq!(next(&mut session), first);
        session.respond(202, [], r#"{"messageId":"m1","queue":"default"}"#, 0, 0.5);
        assert_eq!(
            next(&mut session),
            json!({"done": {"messageId": "m1", "queue": "default", "deduplicated": true}})
        );
    }

    #[test]
    fn retry_after_is_honoured_twice_then_the_answer_counts() {
        let mut session = session("messages.get", json!({"id": "m/1"}));
        assert_eq!(next(&mut session)["send"]["url"], "http://127.0.0.1:7460/v2/messages/m%2F1");
        for _ in 0..2 {
            session.respond(
                503,
                [("retry-after", "2")],
                r#"{"error":"the store is unavailable"}"#,
                1_795_996_800_000,
                0.0,
            );
            assert_eq!(next(&mut session), json!({"wait": 2000}));
            next(&mut session);
        }
        session.respond(404, [], r#"{"error":"no such message"}"#, 0, 0.0);
        let error = next(&mut session)["error"].clone();
        assert_eq!(
            (error["kind"].as_str(), error["code"].as_str(), error["attempts"].as_u64()),
            (Some("NotFound"), Some("not_found"), Some(3))
        );
    }

    #[test]
    fn attempts_are_counted_out() {
        let mut session = session("messages.get", json!({"id": "m1"}));
        for attempt in 1..=4 {
            next(&mut session);
            session.fail("connection refused", false, 0.0);
            if attempt < 4 {
                assert_eq!(next(&mut session), json!({"wait": 0}));
            }
        }
        let error = next(&mut session)["error"].clone();
        assert_eq!(
            (error["kind"].as_str(), error["attempts"].as_u64(), error["mayHaveBeenSent"].as_bool()),
            (Some("Transport"), Some(4), Some(false))
        );
    }

    #[test]
    fn an_unsafe_call_is_not_repeated_when_it_may_have_arrived() {
        let mut session = session("messages.retry", json!({"id": "m1"}));
        next(&mut session);
        session.fail("connection reset", true, 0.0);
        let error = next(&mut session)["error"].clone();
        assert_eq!((error["attempts"].as_u64(), error["mayHaveBeenSent"].as_bool()), (Some(1), Some(true)));
    }

    #[test]
    fn a_wait_of_more_than_a_minute_is_reported_instead_of_slept() {
        let mut session = session("messages.get", json!({"id": "m1"}));
        next(&mut session);
        session.respond(429, [("retry-after", "61")], r#"{"error":"slow down"}"#, 1_795_996_800_000, 0.0);
        let error = next(&mut session)["error"].clone();
        assert_eq!((error["kind"].as_str(), error["retryAfter"].as_f64()), (Some("Throttled"), Some(61.0)));
    }

    #[test]
    fn a_cancel_whose_answer_was_lost_reads_its_own_success() {
        let mut session = session("messages.cancel", json!({"id": "m1"}));
        next(&mut session);
        session.fail("connection reset", true, 0.0);
        next(&mut session);
        next(&mut session);
        session.respond(409, [], r#"{"error":"already cancelled","state":"cancelled"}"#, 0, 0.0);
        assert_eq!(next(&mut session), json!({"done": null}));
    }

    #[test]
    fn options_are_refused_in_the_languages_spelling() {
        let refuse = |options: Value, spelling| {
            let error = Call::from_json("publish", options, spelling).expect_err("illegal");
            value(&error_to_json(&error, spelling))
        };
        let error = refuse(json!({"destination": "http://h/", "retryDelay": 7}), Spelling::Camel);
        assert_eq!(
            (error["kind"].as_str(), error["option"].as_str(), error["value"].as_str()),
            (Some("InvalidInput"), Some("retryDelay"), Some("7"))
        );
        let error = refuse(json!({"destination": "http://h/", "retries": 101}), Spelling::Snake);
        assert_eq!(
            (error["message"].as_str(), error["value"].as_str()),
            (Some("retries must be between 0 and 100"), Some("101"))
        );
        let error = refuse(json!({"destination": "nope"}), Spelling::Camel);
        assert_eq!(error["message"], "destination must be an absolute URL, got \"nope\"");
        let error =
            refuse(json!({"destination": "http://h/", "body": "a", "json_text": "1"}), Spelling::Snake);
        assert_eq!(error["option"], "body");
    }

    #[test]
    fn typed_checks_are_respelled_too() {
        let call = Call::from_json(
            "publish",
            json!({"destination": "http://h/", "retryDelay": "2d"}),
            Spelling::Camel,
        )
        .expect("grammar");
        let mut session = Session::new(&config(), call, Spelling::Camel, [1; 32], 0);
        let error = next(&mut session)["error"].clone();
        assert_eq!(
            (error["option"].as_str(), error["message"].as_str()),
            (Some("retryDelay"), Some("retryDelay must be at most 1d, got \"2d\""))
        );
    }

    #[test]
    fn a_batch_names_the_entry() {
        let call = Call::from_json(
            "batch",
            json!({"entries": [{"destination": "http://h/"}, {"destination": "http://h/", "retries": -1}]}),
            Spelling::Snake,
        );
        let error = value(&error_to_json(&call.expect_err("illegal"), Spelling::Snake));
        assert_eq!(
            (error["index"].as_u64(), error["message"].as_str()),
            (Some(1), Some("entry 1: retries must be between 0 and 100"))
        );
    }

    #[test]
    fn a_missing_credential_names_its_variable() {
        let error =
            ClientConfig::from_json(json!({"url": "http://h"}), Spelling::Snake).expect_err("no token");
        assert_eq!(error.to_string(), "token is missing: pass it or set CHRONQ_TOKEN");
    }

    #[test]
    fn no_secret_shows_in_debug() {
        let session = session("messages.get", json!({"id": "m1"}));
        assert!(!format!("{session:?}").contains("chronq_fake"));
    }
}
