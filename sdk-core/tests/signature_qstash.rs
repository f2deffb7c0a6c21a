//! The dialect `qstash`: what differs from `chronq`, row by row.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod signing;

use chronq::contract::Dialect;
use chronq::signature::{Delivery, Receiver, Verified};
use chronq::{Error, ErrorKind};
use signing::{BODY, Claims, HEADER, KEY, NOW, URL, base64url, body_hash, sign};

fn receiver() -> Receiver {
    Receiver::of_dialect(Dialect::Qstash, KEY, None).unwrap()
}

fn verify_at(claims: &Claims, now: i64) -> Result<Verified, Error> {
    let token = claims.token();
    receiver().verify(&Delivery { signature: (&token).into(), body: BODY.into(), url: Some(URL) }, now)
}

fn code(claims: &Claims) -> &'static str {
    verify_at(claims, NOW).map_or_else(|error| error.code(), |_| "accepted")
}

fn claim(claims: &Claims) -> Option<&'static str> {
    match verify_at(claims, NOW).unwrap_err().kind() {
        ErrorKind::Signature(error) => error.claim(),
        _ => None,
    }
}

#[test]
fn the_issuer_is_upstash() {
    let verified = verify_at(&Claims::qstash(), NOW).unwrap();
    assert_eq!(verified.claims.iss, Some("Upstash"));
    assert_eq!(claim(&Claims::new()), Some("iss"));
    let error = verify_at(&Claims::new(), NOW).unwrap_err();
    assert!(error.to_string().contains("dialect chronq"), "{error}");
    assert_eq!(code(&Claims::qstash().with("iss", r#""upstash""#)), "claim_invalid");
}

#[test]
fn the_header_is_upstash_signature() {
    let token = Claims::qstash().token();
    let headers = [("Upstash-Signature", token.as_str())];
    assert!(receiver().verify_headers(headers, BODY.into(), Some(URL), NOW).is_ok());
    let error = receiver().verify_headers([("chronq-signature", "x")], BODY.into(), None, NOW).unwrap_err();
    assert_eq!(error.code(), "signature_missing");
    assert!(error.to_string().contains("no header upstash-signature"), "{error}");
    assert!(error.to_string().contains("dialect chronq"), "{error}");
}

#[test]
fn the_body_claim_may_carry_one_padding_character() {
    let hash = body_hash(BODY);
    let with_body = |body: &str| Claims::qstash().with("body", format!("\"{body}\""));
    assert_eq!(code(&with_body(&format!("{hash}="))), "accepted");
    let verified = verify_at(&with_body(&format!("{hash}=")), NOW).unwrap();
    assert_eq!(verified.claims.body.as_deref(), Some(hash.as_str()), "without the padding");
    for body in [format!("{hash}=="), format!("={hash}"), hash[..42].to_owned(), format!("{}=", &hash[..42])]
    {
        assert_eq!(claim(&with_body(&body)), Some("body"), "{body}");
    }
}

#[test]
fn dates_with_a_fraction_count_as_the_second_they_lie_in() {
    let claims = Claims::qstash()
        .with("exp", format!("{}.999", NOW + 300))
        .with("nbf", format!("{}.999", NOW - 5))
        .with("iat", format!("{NOW}.5"));
    let verified = verify_at(&claims, NOW + 299).unwrap();
    assert_eq!(
        (verified.claims.exp, verified.claims.nbf, verified.claims.iat),
        (NOW + 300, NOW - 5, Some(NOW))
    );
    assert_eq!(verify_at(&claims, NOW + 300).unwrap_err().code(), "expired");
    assert_eq!(verify_at(&claims, NOW - 6).unwrap_err().code(), "not_yet_valid");
    for date in ["1.7e9", "1700000000.5e1", "-1.5", "253402300800.5", "\"1700000000.5\""] {
        assert_eq!(claim(&Claims::qstash().with("exp", date)), Some("exp"), "{date}");
    }
}

#[test]
fn iat_and_jti_may_be_absent_but_keep_their_type() {
    let claims = Claims::qstash().without("iat").without("jti");
    let verified = verify_at(&claims, NOW).unwrap();
    assert_eq!((verified.claims.iat, verified.claims.jti), (None, None));
    assert_eq!(claim(&Claims::qstash().with("iat", "null")), Some("iat"));
    assert_eq!(claim(&Claims::qstash().with("jti", 1)), Some("jti"));
    for required in ["iss", "sub", "nbf", "exp", "body"] {
        assert_eq!(code(&Claims::qstash().without(required)), "claim_missing", "{required}");
    }
}

#[test]
fn url_body_and_algorithm_are_bound_as_in_chronq() {
    let token = Claims::qstash().token();
    let delivery =
        Delivery { signature: (&token).into(), body: BODY.into(), url: Some("https://example.com/") };
    assert_eq!(receiver().verify(&delivery, NOW).unwrap_err().code(), "url_mismatch");
    let delivery = Delivery { signature: (&token).into(), body: "other".into(), url: Some(URL) };
    assert_eq!(receiver().verify(&delivery, NOW).unwrap_err().code(), "body_mismatch");
    let hs512 = sign(&HEADER.replace("256", "512"), Claims::qstash().json(), KEY);
    let delivery = Delivery { signature: (&hs512).into(), body: BODY.into(), url: Some(URL) };
    assert_eq!(receiver().verify(&delivery, NOW).unwrap_err().code(), "algorithm_not_allowed");
    assert_eq!(base64url("a"), "YQ");
}

#[test]
fn a_mismatch_points_to_the_console() {
    let forged = sign(HEADER, Claims::qstash().json(), "k".repeat(32));
    let delivery = Delivery { signature: (&forged).into(), body: BODY.into(), url: None };
    let error = receiver().verify(&delivery, NOW).unwrap_err();
    assert!(error.to_string().contains("Upstash console"), "{error}");
}
