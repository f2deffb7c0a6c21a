//! The rest of what a binding needs: a client's configuration, one call's exchange, and errors as JSON.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;

use super::fields::{Fields, Spelling, wrong_type};
use super::{Answer, Call};
use crate::contract::limits;
use crate::error::{Error, ErrorKind};
use crate::exchange::{Exchange, Failure, Step};
use crate::input::InvalidInput;
use crate::mint::Mint;
use crate::operation::Endpoint;
use crate::retry::RetryPolicy;
use crate::secret::Secret;

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
    pub fn from_json(options: Value, spelling: Spelling) -> Result<Self, Error> {
        let mut fields = Fields::new("options", options, spelling)?;
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
        Some(Value::Bool(false)) => Ok(RetryPolicy::off()),
        Some(value @ Value::Object(_)) => {
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
    pub fn next_json(&mut self) -> Value {
        match self.exchange.step() {
            Step::Send(request) => {
                let (parts, body) = (*request).into_parts();
                let headers: Vec<_> = parts
                    .headers
                    .iter()
                    .map(|(name, value)| json!([name.as_str(), String::from_utf8_lossy(value.as_bytes())]))
                    .collect();
                let body = String::from_utf8_lossy(&body);
                json!({"send": {"method": parts.method.as_str(), "url": parts.uri.to_string(), "headers": headers, "body": body}})
            }
            Step::Wait(wait) => json!({"wait": wait.as_secs_f64() * 1_000.0}),
            Step::Done(result) => match result.and_then(|answer: Answer| answer.to_json()) {
                Ok(answer) => json!({"done": answer}),
                Err(error) => json!({"error": error_to_json(&error, self.spelling)}),
            },
        }
    }

    /// Reports an answer. Headers that are none, which no HTTP library hands out, are left out.
    pub fn respond<'a>(
        &mut self,
        status: u16,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
        body: impl Into<Bytes>,
        now_ms: i64,
        jitter: f64,
    ) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            if let (Ok(name), Ok(value)) =
                (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
            {
                map.append(name, value);
            }
        }
        let mut response = Response::new(body.into());
        *response.headers_mut() = map;
        match StatusCode::from_u16(status) {
            Ok(status) => {
                *response.status_mut() = status;
                self.exchange.respond(&response, now_ms, jitter);
            }
            Err(_) => self.exchange.fail(
                Failure {
                    message: format!("the answer has the status {status}, which is none"),
                    may_have_been_sent: true,
                },
                jitter,
            ),
        }
    }

    /// Reports that no answer came; a driver that cannot tell whether the request was sent says that
    /// it may have been.
    pub fn fail(&mut self, message: &str, may_have_been_sent: bool, jitter: f64) {
        self.exchange.fail(Failure { message: message.to_owned(), may_have_been_sent }, jitter);
    }
}

/// An error with all its attributes (contract/sdk.md, "Errors"); `kind` is the class in every language.
pub fn error_to_json(error: &Error, spelling: Spelling) -> Value {
    let context = error.context();
    let mut json = json!({
        "kind": error.kind().name(),
        "message": error.to_string(),
        "code": error.code(),
        "status": context.status,
        "reason": context.reason,
        "detail": context.detail,
        "retryAfter": context.retry_after.map(|wait| wait.as_secs_f64()),
        "attempts": context.attempts,
        "mayHaveBeenSent": context.may_have_been_sent,
    });
    match error.kind() {
        ErrorKind::InvalidInput(Some(input)) => {
            let option = spelling.of(input.option());
            json["message"] = json!(error.to_string().replacen(input.option(), &option, 1));
            json["option"] = json!(option);
            json["value"] = json!(input.value());
            json["index"] = json!(input.index());
        }
        ErrorKind::Conflict(state) => json["state"] = json!(state),
        ErrorKind::Signature(refused) => {
            json["claim"] = json!(refused.claim());
            json["seconds"] = json!(refused.seconds());
            json["difference"] = json!(refused.difference());
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
    json
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let step = session.next_json();
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
        let send = session.next_json()["send"].clone();
        assert_eq!(send["url"], "http://127.0.0.1:7460/v2/batch");
        let body: Value = serde_json::from_str(send["body"].as_str().expect("text")).expect("json");
        assert_eq!(body[0]["destination"], "http://127.0.0.1:1/a/../b%2f?x=1&y=%20");
        assert_eq!(body[0]["headers"]["content-type"], "text/plain");
        session.respond(200, [], r#"[{"messageId":"m1","queue":"default","deduplicated":false}]"#, 0, 0.5);
        assert_eq!(session.next_json()["done"]["messageId"], "m1");
    }

    #[test]
    fn a_refused_batch_of_one_is_the_refusal_of_a_publish() {
        let mut session = session("publish", json!({"destination": "http://h/..", "queue": "nope"}));
        session.next_json();
        session.respond(200, [], r#"[{"error":"unknown queue: \"nope\""}]"#, 0, 0.5);
        let error = session.next_json()["error"].clone();
        assert_eq!(
            (error["kind"].as_str(), error["message"].as_str()),
            (Some("InvalidInput"), Some("unknown queue: \"nope\""))
        );
    }

    #[test]
    fn a_lost_answer_is_repeated_with_the_same_id() {
        let mut session = session("publish", json!({"destination": "https://example.com/"}));
        let first = session.next_json();
        session.fail("connection reset", true, 1.0);
        assert_eq!(session.next_json(), json!({"wait": 250.0}));
        assert_eq!(session.next_json(), first);
        session.respond(202, [], r#"{"messageId":"m1","queue":"default"}"#, 0, 0.5);
        assert_eq!(
            session.next_json(),
            json!({"done": {"messageId": "m1", "queue": "default", "deduplicated": true}})
        );
    }

    #[test]
    fn retry_after_is_honoured_twice_then_the_answer_counts() {
        let mut session = session("messages.get", json!({"id": "m/1"}));
        assert_eq!(session.next_json()["send"]["url"], "http://127.0.0.1:7460/v2/messages/m%2F1");
        for _ in 0..2 {
            session.respond(
                503,
                [("retry-after", "2")],
                r#"{"error":"the store is unavailable"}"#,
                1_795_996_800_000,
                0.0,
            );
            assert_eq!(session.next_json(), json!({"wait": 2000.0}));
            session.next_json();
        }
        session.respond(404, [], r#"{"error":"no such message"}"#, 0, 0.0);
        let error = session.next_json()["error"].clone();
        assert_eq!(
            (error["kind"].as_str(), error["code"].as_str(), error["attempts"].as_u64()),
            (Some("NotFound"), Some("not_found"), Some(3))
        );
    }

    #[test]
    fn attempts_are_counted_out() {
        let mut session = session("messages.get", json!({"id": "m1"}));
        for attempt in 1..=4 {
            session.next_json();
            session.fail("connection refused", false, 0.0);
            if attempt < 4 {
                assert_eq!(session.next_json(), json!({"wait": 0.0}));
            }
        }
        let error = session.next_json()["error"].clone();
        assert_eq!(
            (error["kind"].as_str(), error["attempts"].as_u64(), error["mayHaveBeenSent"].as_bool()),
            (Some("Transport"), Some(4), Some(false))
        );
    }

    #[test]
    fn an_unsafe_call_is_not_repeated_when_it_may_have_arrived() {
        let mut session = session("messages.retry", json!({"id": "m1"}));
        session.next_json();
        session.fail("connection reset", true, 0.0);
        let error = session.next_json()["error"].clone();
        assert_eq!((error["attempts"].as_u64(), error["mayHaveBeenSent"].as_bool()), (Some(1), Some(true)));
    }

    #[test]
    fn a_wait_of_more_than_a_minute_is_reported_instead_of_slept() {
        let mut session = session("messages.get", json!({"id": "m1"}));
        session.next_json();
        session.respond(429, [("retry-after", "61")], r#"{"error":"slow down"}"#, 1_795_996_800_000, 0.0);
        let error = session.next_json()["error"].clone();
        assert_eq!((error["kind"].as_str(), error["retryAfter"].as_f64()), (Some("Throttled"), Some(61.0)));
    }

    #[test]
    fn a_cancel_whose_answer_was_lost_reads_its_own_success() {
        let mut session = session("messages.cancel", json!({"id": "m1"}));
        session.next_json();
        session.fail("connection reset", true, 0.0);
        session.next_json();
        session.next_json();
        session.respond(409, [], r#"{"error":"already cancelled","state":"cancelled"}"#, 0, 0.0);
        assert_eq!(session.next_json(), json!({"done": null}));
    }

    #[test]
    fn options_are_refused_in_the_languages_spelling() {
        let refuse = |options: Value, spelling| {
            let error = Call::from_json("publish", options, spelling).expect_err("illegal");
            error_to_json(&error, spelling)
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
        let error = session.next_json()["error"].clone();
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
        let error = error_to_json(&call.expect_err("illegal"), Spelling::Snake);
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
