//! Against `jsonwebtoken`, an independent implementation: whatever we accept, it accepts too, and what it
//! signs, we verify. (`PyJWT` and jose are asked by conformance/differential.)

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "signing/hs256.rs"]
mod hs256;
mod signing;

use chronq::signature::{Delivery, Receiver};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde_json::{Value, json};
use signing::{BODY, Claims, HEADER, KEY, URL, body_hash, sign};

/// `jsonwebtoken` reads the clock itself, so these deliveries are of now.
fn now() -> i64 {
    i64::try_from(jsonwebtoken::get_current_timestamp()).unwrap()
}

fn claims(now: i64) -> Claims {
    Claims::new().with("iat", now).with("nbf", now - 5).with("exp", now + 300)
}

fn ours(token: &str, now: i64) -> Result<(), &'static str> {
    let receiver = Receiver::new(KEY, None).unwrap();
    let delivery = Delivery { signature: token.into(), body: BODY.into(), url: Some(URL) };
    receiver.verify(&delivery, now).map(|_| ()).map_err(|error| error.code())
}

fn theirs(token: &str) -> Result<Value, jsonwebtoken::errors::Error> {
    hs256::install();
    let mut validation = Validation::new(Algorithm::HS256);
    validation.leeway = 0;
    validation.validate_nbf = true;
    validation.validate_aud = false;
    validation.set_issuer(&["chronq"]);
    validation.set_required_spec_claims(&["exp", "nbf", "iss", "sub"]);
    jsonwebtoken::decode::<Value>(token, &DecodingKey::from_secret(KEY.as_bytes()).unwrap(), &validation)
        .map(|data| data.claims)
}

#[test]
fn what_jsonwebtoken_signs_we_verify() {
    hs256::install();
    let now = now();
    let claims = json!({
        "iss": "chronq", "sub": URL, "iat": now, "nbf": now - 5, "exp": now + 300,
        "jti": "jwt_018bcfe5-6800-7000-8000-000000000000", "body": body_hash(BODY),
    });
    let token = jsonwebtoken::encode(
        &Header::new(Algorithm::HS256),
        &claims,
        &EncodingKey::from_secret(KEY.as_bytes()).unwrap(),
    );
    assert_eq!(ours(&token.unwrap(), now), Ok(()));
}

#[test]
fn whatever_we_accept_jsonwebtoken_accepts() {
    let now = now();
    let json = claims(now).json();
    let mut tokens = vec![
        claims(now).token(),
        sign(r#"{"alg":"HS256"}"#, &json, KEY),
        sign(r#"{"typ":"JWT","alg":"HS256","kid":"any","extra":{"a":[1,2]}}"#, &json, KEY),
        sign(r#" { "alg" : "HS256" } "#, &json, KEY),
        sign(HEADER, format!("\n{json}\t"), KEY),
    ];
    let values = [
        "0",
        "-1",
        "1.5",
        "1e5",
        "1e307",
        "1e-400",
        "-0",
        "123456789012345678901234567890",
        "true",
        "null",
        "[]",
        "{}",
        r#""""#,
        r#""\u0000\ud83d\ude00\/\b""#,
        r#"{"a":{"b":[{"c":[[]]}]}}"#,
        r#""é""#,
    ];
    let names = ["x", "aud", "scope", "cnf", "\\u0061", "é"];
    for name in names {
        tokens.extend(values.map(|value| claims(now).with(name, value).token()));
    }
    for claim in ["iss", "sub", "iat", "nbf", "exp", "jti", "body"] {
        tokens.extend(values.map(|value| claims(now).with(claim, value).token()));
        tokens.push(claims(now).without(claim).token());
    }
    let valid = claims(now).token();
    for at in 0..valid.len() {
        for letter in ["A", "_", "=", ".", " ", "\n", ""] {
            tokens.push(format!("{}{letter}{}", &valid[..at], &valid[at + 1..]));
        }
    }

    let mut accepted = 0;
    for token in &tokens {
        if ours(token, now).is_ok() {
            accepted += 1;
            let claims =
                theirs(token).unwrap_or_else(|error| panic!("refused by jsonwebtoken ({error}): {token}"));
            assert_eq!(claims["sub"], URL);
        }
    }
    assert!(accepted > 80, "only {accepted} of {} tokens were accepted", tokens.len());
}
