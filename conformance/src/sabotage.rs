//! The sabotage run: puts a named fault between the suite and what it judges, and demands that the
//! right ids fail. A suite that passes a broken product proves nothing.

use serde_json::{Value, json};

use crate::adapter::Reply;
use crate::case::Op;
use crate::http_client::Outgoing;

/// One way to be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    AlgNoneAccepted,
    BodyHashSkipped,
    UrlNotCompared,
    SecondKeyIgnored,
    ExpiryIgnored,
    ClaimsOptional,
    DestinationNormalised,
    AbsentWithOkTrue,
    TooLateAsError,
    RetryAfterIgnored,
    DeduplicationForgotten,
    DeleteGated,
    CallbackUnsigned,
    TypoIgnored,
}

impl Sabotage {
    pub(crate) const ALL: [Self; 14] = [
        Self::AlgNoneAccepted,
        Self::BodyHashSkipped,
        Self::UrlNotCompared,
        Self::SecondKeyIgnored,
        Self::ExpiryIgnored,
        Self::ClaimsOptional,
        Self::DestinationNormalised,
        Self::AbsentWithOkTrue,
        Self::TooLateAsError,
        Self::RetryAfterIgnored,
        Self::DeduplicationForgotten,
        Self::DeleteGated,
        Self::CallbackUnsigned,
        Self::TypoIgnored,
    ];

    /// For the report.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AlgNoneAccepted => "alg none is accepted",
            Self::BodyHashSkipped => "the body's hash is not checked",
            Self::UrlNotCompared => "the url is not compared",
            Self::SecondKeyIgnored => "the second key is ignored",
            Self::ExpiryIgnored => "an old token is accepted",
            Self::ClaimsOptional => "a claim may be missing",
            Self::DestinationNormalised => "a destination is normalised",
            Self::AbsentWithOkTrue => "absent says ok",
            Self::TooLateAsError => "too_late is an error",
            Self::RetryAfterIgnored => "Retry-After is ignored",
            Self::DeduplicationForgotten => "deduplication is forgotten",
            Self::DeleteGated => "the cancel route is gated",
            Self::CallbackUnsigned => "a callback is not signed",
            Self::TypoIgnored => "an unknown option is ignored",
        }
    }

    /// What must catch it, whatever else does.
    pub(crate) const fn caught_by(self) -> &'static [&'static str] {
        match self {
            Self::AlgNoneAccepted => {
                &["verify.alg.none", "verify.alg.none_unsigned", "verify.alg.really_hs512"]
            }
            Self::BodyHashSkipped => &["verify.body_hash.other", "verify.body_hash.bit"],
            Self::UrlNotCompared => &["verify.url.host", "verify.url.percent_encoding"],
            Self::SecondKeyIgnored => &["verify.valid.next_key", "verify.key.own_failure"],
            Self::ExpiryIgnored => &["verify.time.expired", "verify.key.own_failure"],
            Self::ClaimsOptional => &["verify.claim.exp.missing", "verify.claim.body.missing"],
            Self::DestinationNormalised => &["publish.rewritten.dot_segments", "delivery.raw_target"],
            Self::AbsentWithOkTrue => &["timers.cancel.absent", "timers.life"],
            Self::TooLateAsError => &["timers.cancel.too_late", "timers.too_late"],
            Self::RetryAfterIgnored => &["exchange.retry_after", "http.delivery.retry_after"],
            Self::DeduplicationForgotten => &["http.duplicate", "http.duplicate.window"],
            Self::DeleteGated => &["timers.life", "timers.paused"],
            Self::CallbackUnsigned => &["http.callback", "http.callback.failure"],
            Self::TypoIgnored => &["http.option.refused"],
        }
    }

    /// Changes what an adapter is asked.
    pub(crate) fn question(self, op: Op, input: &mut Value) {
        match (self, op) {
            (Self::UrlNotCompared, Op::Verify) => input["url"] = Value::Null,
            (Self::SecondKeyIgnored, Op::Verify) => {
                if let Some(receiver) = input["receiver"].as_object_mut() {
                    receiver.remove("nextSigningKey");
                }
            }
            (Self::DestinationNormalised, Op::Call) => {
                if let Some(Value::String(destination)) = input.pointer_mut("/options/destination") {
                    *destination = destination.replace("/a/../", "/");
                }
            }
            (Self::RetryAfterIgnored, Op::Exchange) => {
                for event in input["script"].as_array_mut().into_iter().flatten() {
                    event["headers"] = json!({});
                }
            }
            _ => {}
        }
    }

    /// Changes what an adapter answered.
    pub(crate) fn answer(self, op: Op, reply: Reply) -> Reply {
        let forgiven = match self {
            Self::AlgNoneAccepted => "algorithm_not_allowed",
            Self::BodyHashSkipped => "body_mismatch",
            Self::ExpiryIgnored => "expired",
            Self::ClaimsOptional => "claim_missing",
            _ => "",
        };
        match reply {
            Reply::Error(error) if op == Op::Verify && error["code"] == forgiven => {
                Reply::Ok(json!({"key": "current"}))
            }
            Reply::Ok(value) if self == Self::TooLateAsError && value["status"] == "too_late" => {
                Reply::Error(json!({"kind": "Conflict", "code": "conflict"}))
            }
            Reply::Ok(mut value) if self == Self::AbsentWithOkTrue && value["status"] == "absent" => {
                value["ok"] = json!(true);
                Reply::Ok(value)
            }
            reply => reply,
        }
    }

    /// Changes what the server is asked by hand.
    pub(crate) fn request(self, outgoing: &mut Outgoing) {
        let dropped = match self {
            Self::DeduplicationForgotten => "chronq-deduplication-id",
            Self::TypoIgnored => "chronq-retires",
            _ => return,
        };
        outgoing.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(dropped));
    }

    /// Changes what the server answered.
    pub(crate) fn response(self, method: &str, answer: &mut Value) {
        let status = answer["json"]["status"].clone();
        match self {
            Self::AbsentWithOkTrue if status == "absent" => answer["json"]["ok"] = json!(true),
            Self::TooLateAsError if status == "too_late" => answer["status"] = json!(409),
            Self::DeleteGated if method == "DELETE" && status.is_string() => answer["status"] = json!(503),
            _ => {}
        }
    }

    /// Changes an answer of the receiver's script.
    pub(crate) fn script(self, script: &mut Value) {
        if self == Self::RetryAfterIgnored {
            for answer in script.as_array_mut().into_iter().flatten() {
                if let Some(headers) = answer.get_mut("headers").and_then(Value::as_object_mut) {
                    headers.retain(|name, _| !name.eq_ignore_ascii_case("retry-after"));
                }
            }
        }
    }

    /// Changes a delivery on its way to the receiver.
    pub(crate) fn delivery(self, to: &str, request: &mut Value) {
        if self == Self::CallbackUnsigned && matches!(to, "after" | "failed") {
            request["headers"]["chronq-signature"] = Value::Null;
        }
    }
}
