//! One delivery with literal values, made by an independent implementation (Python's hmac, hashlib, json).

use chronq::contract::KeyMatch;
use chronq::signature::{Delivery, Moment, Receiver};

const KEY: &str = "sig_not-a-real-key-0000000000000000000000000000";
const OTHER_KEY: &str = "sig_not-a-real-key-1111111111111111111111111111";
const BODY: &str = r#"{"orderId":42}"#;
const URL: &str = "https://example.com/hook";
const TOKEN: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJjaHJvbnEiLCJzdWIiOiJodHRwczovL2V4YW1wbGUuY29tL2hvb2siLCJpYXQiOjE3MDAwMDAwMDAsIm5iZiI6MTY5OTk5OTk5NSwiZXhwIjoxNzAwMDAwMzAwLCJqdGkiOiJqd3RfMDE4YmNmZTUtNjgwMC03MDAwLTgwMDAtMDAwMDAwMDAwMDAwIiwiYm9keSI6InNya0NnZzNmdmM4OUdEdGxJQ19jOUN3bGhSbXYzWXZISEhlOUxxbUxPMm8ifQ.4jovOETmKQS2w8OtCLER-50ZRlWbJ3luqPf_LkH-jJg";

fn delivery() -> Delivery<'static> {
    Delivery { signature: TOKEN.into(), body: BODY.into(), url: Some(URL) }
}

#[test]
fn the_claims_come_back_with_the_key_that_matched() {
    let receiver = Receiver::new(KEY, None).unwrap();
    let verified = receiver.verify(&delivery(), 1_700_000_000).unwrap();
    assert_eq!(verified.key, KeyMatch::Current);
    assert_eq!(verified.claims.iss, Some("chronq"));
    assert_eq!(verified.claims.sub.as_deref(), Some(URL));
    assert_eq!(verified.claims.iat, Some(1_700_000_000));
    assert_eq!(verified.claims.nbf, 1_699_999_995);
    assert_eq!(verified.claims.exp, 1_700_000_300);
    assert_eq!(verified.claims.jti.as_deref(), Some("jwt_018bcfe5-6800-7000-8000-000000000000"));
    assert_eq!(verified.claims.body.as_deref(), Some("srkCgg3fvc89GDtlIC_c9CwlhRmv3YvHHHe9LqmLO2o"));
}

#[test]
fn either_key_may_have_signed() {
    let rotated = Receiver::new(OTHER_KEY, Some(KEY.into())).unwrap();
    assert_eq!(rotated.verify(&delivery(), 1_700_000_000).unwrap().key, KeyMatch::Next);
    let stranger = Receiver::new(OTHER_KEY, None).unwrap();
    let error = stranger.verify(&delivery(), 1_700_000_000).unwrap_err();
    assert_eq!(error.code(), "signature_mismatch");
}

#[test]
fn both_bounds_of_time_are_exact_and_tolerance_widens_them() {
    let receiver = Receiver::new(KEY, None).unwrap();
    let code = |at: Moment| receiver.verify(&delivery(), at).err().map(|error| error.code());
    assert_eq!(code(Moment::at(1_699_999_995)), None);
    assert_eq!(code(Moment::at(1_699_999_994)), Some("not_yet_valid"));
    assert_eq!(code(Moment::at(1_700_000_299)), None);
    assert_eq!(code(Moment::at(1_700_000_300)), Some("expired"));
    assert_eq!(code(Moment::at(1_699_999_994).with_tolerance(Some(1))), None);
    assert_eq!(code(Moment::at(1_700_000_300).with_tolerance(Some(1))), None);
    assert_eq!(code(Moment::at(1_700_000_301).with_tolerance(Some(1))), Some("expired"));
}

#[test]
fn the_headers_of_a_request_are_found_in_any_case() {
    let receiver = Receiver::new(KEY, None).unwrap();
    let headers = [("Host", "internal"), ("Chronq-Signature", TOKEN)];
    assert!(receiver.verify_headers(headers, BODY.into(), Some(URL), 1_700_000_000).is_ok());
}

#[test]
fn the_body_may_be_hashed_elsewhere() {
    let digest = [
        0xb2, 0xb9, 0x02, 0x82, 0x0d, 0xdf, 0xbd, 0xcf, 0x3d, 0x18, 0x3b, 0x65, 0x20, 0x2f, 0xdc, 0xf4, 0x2c,
        0x25, 0x85, 0x19, 0xaf, 0xdd, 0x8b, 0xc7, 0x1c, 0x77, 0xbd, 0x2e, 0xa9, 0x8b, 0x3b, 0x6a,
    ];
    let receiver = Receiver::new(KEY, None).unwrap();
    let pending = receiver.begin(TOKEN.into(), Some(URL), 1_700_000_000).unwrap();
    assert!(pending.clone().finish_with_digest(&digest).is_ok());
    assert_eq!(pending.finish_with_digest(&[0; 32]).unwrap_err().code().as_str(), "body_mismatch");
}
