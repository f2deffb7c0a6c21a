//! What a receiver is made of: which keys are refused, with the argument's name and the fix, never the value.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod signing;

use chronq::contract::Dialect;
use chronq::signature::Receiver;
use chronq::{InvalidInput, Secret};
use signing::{KEY, OTHER_KEY, WEBHOOK_SECRET, base64};

fn refused(current: &str) -> InvalidInput {
    Receiver::new(current, None).unwrap_err()
}

#[test]
fn a_key_of_32_to_512_bytes_without_white_space_is_legal() {
    for key in
        ["k".repeat(32), "k".repeat(512), "ключ-не-настоящий-0".to_owned(), format!("'{}'", "k".repeat(40))]
    {
        assert!(Receiver::new(key.as_str(), None).is_ok(), "{key}");
    }
    assert!(Receiver::new(KEY, Some(OTHER_KEY.into())).is_ok());
    assert!(Receiver::new(KEY, Some(KEY.into())).is_ok());
}

#[test]
fn a_refused_key_names_the_argument_and_the_fix() {
    let long = "k".repeat(40);
    let cases = [
        (String::new(), "must not be empty"),
        ("k".repeat(31), "at least 32 bytes, got 31"),
        ("k".repeat(513), "at most 512 bytes, got 513"),
        (format!("{long}\n"), "trim"),
        (format!("{long}\r\n"), "trim"),
        (format!(" {long}"), "trim"),
        (format!("\u{feff}{long}"), "trim"),
        (format!("{long}\u{a0}"), "trim"),
        (format!("{long} {long}"), "white space"),
        (format!("{long}\u{2003}{long}"), "white space"),
        (format!("{long}\0{long}"), "control characters"),
        (format!("{long}\u{7f}"), "control characters"),
        ("\n".to_owned(), "white space"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----".to_owned(), "PEM"),
        (format!("ssh-ed25519{long}"), "SSH"),
        (r#"{"kty":"oct","k":"AAAAAAAAAAAAAAAAAAAAAAAA"}"#.to_owned(), "JWK"),
        ("whsec_c2hvcnQ=".to_owned(), "dialect"),
    ];
    for (key, hint) in cases {
        let error = refused(&key);
        assert_eq!(error.option(), "current_signing_key");
        assert!(error.to_string().starts_with("current_signing_key "), "{error}");
        assert!(error.to_string().contains(hint), "{key:?}: {error}");
        assert_eq!(error.value(), None, "a secret is never shown");
        assert!(key.trim().len() < 8 || !error.to_string().contains(key.trim()), "{error}");
        let next = Receiver::new(KEY, Some(key.as_str().into())).unwrap_err();
        assert_eq!(next.option(), "next_signing_key");
    }
}

#[test]
fn a_next_key_may_be_absent_but_not_empty() {
    assert!(Receiver::new(KEY, None).is_ok());
    let error = Receiver::new(KEY, Some("".into())).unwrap_err();
    assert_eq!(error.option(), "next_signing_key");
    assert!(error.to_string().contains("leave it out"), "{error}");
}

#[test]
fn variables_stand_in_for_keys() {
    let variables = |pairs: &'static [(&str, &str)]| {
        move |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    assert!(Receiver::from_variables(variables(&[("CHRONQ_CURRENT_SIGNING_KEY", KEY)])).is_ok());
    let error = Receiver::from_variables(variables(&[("CHRONQ_NEXT_SIGNING_KEY", KEY)])).unwrap_err();
    assert_eq!(error.option(), "current_signing_key");
    assert!(error.to_string().contains("CHRONQ_CURRENT_SIGNING_KEY"), "{error}");
    let both = variables(&[("CHRONQ_CURRENT_SIGNING_KEY", KEY), ("CHRONQ_NEXT_SIGNING_KEY", "short")]);
    assert_eq!(Receiver::from_variables(both).unwrap_err().option(), "next_signing_key");
}

#[test]
fn webhook_secrets_are_whsec_and_strict_base64_of_24_to_64_bytes() {
    let of = |key: &str| Receiver::of_dialect(Dialect::StandardWebhooks, key, None);
    for length in [24, 32, 64] {
        assert!(of(&format!("whsec_{}", base64(vec![7; length]))).is_ok(), "{length}");
    }
    let valid = WEBHOOK_SECRET;
    assert!(of(valid).is_ok());
    let cases = [
        (format!("v1,{valid}"), "version"),
        (valid[6..].to_owned(), "whsec_"),
        ("whsec_".to_owned(), "decodes to nothing"),
        (format!("whsec_{}", base64([7; 23])), "got 23"),
        (format!("whsec_{}", base64([7; 65])), "got 65"),
        (format!("whsec_{}", base64([7; 32]).trim_end_matches('=')), "strict base64"),
        (format!("whsec_{}", base64([0xfb; 24]).replace('+', "-")), "strict base64"),
        (format!("{valid}\n"), "trim"),
        (KEY.to_owned(), "chronq and qstash"),
        ("whsk_bm90LWEtcmVhbC1zZWNyZXQtMDAwMDAw".to_owned(), "private"),
        (String::new(), "empty"),
        (r#"{"kty":"oct","k":"AAAAAAAAAAAAAAAAAAAAAAAA"}"#.to_owned(), "JWK"),
    ];
    for (key, hint) in cases {
        for dialect in [Dialect::StandardWebhooks, Dialect::Svix] {
            let error = Receiver::of_dialect(dialect, key.as_str(), None).unwrap_err();
            assert_eq!(error.option(), "current_signing_key");
            assert!(error.to_string().contains(hint), "{key:?}: {error}");
            assert_eq!(error.value(), None);
        }
    }
}

#[test]
fn a_qstash_key_need_not_begin_with_sig() {
    let key = "k".repeat(32);
    assert!(Receiver::of_dialect(Dialect::Qstash, key.as_str(), None).is_ok());
    assert_eq!(
        Receiver::of_dialect(Dialect::Qstash, "sig_short", None).unwrap_err().option(),
        "current_signing_key"
    );
}

#[test]
fn another_dialect_reads_the_same_keys_anew() {
    let receiver = Receiver::new(WEBHOOK_SECRET, None).unwrap().with_clock_tolerance(5).unwrap();
    let receiver = receiver.with_dialect(Dialect::Svix).unwrap();
    assert_eq!((receiver.dialect(), receiver.clock_tolerance()), (Dialect::Svix, 5));
    assert_eq!(
        Receiver::new(KEY, None).unwrap().with_dialect(Dialect::Svix).unwrap_err().option(),
        "current_signing_key"
    );
}

#[test]
fn a_receiver_prints_without_its_keys() {
    let receiver = Receiver::new(KEY, Some(Secret::new(OTHER_KEY))).unwrap();
    let shown = format!("{receiver:?}");
    assert_eq!(shown, "Receiver { dialect: Chronq, clock_tolerance: 0, .. }");
}

#[cfg(not(feature = "webhook-v1a"))]
#[test]
fn a_build_without_v1a_verifies_with_a_public_key_only_through_a_platform() {
    // 3 is the y of a point of the curve.
    let mut point = [0; 32];
    point[0] = 3;
    let key = format!("whpk_{}", base64(point));
    let receiver = Receiver::of_dialect(Dialect::StandardWebhooks, WEBHOOK_SECRET, Some(key.into())).unwrap();
    let item = format!("v1a,{}", base64([1; 64]));
    let headers =
        [("webhook-id", "msg_1"), ("webhook-timestamp", "1700000000"), ("webhook-signature", item.as_str())];
    let error = receiver.verify_headers(headers, b"x".into(), None, 1_700_000_000).unwrap_err();
    let chronq::ErrorKind::InvalidInput(Some(input)) = error.kind() else { panic!("{error:?}") };
    assert_eq!(input.option(), "next_signing_key");
    assert!(error.to_string().contains("verifyHeaders"), "{error}");
    let pending = receiver.begin_webhook(headers, b"x".into(), None, 1_700_000_000).unwrap();
    assert_eq!(pending.questions()[0].public_key, point);
}
