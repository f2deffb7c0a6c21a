//! The receiver for bindings: made from options, judged by shapes, answered in one line of text.
//!
//! Verification is the hot path of a binding, where an object of seven fields costs more than the HMAC:
//! so what was verified crosses the bridge as a single text in columns, and a refusal as JSON.

use std::fmt::Write;

use super::fields::Spelling;
use crate::contract::{Dialect, KeyMatch, UrlDifference, claims as names};
use crate::error::{Error, ErrorKind};
use crate::input::InvalidInput;
use crate::secret::Secret;
use crate::signature::{Body, Moment, Receiver, SignatureValue, Verified, missing_signing_key};

/// What a receiver is made from. The binding has already looked the environment up where its caller gave
/// nothing, and has refused what is no text or number.
#[derive(Debug, Default)]
pub struct ReceiverOptions {
    /// The first signing key.
    pub current: Option<Secret>,
    /// The second.
    pub next: Option<Secret>,
    /// Whose deliveries are verified, in a word; the product's own where none is given.
    pub dialect: Option<String>,
    /// Whole seconds.
    pub clock_tolerance: Option<i64>,
}

impl ReceiverOptions {
    /// The receiver.
    ///
    /// # Errors
    /// [`InvalidInput`] naming the option, never showing a key.
    pub fn into_receiver(self) -> Result<Receiver, Error> {
        let current = self.current.ok_or_else(missing_signing_key)?;
        let dialect = self.dialect.map_or(Ok(Dialect::Chronq), |word| {
            word.parse::<Dialect>()
                .map_err(|error| InvalidInput::new("dialect", error.to_string()).with_value(&word))
        })?;
        let receiver = Receiver::of_dialect(dialect, current, self.next)?;
        match self.clock_tolerance {
            None => Ok(receiver),
            Some(seconds) => Ok(receiver.with_clock_tolerance(seconds)?),
        }
    }
}

/// How many values of a header a binding was given, as the number that crosses the bridge:
/// 0 none, 1 one, 2 several, anything else: not text.
pub fn signature_value(shape: u8, text: &str) -> SignatureValue<'_> {
    match shape {
        0 => SignatureValue::Absent,
        1 => SignatureValue::One(text.as_bytes()),
        2 => SignatureValue::Several,
        _ => SignatureValue::NotText,
    }
}

/// The body that a binding was given. `fault` is `None` for bytes and text, empty for text with a lone
/// surrogate, else the name of the type that it was instead.
pub fn body_value<'a>(bytes: &'a [u8], fault: Option<&'a str>) -> Body<'a> {
    match fault {
        None => Body::Raw(bytes),
        Some("") => Body::LoneSurrogate,
        Some(got) => Body::NotRaw(got),
    }
}

/// The moment of a verification, from the one type of numbers that a language may have: whole numbers, which
/// its package has seen to.
#[expect(
    clippy::cast_possible_truncation,
    reason = "saturates, and the range is checked by the verification"
)]
pub fn moment(now: f64, tolerance: Option<f64>) -> Moment {
    Moment::at(now as i64).with_tolerance(tolerance.map(|seconds| seconds as i64))
}

/// A verification's outcome as one text, in columns that need no parser.
///
/// A refusal is the JSON of its error, which begins with `{`. A success is, in ASCII up to the jti:
///
/// | from | holds |
/// |---|---|
/// | 0 | `c` or `n`: the current or the next key matched |
/// | 1 | `c`, `u` or `-`: the issuer is chronq, Upstash, none |
/// | 2 | `s` or `-`: there is a sub or none |
/// | 3 | `b` or `-`: there is a body claim or none |
/// | 4, 16, 28 | exp, nbf and iat in 12 digits each; an iat that is absent begins with `-` |
/// | 40 | length of the jti in UTF-16 units, in 6 digits; absent, it begins with `-` |
/// | 46 | the body claim, 43 characters, if there is one; then jti and sub |
pub fn outcome_to_text(outcome: Result<Verified, Error>, spelling: Spelling) -> String {
    let Verified { claims, key } = match outcome {
        Ok(verified) => verified,
        Err(error) => return refusal_to_text(&error, spelling),
    };
    let mut text = String::with_capacity(256);
    text.push(match key {
        KeyMatch::Current => 'c',
        KeyMatch::Next => 'n',
    });
    text.push(match claims.iss {
        Some(names::ISSUER) => 'c',
        Some(_) => 'u',
        None => '-',
    });
    text.push(if claims.sub.is_some() { 's' } else { '-' });
    text.push(if claims.body.is_some() { 'b' } else { '-' });
    push_digits::<12>(&mut text, Some(claims.exp));
    push_digits::<12>(&mut text, Some(claims.nbf));
    push_digits::<12>(&mut text, claims.iat);
    let units = claims.jti.as_deref().map(|jti| jti.encode_utf16().count());
    push_digits::<6>(&mut text, units.map(|units| i64::try_from(units).unwrap_or(0)));
    for part in [claims.body, claims.jti, claims.sub] {
        text.push_str(part.as_deref().unwrap_or_default());
    }
    text
}

/// The JSON of an error that a receiver can have, with the members that `error_to_json` gives those two
/// kinds. Written by hand: the receiver's own module at the edge would carry a JSON library for it.
pub fn refusal_to_text(error: &Error, spelling: Spelling) -> String {
    let mut text = String::with_capacity(512);
    let mut message = error.to_string();
    text.push('{');
    push_member(&mut text, "kind", Some(error.kind().name()));
    push_member(&mut text, "code", Some(error.code()));
    match error.kind() {
        ErrorKind::InvalidInput(Some(input)) => {
            let option = spelling.of(input.option());
            message = crate::text::replace_first(&message, input.option(), &option);
            push_member(&mut text, "option", Some(&option));
            push_member(&mut text, "value", input.value());
        }
        ErrorKind::Signature(refused) => {
            push_member(&mut text, "claim", refused.claim());
            let seconds = refused.seconds().map_or_else(|| "null".to_owned(), |seconds| seconds.to_string());
            let _ = write!(text, "\"seconds\":{seconds},");
            push_member(&mut text, "difference", refused.difference().map(UrlDifference::as_str));
        }
        ErrorKind::InvalidInput(None)
        | ErrorKind::Unauthorized
        | ErrorKind::Forbidden
        | ErrorKind::NotFound
        | ErrorKind::Conflict(_)
        | ErrorKind::TooLarge
        | ErrorKind::Throttled
        | ErrorKind::Unavailable
        | ErrorKind::QuotaExceeded
        | ErrorKind::HorizonExceeded
        | ErrorKind::FeatureGated
        | ErrorKind::Transport
        | ErrorKind::Protocol => {}
    }
    push_member(&mut text, "message", Some(&message));
    text.pop();
    text.push('}');
    text
}

fn push_member(text: &mut String, name: &str, value: Option<&str>) {
    let _ = write!(text, "\"{name}\":");
    let Some(value) = value else {
        text.push_str("null,");
        return;
    };
    crate::json::push_text(text, value);
    text.push(',');
}

/// No number of a verified delivery is negative or longer than its column.
fn push_digits<const WIDTH: usize>(text: &mut String, number: Option<i64>) {
    let mut digits = [b'-'; WIDTH];
    if let Some(mut number) = number {
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
            number /= 10;
        }
    }
    text.extend(digits.map(char::from));
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const KEY: &str = "sig_this-is-not-a-real-signing-key-000000000000";

    #[expect(clippy::unnecessary_wraps, reason = "it stands where a key may be absent")]
    fn key(text: &str) -> Option<Secret> {
        Some(Secret::new(text.to_owned()))
    }

    fn refuse(options: ReceiverOptions) -> Value {
        let error = options.into_receiver().expect_err("illegal");
        serde_json::from_str(&refusal_to_text(&error, Spelling::Camel)).expect("json")
    }

    #[test]
    fn a_receiver_is_made_from_options() {
        let options = ReceiverOptions {
            current: key(KEY),
            dialect: Some("qstash".to_owned()),
            clock_tolerance: Some(5),
            ..ReceiverOptions::default()
        };
        let receiver = options.into_receiver().expect("legal");
        assert_eq!((receiver.dialect(), receiver.clock_tolerance()), (Dialect::Qstash, 5));
    }

    #[test]
    fn a_refused_option_is_named_as_the_language_spells_it_and_keys_are_not_shown() {
        let error = refuse(ReceiverOptions::default());
        assert_eq!(error["option"], "currentSigningKey");
        assert_eq!(
            error["message"],
            "currentSigningKey is missing: pass it, or set the environment variable CHRONQ_CURRENT_SIGNING_KEY"
        );
        let error =
            refuse(ReceiverOptions { current: key(KEY), next: key("short"), ..ReceiverOptions::default() });
        assert_eq!((error["option"].as_str(), error["value"].as_str()), (Some("nextSigningKey"), None));
        for seconds in [301, -1] {
            let error = refuse(ReceiverOptions {
                current: key(KEY),
                clock_tolerance: Some(seconds),
                ..ReceiverOptions::default()
            });
            assert_eq!(error["option"], "clockToleranceSeconds");
            assert_eq!(error["value"], seconds.to_string());
        }
        let dialect = Some("a \"word\"\n".to_owned());
        let error = refuse(ReceiverOptions { current: key(KEY), dialect, ..ReceiverOptions::default() });
        assert_eq!(
            (error["option"].as_str(), error["value"].as_str()),
            (Some("dialect"), Some("a \"word\"\n"))
        );
    }

    #[test]
    fn a_refusal_says_what_the_general_form_says() {
        let receiver = Receiver::new(KEY, None).expect("legal");
        let delivery =
            crate::signature::Delivery { signature: signature_value(2, ""), body: b"".into(), url: None };
        for at in [1_700_000_000, -1] {
            let error = receiver.verify(&delivery, at).expect_err("refused");
            let general = super::super::error_to_json(&error, Spelling::Camel).to_string();
            let general: Value = serde_json::from_str(&general).expect("json");
            let brief: Value = serde_json::from_str(&refusal_to_text(&error, Spelling::Camel)).expect("json");
            for (name, value) in brief.as_object().expect("object") {
                assert_eq!(&general[name], value, "{name}");
            }
        }
    }

    #[test]
    fn what_was_verified_is_one_text() {
        let claims = crate::signature::Claims {
            iss: Some("chronq"),
            sub: Some("https://h/\n é".to_owned()),
            exp: 1_700_000_300,
            nbf: 1_699_999_995,
            iat: Some(1_700_000_000),
            jti: Some("jwt_😀".to_owned()),
            body: Some("47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU".to_owned()),
        };
        let key = KeyMatch::Next;
        let text = outcome_to_text(Ok(Verified { claims, key }), Spelling::Camel);
        assert_eq!(
            text,
            "ncsb001700000300001699999995001700000000000006\
             47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFUjwt_😀https://h/\n é"
        );
    }

    #[test]
    fn what_a_dialect_does_not_sign_is_a_dash() {
        let claims = crate::signature::Claims {
            iss: None,
            sub: None,
            exp: 1_700_000_301,
            nbf: 1_699_999_700,
            iat: None,
            jti: Some("msg_1".to_owned()),
            body: None,
        };
        let text = outcome_to_text(Ok(Verified { claims, key: KeyMatch::Current }), Spelling::Camel);
        assert_eq!(text, "c---001700000301001699999700------------000005msg_1");
    }

    #[test]
    fn a_refusal_is_json_with_the_attributes_of_its_kind() {
        let receiver = Receiver::new(KEY, None).expect("legal");
        let delivery =
            crate::signature::Delivery { signature: signature_value(0, ""), body: b"".into(), url: None };
        let text = outcome_to_text(receiver.verify(&delivery, 1_700_000_000), Spelling::Camel);
        let json: Value = serde_json::from_str(&text).expect("json");
        assert_eq!(
            (json["kind"].as_str(), json["code"].as_str()),
            (Some("SignatureError"), Some("signature_missing"))
        );
        assert_eq!(json["claim"], Value::Null);
        assert_eq!(json.as_object().map(|map| map.contains_key("difference")), Some(true));
    }
}
