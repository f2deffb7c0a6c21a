//! The receiver for bindings: made from options, judged by shapes, answered in one line of text.
//!
//! Verification is the hot path of a binding, where an object of seven fields costs more than the HMAC:
//! so what was verified crosses the bridge as a single text in columns, and a refusal as JSON.

use serde_json::Value;

use super::bridge::error_to_json;
use super::fields::{Fields, Spelling, kind_of, wrong_type};
use crate::contract::{Dialect, KeyMatch, claims as names};
use crate::error::Error;
use crate::input::InvalidInput;
use crate::secret::Secret;
use crate::signature::{
    Body, CURRENT_SIGNING_KEY, Moment, NEXT_SIGNING_KEY, Receiver, SignatureValue, Verified,
    missing_signing_key, signing_key_not_text, whole_seconds,
};

/// Reads `{current_signing_key, next_signing_key?, dialect?, clock_tolerance?}`. The binding has already
/// looked the environment up where its caller gave nothing.
///
/// # Errors
/// [`InvalidInput`] naming the option, never showing a key.
pub fn receiver_from_json(options: Value, spelling: Spelling) -> Result<Receiver, Error> {
    let mut fields = Fields::new("options", options, spelling)?;
    let current = take_key(&mut fields, CURRENT_SIGNING_KEY)?.ok_or_else(missing_signing_key)?;
    let next = take_key(&mut fields, NEXT_SIGNING_KEY)?;
    let dialect = fields.text("dialect")?;
    let tolerance = fields.take("clock_tolerance");
    fields.finish()?;
    let dialect = dialect.map_or(Ok(Dialect::Chronq), |word| {
        word.parse::<Dialect>()
            .map_err(|error| InvalidInput::new("dialect", error.to_string()).with_value(&word))
    })?;
    let receiver = Receiver::of_dialect(dialect, current, next)?;
    match tolerance {
        None => Ok(receiver),
        Some(value) => {
            let seconds =
                value.as_f64().ok_or_else(|| wrong_type("clock_tolerance", "whole seconds", &value))?;
            Ok(receiver.with_clock_tolerance(whole_seconds("clock_tolerance", seconds)?)?)
        }
    }
}

fn take_key(fields: &mut Fields, option: &str) -> Result<Option<Secret>, InvalidInput> {
    match fields.take(option) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(Secret::new(text))),
        Some(other) => Err(signing_key_not_text(option, kind_of(&other))),
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

/// The moment of a verification from the numbers of a language that has but one type of them.
///
/// # Errors
/// [`InvalidInput`] naming `now` or `clock_tolerance`.
pub fn moment(now: f64, tolerance: Option<f64>) -> Result<Moment, InvalidInput> {
    let tolerance = tolerance.map(|seconds| whole_seconds("clock_tolerance", seconds)).transpose()?;
    Ok(Moment::at(whole_seconds("now", now)?).with_tolerance(tolerance))
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
        Err(error) => return error_to_json(&error, spelling).to_string(),
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
    use serde_json::json;

    use super::*;

    const KEY: &str = "sig_this-is-not-a-real-signing-key-000000000000";

    fn refuse(options: Value) -> (String, String) {
        let error = receiver_from_json(options, Spelling::Camel).expect_err("illegal");
        let json = error_to_json(&error, Spelling::Camel);
        (
            json["option"].as_str().expect("option").to_owned(),
            json["message"].as_str().expect("text").to_owned(),
        )
    }

    #[test]
    fn a_receiver_is_made_from_options() {
        let options = json!({"currentSigningKey": KEY, "nextSigningKey": null, "dialect": "qstash", "clockToleranceSeconds": 5});
        let receiver = receiver_from_json(options, Spelling::Camel).expect("legal");
        assert_eq!((receiver.dialect(), receiver.clock_tolerance()), (Dialect::Qstash, 5));
    }

    #[test]
    fn a_refused_option_is_named_as_the_language_spells_it_and_keys_are_not_shown() {
        assert_eq!(
            refuse(json!({})),
            ("currentSigningKey".to_owned(), "currentSigningKey is missing: pass it, or set the environment variable CHRONQ_CURRENT_SIGNING_KEY".to_owned())
        );
        let (option, message) = refuse(json!({"currentSigningKey": KEY, "nextSigningKey": 7}));
        assert_eq!(
            (option.as_str(), message.as_str()),
            ("nextSigningKey", "nextSigningKey must be text, got a number")
        );
        for seconds in [json!(301), json!(-1), json!(0.5), json!("5")] {
            let (option, message) =
                refuse(json!({"currentSigningKey": KEY, "clockToleranceSeconds": seconds}));
            assert_eq!(option, "clockToleranceSeconds");
            assert!(message.starts_with("clockToleranceSeconds must be"), "{message}");
        }
        assert_eq!(refuse(json!({"currentSigningKey": KEY, "dialect": "jwt"})).0, "dialect");
        assert_eq!(refuse(json!({"currentSigningKey": KEY, "clockTolerance": 5})).0, "clockTolerance");
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
        assert!(json.as_object().is_some_and(|map| map.contains_key("difference")));
    }
}
