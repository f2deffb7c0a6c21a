//! The claims of a token (contract/signature.md, steps 7 to 9), and what stands in their place in the
//! dialects that have none.

use std::borrow::Cow;

use super::base64::{self, Alphabet};
use super::error::SignatureError;
use super::json::{self, Name, Value};
use crate::contract::limits::{MAX_JSON_DEPTH, MAX_UNIX_SECONDS, WEBHOOK_FRESHNESS_SECONDS};
use crate::contract::{Dialect, claims as names};

/// What a verified delivery says about itself. Times are unix seconds.
///
/// A field is `None` where the dialect does not sign it. The webhook dialects sign an id, a time and the
/// body, but neither sender nor destination: there `jti` is the id, `iat` the time, `nbf` and `exp` bound
/// the freshness around it, and `iss`, `sub` and `body` are `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// Who signed: `chronq` or `Upstash`.
    pub iss: Option<&'static str>,
    /// The URL that the delivery was signed for, as it was published.
    pub sub: Option<String>,
    /// The first second at which the signature is too old.
    pub exp: i64,
    /// The first second at which it is valid.
    pub nbf: i64,
    /// When it was signed. QStash may leave it out.
    pub iat: Option<i64>,
    /// Id of this very attempt (in the webhook dialects, of the message). QStash may leave it out.
    pub jti: Option<String>,
    /// base64url, without padding, of SHA-256 of the body.
    pub body: Option<String>,
}

impl Claims {
    /// Stand-ins of the webhook dialects.
    pub(super) fn of_webhook(id: &str, timestamp: i64) -> Self {
        Self {
            iss: None,
            sub: None,
            exp: timestamp + WEBHOOK_FRESHNESS_SECONDS + 1,
            nbf: timestamp - WEBHOOK_FRESHNESS_SECONDS,
            iat: Some(timestamp),
            jti: Some(id.to_owned()),
            body: None,
        }
    }
}

/// What a token signs: its claims, and the digest of the body that belongs to it.
pub(super) struct Signed {
    pub(super) claims: Claims,
    pub(super) body_digest: [u8; 32],
}

/// Reads the payload of a token whose signature has been verified.
pub(super) fn read(payload: &[u8], dialect: Dialect, issuer: &'static str) -> Result<Signed, SignatureError> {
    let malformed =
        |reason: &str| SignatureError::malformed(format_args!("is right, but the token's payload {reason}"));
    let bytes = base64::decode(Alphabet::Url, payload).ok_or_else(|| malformed("is not strict base64url"))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| malformed("is not UTF-8"))?;
    let mut members = Members::new(dialect);
    json::read_object(text, MAX_JSON_DEPTH, &mut |name, value| match members.slot(name) {
        Some(slot) => Name::keep(slot, value),
        None => Name::Other,
    })
    .map_err(|refusal| malformed(refusal.reason()))?;

    // In the order of the contract's table: the first fault is the one reported.
    let iss = members.text(names::ISS)?;
    let sub = members.text(names::SUB)?;
    let iat = members.optional_in_qstash(names::IAT, Members::seconds)?;
    let nbf = members.seconds(names::NBF)?;
    let exp = members.seconds(names::EXP)?;
    if exp <= nbf {
        return Err(SignatureError::claim_invalid(names::EXP, "must be after nbf"));
    }
    let jti = members.optional_in_qstash(names::JTI, Members::text)?;
    let body = members.text(names::BODY)?;
    let digest_text = match dialect {
        Dialect::Qstash => body.strip_suffix('=').unwrap_or(&body),
        Dialect::Chronq | Dialect::StandardWebhooks | Dialect::Svix => &body,
    };
    let body_digest = base64::decode_array(Alphabet::Url, digest_text.as_bytes()).ok_or_else(|| {
        SignatureError::claim_invalid(
            names::BODY,
            "must be 43 characters of strict base64url: a SHA-256 digest",
        )
    })?;
    if iss != issuer {
        return Err(foreign_issuer(&iss, dialect, issuer));
    }
    Ok(Signed {
        claims: Claims {
            iss: Some(issuer),
            sub: Some(sub.into_owned()),
            exp,
            nbf,
            iat,
            jti: jti.map(Cow::into_owned),
            body: Some(digest_text.to_owned()),
        },
        body_digest,
    })
}

fn foreign_issuer(got: &str, dialect: Dialect, expected: &str) -> SignatureError {
    let other = Dialect::ALL.iter().find(|other| other.issuer() == Some(got));
    SignatureError::claim_invalid(
        names::ISS,
        match other {
            Some(other) => format!(
                "is {got}: this delivery is signed in the dialect {other} and the receiver expects {dialect}; \
                 make a receiver with the dialect {other} if you trust its sender"
            ),
            None => format!("must be {expected}: someone else signs with your key"),
        },
    )
}

/// The values of the known claims.
struct Members<'a> {
    dialect: Dialect,
    iss: Option<Value<'a>>,
    sub: Option<Value<'a>>,
    iat: Option<Value<'a>>,
    nbf: Option<Value<'a>>,
    exp: Option<Value<'a>>,
    jti: Option<Value<'a>>,
    body: Option<Value<'a>>,
}

impl<'a> Members<'a> {
    fn new(dialect: Dialect) -> Self {
        Self { dialect, iss: None, sub: None, iat: None, nbf: None, exp: None, jti: None, body: None }
    }

    fn slot(&mut self, claim: &str) -> Option<&mut Option<Value<'a>>> {
        match claim {
            names::ISS => Some(&mut self.iss),
            names::SUB => Some(&mut self.sub),
            names::IAT => Some(&mut self.iat),
            names::NBF => Some(&mut self.nbf),
            names::EXP => Some(&mut self.exp),
            names::JTI => Some(&mut self.jti),
            names::BODY => Some(&mut self.body),
            _ => None,
        }
    }

    fn take(&mut self, claim: &'static str) -> Option<Value<'a>> {
        self.slot(claim)?.take()
    }

    fn text(&mut self, claim: &'static str) -> Result<Cow<'a, str>, SignatureError> {
        match self.take(claim) {
            Some(Value::Text(text)) => Ok(text),
            Some(Value::Number(_) | Value::Other) => {
                Err(SignatureError::claim_invalid(claim, "must be a string"))
            }
            None => Err(SignatureError::claim_missing(claim)),
        }
    }

    fn seconds(&mut self, claim: &'static str) -> Result<i64, SignatureError> {
        let written = match self.take(claim) {
            Some(Value::Number(written)) => written,
            Some(Value::Text(_) | Value::Other) => return Err(not_seconds(claim)),
            None => return Err(SignatureError::claim_missing(claim)),
        };
        let whole = match self.dialect {
            // QStash dates may have a fraction: the second that it lies in counts.
            Dialect::Qstash => written.split_once('.').map_or(written, |(whole, fraction)| {
                if fraction.bytes().all(|digit| digit.is_ascii_digit()) { whole } else { written }
            }),
            Dialect::Chronq | Dialect::StandardWebhooks | Dialect::Svix => written,
        };
        whole_number(whole.as_bytes()).ok_or_else(|| not_seconds(claim))
    }

    fn optional_in_qstash<T>(
        &mut self,
        claim: &'static str,
        read: impl FnOnce(&mut Self, &'static str) -> Result<T, SignatureError>,
    ) -> Result<Option<T>, SignatureError> {
        let is_absent = self.slot(claim).is_some_and(|slot| slot.is_none());
        if is_absent && self.dialect == Dialect::Qstash { Ok(None) } else { read(self, claim).map(Some) }
    }
}

fn not_seconds(claim: &'static str) -> SignatureError {
    SignatureError::claim_invalid(claim, format_args!("must be a whole number from 0 to {MAX_UNIX_SECONDS}"))
}

/// Reads unix seconds in their one spelling: digits without a sign, a leading zero, a fraction or an exponent.
pub(super) fn whole_number(digits: &[u8]) -> Option<i64> {
    // As many digits as the largest number has: no sum below can overflow.
    if digits.is_empty() || digits.len() > 12 || (digits.len() > 1 && digits[0] == b'0') {
        return None;
    }
    let number = digits.iter().try_fold(0_i64, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
    })?;
    (number <= MAX_UNIX_SECONDS).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_one_spelling_and_end_with_the_year_9999() {
        for (digits, number) in
            [("0", 0), ("7", 7), ("1700000000", 1_700_000_000), ("253402300799", 253_402_300_799)]
        {
            assert_eq!(whole_number(digits.as_bytes()), Some(number));
        }
        for digits in
            ["", "00", "01", "-0", "+1", "1.0", "1e3", "253402300800", "9999999999999", " 1", "1_0", "٣"]
        {
            assert_eq!(whole_number(digits.as_bytes()), None, "{digits}");
        }
    }
}
