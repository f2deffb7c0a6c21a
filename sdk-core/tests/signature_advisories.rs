//! Classes of published advisories against verifiers of signed tokens, each with the input that set it off.
//! The identifiers name a well-known member of each class, for readers who want to look it up.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod signing;

use chronq::signature::{Delivery, Receiver};
use signing::{BODY, Claims, HEADER, KEY, NOW, URL, base64url, hmac_sha256, sign, sign_segments};

fn code(token: &str) -> &'static str {
    let receiver = Receiver::new(KEY, None).unwrap();
    let delivery = Delivery { signature: token.into(), body: BODY.into(), url: Some(URL) };
    receiver.verify(&delivery, NOW).map_or_else(|error| error.code(), |_| "accepted")
}

#[test]
fn algorithm_none_in_any_spelling() {
    // CVE-2015-9235, CVE-2018-1000531, CVE-2020-28042
    for alg in ["none", "None", "NONE", "nOnE", "nonE", "none\u{0}", " none", ""] {
        let header = base64url(serde_json::json!({ "alg": alg, "typ": "JWT" }).to_string());
        let payload = base64url(Claims::new().json());
        for token in [format!("{header}.{payload}."), sign_segments(&header, &payload, KEY)] {
            assert_eq!(code(&token), "algorithm_not_allowed", "{alg:?}");
        }
    }
}

#[test]
fn algorithm_confusion_between_key_kinds_and_hash_sizes() {
    // CVE-2016-5431, CVE-2022-29217
    for alg in [
        "RS256", "ES256", "PS256", "EdDSA", "HS384", "HS512", "HS1", "A256GCM", "dir", "HMAC", "hs256",
        "Hs256",
    ] {
        let header = format!(r#"{{"alg":"{alg}","typ":"JWT"}}"#);
        assert_eq!(code(&sign(&header, Claims::new().json(), KEY)), "algorithm_not_allowed", "{alg}");
    }
}

#[test]
fn an_empty_key_and_a_short_key() {
    // CVE-2024-31995 and the like: a verifier that can be built with them accepts what anyone can sign.
    for key in ["", "k", "secret", &"k".repeat(31)] {
        assert_eq!(Receiver::new(key, None).unwrap_err().option(), "current_signing_key");
        assert_eq!(Receiver::new(KEY, Some(key.into())).unwrap_err().option(), "next_signing_key");
    }
    assert_eq!(code(&sign(HEADER, Claims::new().json(), "")), "signature_mismatch");
}

#[test]
fn a_prefix_of_the_signature_of_every_length_and_one_byte_more() {
    // CVE-2016-10555's cousins: a comparison as long as the shorter of the two.
    let token = Claims::new().token();
    let (signed, _) = token.rsplit_once('.').unwrap();
    let mac = hmac_sha256(KEY.as_bytes(), signed.as_bytes());
    for length in 0..32 {
        let cut = format!("{signed}.{}", base64url(&mac[..length]));
        assert_eq!(code(&cut), "signature_malformed", "{length} bytes");
    }
    for extra in [0, 1, 255] {
        let longer = format!("{signed}.{}", base64url([&mac[..], &[extra]].concat()));
        assert_eq!(code(&longer), "signature_malformed");
    }
    assert_eq!(code(&format!("{signed}.{}", base64url(mac))), "accepted");
    assert_eq!(code(&format!("{signed}.{}", base64url([0; 32]))), "signature_mismatch");
}

#[test]
fn critical_extensions_that_nobody_understands() {
    // CVE-2025-59420
    for crit in [r#"["bork"]"#, r#"["exp"]"#, r#"["b64"]"#, "[]", r#""exp""#, "null"] {
        let header = format!(r#"{{"alg":"HS256","crit":{crit},"bork":true}}"#);
        assert_eq!(code(&sign(&header, Claims::new().json(), KEY)), "signature_malformed", "{crit}");
    }
    assert_eq!(
        code(&sign(r#"{"alg":"HS256","b64":false}"#, Claims::new().json(), KEY)),
        "signature_malformed"
    );
}

#[test]
fn a_key_that_the_token_brings_itself() {
    // CVE-2018-0114
    let jwk = r#"{"kty":"oct","k":"YXR0YWNrZXItY2hvc2VuLWtleS1ub3QtcmVhbC0wMDA"}"#;
    for member in [
        format!(r#""jwk":{jwk}"#),
        r#""jku":"https://attacker.example/keys""#.to_owned(),
        r#""x5u":"https://attacker.example/cert""#.to_owned(),
        r#""x5c":["AAAA"]"#.to_owned(),
    ] {
        let header = format!(r#"{{"alg":"HS256",{member}}}"#);
        let token = sign(&header, Claims::new().json(), "attacker-chosen-key-not-real-000");
        assert_eq!(code(&token), "signature_malformed", "{member}");
    }
    // A kid is not a path, a query or a command.
    for kid in ["../../dev/null", "' OR 1=1 --", "$(id)"] {
        let header = format!(r#"{{"alg":"HS256","kid":"{kid}"}}"#);
        assert_eq!(code(&sign(&header, Claims::new().json(), "")), "signature_mismatch", "{kid}");
    }
}

#[test]
fn duplicate_members_that_two_parsers_read_differently() {
    // CVE-2017-12635
    let json = Claims::new().json();
    for edited in [
        json.replace("\"exp\":", "\"exp\":99999999999,\"exp\":"),
        json.replace("\"iss\":", "\"\\u0069ss\":\"other\",\"iss\":"),
        json.replace("\"sub\":", "\"sub\":\"https://attacker.example/\",\"sub\":"),
    ] {
        assert_ne!(edited, json);
        assert_eq!(code(&sign(HEADER, edited, KEY)), "signature_malformed");
    }
    let header = r#"{"alg":"none","alg":"HS256"}"#;
    assert_eq!(code(&sign(header, json, KEY)), "signature_malformed");
}

#[test]
fn trailing_bits_and_other_spellings_of_the_same_bytes() {
    let token = Claims::new().token();
    let last = token.chars().last().unwrap();
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    // 32 bytes end in a digit with two unused bits: three other digits decode loosely to the same MAC.
    let value = alphabet.find(last).unwrap();
    for other in (0..4).map(|bits| value / 4 * 4 + bits).filter(|other| *other != value) {
        let edited = format!("{}{}", &token[..token.len() - 1], &alphabet[other..=other]);
        assert_eq!(code(&edited), "signature_malformed", "{edited}");
    }
    for edited in [
        format!("{token}="),
        format!("{token}=="),
        format!("{token}\n"),
        token.replace('-', "+").replace('_', "/") + "=",
    ] {
        assert_eq!(code(&edited), "signature_malformed", "{edited:?}");
    }
}

#[test]
fn numbers_that_never_expire() {
    for exp in [
        "1e400",
        "1e308",
        "1e10",
        "99999999999999999999",
        "100000000000000000000000000000000000000000000000000",
        "253402300800",
        "Infinity",
        "NaN",
        "-1",
        r#""1700000300""#,
        "1700000300.0",
        "true",
        "[1700000300]",
        r#"{"toString":1}"#,
    ] {
        let code = code(&Claims::new().with("exp", exp).token());
        assert!(["claim_invalid", "signature_malformed"].contains(&code), "{exp}: {code}");
    }
    for nbf in ["-1e400", "-99999999999", "null", r#""0""#] {
        let code = code(&Claims::new().with("nbf", nbf).token());
        assert!(["claim_invalid", "signature_malformed"].contains(&code), "{nbf}: {code}");
    }
    // exp 1 is a date long past, before nbf; on its own it is expired.
    assert_eq!(code(&Claims::new().with("exp", 1).token()), "claim_invalid");
    assert_eq!(code(&Claims::new().with("exp", 1).with("nbf", 0).token()), "expired");
    assert_eq!(code(&Claims::new().without("exp").token()), "claim_missing");
}

#[test]
fn four_dots_kilobytes_of_dots_and_other_shapes() {
    // CVE-2024-33663, CVE-2025-30204
    let token = Claims::new().token();
    let dots = ".".repeat(8192);
    let megabyte = "A".repeat(1 << 20);
    for shape in [
        "....",
        &dots,
        &format!("{dots}{dots}"),
        &megabyte,
        &format!("{megabyte}.{megabyte}.{megabyte}"),
        &format!("{token}.{token}"),
        &format!("{token}."),
        &format!(".{token}"),
        r#"{"payload":"e30","signatures":[{"protected":"e30","signature":"e30"}]}"#,
        "e30",
        "e30.e30",
        "null",
    ] {
        let code = code(shape);
        // The JSON serialization has commas: two headers folded into one, as far as a compact token goes.
        assert!(["signature_malformed", "signature_ambiguous"].contains(&code), "{code}");
    }
}

#[test]
fn compressed_payloads_are_not_opened() {
    // CVE-2024-28176, CVE-2024-21319
    for zip in [r#""DEF""#, r#""GZIP""#, "true", "null"] {
        let header = format!(r#"{{"alg":"HS256","zip":{zip}}}"#);
        assert_eq!(
            code(&sign(&header, b"\x78\x9c\x03\x00\x00\x00\x00\x01", KEY)),
            "signature_malformed",
            "{zip}"
        );
    }
    let header = r#"{"alg":"HS256","enc":"A256GCM"}"#;
    assert_eq!(code(&sign(header, Claims::new().json(), KEY)), "signature_malformed");
}

#[test]
fn deep_nesting_exhausts_no_stack() {
    // CVE-2020-8184's kin: eight kilobytes of brackets.
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        for levels in [9, 100, 1000] {
            let value = format!("{}1{}", open.repeat(levels), close.repeat(levels));
            assert_eq!(code(&Claims::new().with("x", value).token()), "signature_malformed", "{levels}");
        }
    }
    let header = format!(r#"{{"alg":"HS256","x":{}"#, "[".repeat(200));
    assert_eq!(code(&sign(&header, "{}", KEY)), "signature_malformed");
}

#[test]
fn a_token_for_another_receiver_or_of_another_kind() {
    // Cross-use of one key: the issuer, the destination and the body are bound.
    assert_eq!(code(&Claims::qstash().token()), "claim_invalid");
    assert_eq!(code(&Claims::new().with("sub", r#""https://example.com/hook/""#).token()), "url_mismatch");
    assert_eq!(code(&Claims::of_body("{}").token()), "body_mismatch");
    assert_eq!(code(&sign(HEADER, r#"{"sub":"1","name":"session"}"#, KEY)), "claim_missing");
    assert_eq!(
        code(&sign(r#"{"alg":"HS256","typ":"at+jwt"}"#, Claims::new().json(), KEY)),
        "signature_malformed"
    );
}
