//! Why a delivery must not be trusted: the closed code, and a sentence that names the cause and the cure.

use std::fmt;

use super::url::Comparison;
use crate::contract::{Dialect, SignatureErrorCode as Code, UrlDifference, headers};

/// A refused verification. It never holds the key, the expected MAC or the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureError(Box<Inner>);

/// Boxed: most verifications refuse nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    code: Code,
    claim: Option<&'static str>,
    seconds: Option<i64>,
    difference: Option<UrlDifference>,
    message: String,
}

impl SignatureError {
    /// The closed code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The claim at fault, with `claim_missing` and `claim_invalid`.
    pub fn claim(&self) -> Option<&'static str> {
        self.0.claim
    }

    /// With `expired`: seconds since the signature expired; with `not_yet_valid`: seconds until it becomes
    /// valid. The tolerance is taken off already.
    pub fn seconds(&self) -> Option<i64> {
        self.0.seconds
    }

    /// With `url_mismatch`: how the URL differs from the one that was signed.
    pub fn difference(&self) -> Option<UrlDifference> {
        self.0.difference
    }

    fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { code, claim: None, seconds: None, difference: None, message: message.into() }))
    }

    pub(super) fn body_parsed(got: &str) -> Self {
        Self::new(
            Code::BodyNotRaw,
            format!(
                "the body must be the request's raw bytes or text, got {got}: pass the raw body, before any \
                 parser (parse it after it has been verified)"
            ),
        )
    }

    pub(super) fn body_without_utf8() -> Self {
        Self::new(
            Code::BodyNotRaw,
            "the body is text with a lone surrogate, which has no UTF-8 form: pass the raw body as bytes, \
             before any parser or decoder",
        )
    }

    pub(super) fn missing(header: &str) -> Self {
        Self::new(
            Code::SignatureMissing,
            format!(
                "no signature: pass the value of the header {header} (frameworks hand out header names in \
                 lower case; a proxy may drop the header)"
            ),
        )
    }

    /// The header of `expected` is absent, but the delivery carries the signature of `found`.
    pub(super) fn missing_of_other_dialect(header: &str, expected: Dialect, found: Dialect) -> Self {
        let other = found.signature_header();
        Self::new(
            Code::SignatureMissing,
            format!(
                "no header {header}, but there is {other}: this delivery is signed in the dialect {found} and \
                 the receiver expects {expected}; make a receiver with the dialect {found} if you trust its sender"
            ),
        )
    }

    pub(super) fn ambiguous(header: &str) -> Self {
        Self::new(
            Code::SignatureAmbiguous,
            format!(
                "more than one value for the header {header}: exactly one is sent, so a proxy added or folded \
                 another; pass the one that the sender set"
            ),
        )
    }

    /// `reason` completes the sentence "the signature …".
    pub(super) fn malformed(reason: impl fmt::Display) -> Self {
        Self::new(Code::SignatureMalformed, format!("the signature {reason}"))
    }

    pub(super) fn algorithm(got: Option<&str>) -> Self {
        let got = match got {
            // The token is not authenticated yet: what it says is shown only if it is a plain word.
            Some(word) if word.len() <= 16 && word.bytes().all(|byte| byte.is_ascii_alphanumeric()) => word,
            Some(_) => "something else",
            None => "none",
        };
        Self::new(
            Code::AlgorithmNotAllowed,
            format!(
                "the token's algorithm must be HS256, got {got}: whoever made it did not sign it the way that \
                 this receiver trusts, so treat it as forged"
            ),
        )
    }

    pub(super) fn mismatch(advice: &str) -> Self {
        Self::new(
            Code::SignatureMismatch,
            format!("no signing key given to this receiver produced this signature: {advice}"),
        )
    }

    pub(super) fn claim_missing(claim: &'static str) -> Self {
        let mut error = Self::new(
            Code::ClaimMissing,
            format!(
                "the signed token has no claim {claim}: it was signed with your key, but not as a delivery of \
                 this dialect; check the dialect and who else holds the key"
            ),
        );
        error.0.claim = Some(claim);
        error
    }

    /// `rule` completes the sentence "the claim x …".
    pub(super) fn claim_invalid(claim: &'static str, rule: impl fmt::Display) -> Self {
        let mut error = Self::new(Code::ClaimInvalid, format!("the signed token's claim {claim} {rule}"));
        error.0.claim = Some(claim);
        error
    }

    pub(super) fn expired(seconds: i64) -> Self {
        let mut error = Self::new(
            Code::Expired,
            format!(
                "the signature expired {seconds} s ago, tolerance included: the delivery is late or replayed, or \
                 this machine's clock is ahead; synchronise the clock, raise the clock tolerance, or, for a \
                 delivery verified later, pass the time it was received as now"
            ),
        );
        error.0.seconds = Some(seconds);
        error
    }

    pub(super) fn not_yet_valid(seconds: i64) -> Self {
        let mut error = Self::new(
            Code::NotYetValid,
            format!(
                "the signature becomes valid in {seconds} s, tolerance included: this machine's clock is behind \
                 the sender's; synchronise the clock or raise the clock tolerance"
            ),
        );
        error.0.seconds = Some(seconds);
        error
    }

    pub(super) fn url(comparison: &Comparison<'_>) -> Self {
        let mut error = Self::new(Code::UrlMismatch, comparison.to_string());
        error.0.difference = Some(comparison.difference());
        error
    }

    pub(super) fn body_mismatch(is_empty: bool) -> Self {
        let cause = if is_empty {
            "an empty body was given: it may have been read before; read it once and pass what was read"
        } else {
            "a body that was parsed and written again differs in white space, order or numbers; pass the raw \
             body, before any parser"
        };
        Self::new(Code::BodyMismatch, format!("the body is not the one that was signed: {cause}"))
    }
}

/// What to say to a value that belongs to another header or dialect, as far as its first bytes tell.
pub(super) fn advice_on_shape(signature: &[u8]) -> &'static str {
    if signature.starts_with(b"v1,") || signature.starts_with(b"v1a,") {
        " (it looks like a webhook signature: use the dialect standard-webhooks or svix and verify the headers)"
    } else if signature.get(..7).is_some_and(|start| start.eq_ignore_ascii_case(b"bearer ")) {
        " (it looks like an authorization header: pass the signature header's value instead)"
    } else if signature.starts_with(b"\"") || signature.starts_with(b"'") {
        " (it is in quotes: pass it as the header has it)"
    } else {
        ""
    }
}

/// What to check when no key matches, in the token dialects.
pub(super) fn advice_on_token_mismatch(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Qstash => {
            "compare both keys with those in the Upstash console, of the same region; after a rotation the \
             next key becomes the current one"
        }
        Dialect::Chronq | Dialect::StandardWebhooks | Dialect::Svix => {
            "compare both keys with the server's (chronq keys list), without quotes or a cut end; after a \
             rotation give the new key as current and the old one as next"
        }
    }
}

/// What to check when no key matches, in the webhook dialects, where key and body cannot be told apart.
pub(super) const ADVICE_ON_WEBHOOK_MISMATCH: &str = "compare the secret with the sender's, for this very \
    endpoint, and pass the raw body, before any parser";

/// The dialect that a header belongs to.
pub(super) fn dialect_of_header(name: &str) -> Option<Dialect> {
    match name {
        headers::SIGNATURE => Some(Dialect::Chronq),
        headers::QSTASH_SIGNATURE => Some(Dialect::Qstash),
        name if headers::WEBHOOK.contains(&name) => Some(Dialect::StandardWebhooks),
        name if headers::SVIX.contains(&name) => Some(Dialect::Svix),
        _ => None,
    }
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for SignatureError {}
