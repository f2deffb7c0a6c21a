//! What holds for every token, not for the examples alone.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod signing;

use chronq::contract::Dialect;
use chronq::signature::{Body, Delivery, Moment, Receiver, SignatureValue};
use chronq::{Error, ErrorKind};
use proptest::prelude::*;
use signing::{
    BODY, Claims, HEADER, KEY, NOW, OTHER_KEY, URL, WEBHOOK_SECRET, body_hash, sign, webhook_item,
};

fn receiver() -> Receiver {
    Receiver::new(OTHER_KEY, Some(KEY.into())).unwrap()
}

fn accepts(token: &[u8], body: &[u8]) -> bool {
    receiver().verify(&Delivery { signature: token.into(), body: body.into(), url: Some(URL) }, NOW).is_ok()
}

fn is_of_the_two_kinds(result: Result<chronq::signature::Verified, Error>) {
    if let Err(error) = result {
        assert!(
            matches!(error.kind(), ErrorKind::Signature(_) | ErrorKind::InvalidInput(Some(_))),
            "{error:?}"
        );
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn any_one_bit_flipped_in_an_accepted_token_or_body_is_refused() {
    for (token, body) in [
        (Claims::new().token(), BODY.as_bytes().to_vec()),
        (sign(r#"{"kid":"a","alg":"HS256"}"#, Claims::of_body([0xff; 70]).json(), KEY), vec![0xff; 70]),
    ] {
        let (token, mut body) = (token.into_bytes(), body);
        assert!(accepts(&token, &body));
        for at in 0..token.len() * 8 {
            let mut flipped = token.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            assert!(!accepts(&flipped, &body), "bit {at} of the token");
        }
        for at in 0..body.len() * 8 {
            body[at / 8] ^= 1 << (at % 8);
            assert!(!accepts(&token, &body), "bit {at} of the body");
            body[at / 8] ^= 1 << (at % 8);
        }
    }
}

#[test]
fn any_one_bit_flipped_in_an_accepted_webhook_is_refused() {
    let webhook = Receiver::of_dialect(Dialect::StandardWebhooks, WEBHOOK_SECRET, None).unwrap();
    let parts =
        ["msg_1".to_owned(), NOW.to_string(), webhook_item(WEBHOOK_SECRET, "msg_1", &NOW.to_string(), BODY)];
    let accepts = |parts: &[Vec<u8>; 3], body: &[u8]| {
        let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
        let headers = names.iter().zip(parts).map(|(name, value)| (*name, value.as_slice()));
        webhook.verify_headers(headers, body.into(), None, NOW).is_ok()
    };
    let parts = parts.map(String::into_bytes);
    assert!(accepts(&parts, BODY.as_bytes()));
    for part in 0..3 {
        for at in 0..parts[part].len() * 8 {
            let mut flipped = parts.clone();
            flipped[part][at / 8] ^= 1 << (at % 8);
            assert!(!accepts(&flipped, BODY.as_bytes()), "bit {at} of header {part}");
        }
    }
    for at in 0..BODY.len() * 8 {
        let mut body = BODY.as_bytes().to_vec();
        body[at / 8] ^= 1 << (at % 8);
        assert!(!accepts(&parts, &body), "bit {at} of the body");
    }
}

/// A string of a token's own letters, cut, doubled and spliced: closer to a token than random bytes.
fn near_token() -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..6);
    edits.prop_map(|edits| {
        let mut token = Claims::new().token().into_bytes();
        for (at, byte, kind) in edits {
            let at = at.index(token.len().max(1)).min(token.len().saturating_sub(1));
            match kind {
                0 if !token.is_empty() => token[at] = byte,
                1 => token.insert(at, byte),
                2 if !token.is_empty() => drop(token.remove(at)),
                _ => token.truncate(at),
            }
        }
        token
    })
}

/// JSON-like text, signed, so that the readers behind the signature are reached.
fn near_claims() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just("1700000000".to_owned()),
        Just(r#""chronq""#.to_owned()),
        Just(format!("\"{URL}\"")),
        Just(format!("\"{}\"", body_hash(BODY))),
        "[-0-9.eE+]{0,12}",
        "\"[ -~]{0,8}\"",
        r#""\\\\u[0-9a-f]{3,5}""#,
        "[\\[\\]{}:,\" a-z0-9]{0,20}",
    ];
    let name = prop_oneof![
        Just("iss"),
        Just("sub"),
        Just("iat"),
        Just("nbf"),
        Just("exp"),
        Just("jti"),
        Just("body"),
        Just("x")
    ];
    prop::collection::vec((name, value), 0..10).prop_map(|members| {
        let members = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect::<Vec<_>>();
        format!("{{{}}}", members.join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn no_bytes_of_any_kind_panic(
        signature in prop::collection::vec(any::<u8>(), 0..400),
        body in prop::collection::vec(any::<u8>(), 0..64),
        url in any::<Option<String>>(),
        now in any::<i64>(),
        tolerance in any::<Option<i64>>(),
    ) {
        let delivery = Delivery { signature: signature.as_slice().into(), body: body.as_slice().into(), url: url.as_deref() };
        is_of_the_two_kinds(receiver().verify(&delivery, Moment::at(now).with_tolerance(tolerance)));
    }

    #[test]
    fn no_edit_of_a_token_panics_or_is_accepted(token in near_token()) {
        if token != Claims::new().token().as_bytes() {
            // Spaces and tabs at the ends are the one freedom that HTTP itself takes.
            let trimmed = String::from_utf8_lossy(&token).trim_matches([' ', '\t']).to_owned();
            if trimmed != Claims::new().token() {
                prop_assert!(!accepts(&token, BODY.as_bytes()));
            }
        }
    }

    #[test]
    fn no_signed_payload_panics(json in near_claims(), now in 0..2_000_000_000_i64) {
        for dialect in [Dialect::Chronq, Dialect::Qstash] {
            let receiver = Receiver::of_dialect(dialect, KEY, None).unwrap();
            let token = sign(HEADER, &json, KEY);
            is_of_the_two_kinds(receiver.verify(&Delivery { signature: (&token).into(), body: BODY.into(), url: Some(URL) }, now));
        }
    }

    #[test]
    fn no_signed_header_panics(header in "[\\[\\]{}:,\" a-zA-Z0-9\\\\]{0,60}") {
        let token = sign(&header, Claims::new().json(), KEY);
        is_of_the_two_kinds(receiver().verify(&Delivery { signature: (&token).into(), body: BODY.into(), url: Some(URL) }, NOW));
    }

    #[test]
    fn what_is_accepted_is_read_as_another_json_parser_reads_it(json in near_claims()) {
        let token = sign(HEADER, &json, KEY);
        let delivery = Delivery { signature: (&token).into(), body: BODY.into(), url: None };
        if let Ok(verified) = receiver().verify(&delivery, NOW) {
            let claims: serde_json::Value = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(claims["sub"].as_str(), verified.claims.sub.as_deref());
            prop_assert_eq!(claims["exp"].as_i64(), Some(verified.claims.exp));
            prop_assert_eq!(claims["iss"].as_str(), verified.claims.iss);
        }
    }

    #[test]
    fn every_signed_delivery_is_accepted_in_its_window_and_nowhere_else(
        body in prop::collection::vec(any::<u8>(), 0..2000),
        path in "[a-z0-9/%._~-]{0,40}",
        offset in -700..1000_i64,
        tolerance in 0..=300_i64,
    ) {
        let url = format!("https://example.com/{path}");
        let token = Claims::of_body(&body).with("sub", format!("\"{url}\"")).token();
        let delivery = Delivery { signature: (&token).into(), body: body.as_slice().into(), url: Some(&url) };
        let verified = receiver().verify(&delivery, Moment::at(NOW + offset).with_tolerance(Some(tolerance)));
        let is_in_window = (-5 - tolerance..300 + tolerance).contains(&offset);
        prop_assert_eq!(verified.is_ok(), is_in_window, "{:?}", verified);
    }

    #[test]
    fn no_webhook_headers_panic(
        id in prop::collection::vec(any::<u8>(), 0..20),
        timestamp in prop::collection::vec(any::<u8>(), 0..20),
        signature in prop::collection::vec(any::<u8>(), 0..200),
        now in any::<i64>(),
    ) {
        for dialect in [Dialect::StandardWebhooks, Dialect::Svix] {
            let receiver = Receiver::of_dialect(dialect, WEBHOOK_SECRET, None).unwrap();
            let headers = [("webhook-id", &id), ("webhook-timestamp", &timestamp), ("webhook-signature", &signature)]
                .map(|(name, value)| (name, value.as_slice()));
            is_of_the_two_kinds(receiver.verify_headers(headers, BODY.into(), None, now));
        }
    }

    #[test]
    fn no_key_panics_a_receiver(current in any::<String>(), next in any::<Option<String>>()) {
        for dialect in Dialect::ALL {
            if let Err(error) = Receiver::of_dialect(*dialect, current.as_str(), next.clone().map(Into::into)) {
                prop_assert!(error.option().ends_with("_signing_key"));
                prop_assert!(current.len() < 8 || !error.to_string().contains(&current));
            }
        }
    }
}

#[test]
fn one_token_has_one_spelling() {
    // Every edit of one character, and strays inserted at every place.
    let token = Claims::new().token();
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=. \t\n\r\0,%";
    let mut spellings = 0;
    for at in 0..=token.len() {
        for letter in letters.chars() {
            let inserted = format!("{}{letter}{}", &token[..at], &token[at..]);
            let is_trimmed = " \t".contains(letter) && (at == 0 || at == token.len());
            assert_eq!(
                accepts(inserted.as_bytes(), BODY.as_bytes()),
                is_trimmed,
                "{letter:?} inserted at {at}"
            );
            if at < token.len() {
                let replaced = format!("{}{letter}{}", &token[..at], &token[at + 1..]);
                spellings += usize::from(accepts(replaced.as_bytes(), BODY.as_bytes()));
            }
        }
    }
    // Each place once: where the letter is the one that stood there.
    assert_eq!(spellings, token.len());
}

#[test]
fn shapes_that_a_binding_can_hand_in_never_panic() {
    for signature in [SignatureValue::Absent, SignatureValue::Several, SignatureValue::NotText, "x".into()] {
        for body in [Body::Raw(b""), Body::LoneSurrogate, Body::NotRaw(""), Body::NotRaw("\u{0}")] {
            for url in [None, Some(""), Some("\u{0}"), Some("://"), Some("#?#")] {
                is_of_the_two_kinds(receiver().verify(&Delivery { signature, body, url }, NOW));
                is_of_the_two_kinds(receiver().verify_headers(
                    [("chronq-signature", signature)],
                    body,
                    url,
                    NOW,
                ));
            }
        }
    }
}
