//! The webhook dialects, row by row, and the public vectors of Standard Webhooks.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod signing;

use chronq::contract::{Dialect, KeyMatch};
use chronq::signature::{Body, Delivery, Moment, Receiver, Verified};
use chronq::{Error, ErrorKind};
use signing::{BODY, NOW, WEBHOOK_SECRET, base64, webhook_item};

const ID: &str = "msg_not-a-real-id";
const OTHER_SECRET: &str = "whsec_bm90LWEtcmVhbC1zZWNyZXQtMTExMTEx";
const STAMP: &str = "1700000000";

fn receiver() -> Receiver {
    Receiver::of_dialect(Dialect::StandardWebhooks, WEBHOOK_SECRET, None).unwrap()
}

fn headers<'a>(id: &'a str, timestamp: &'a str, signature: &'a str) -> [(&'static str, &'a str); 3] {
    [("webhook-id", id), ("webhook-timestamp", timestamp), ("webhook-signature", signature)]
}

fn verify(id: &str, timestamp: &str, signature: &str) -> Result<Verified, Error> {
    receiver().verify_headers(headers(id, timestamp, signature), BODY.into(), None, NOW)
}

fn code(id: &str, timestamp: &str, signature: &str) -> &'static str {
    verify(id, timestamp, signature).map_or_else(|error| error.code(), |_| "accepted")
}

fn item() -> String {
    webhook_item(WEBHOOK_SECRET, ID, STAMP, BODY)
}

#[test]
fn the_public_vector_of_standard_webhooks() {
    // In the tests of every reference library of the specification.
    let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    let headers = headers("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", signature);
    for dialect in [Dialect::StandardWebhooks, Dialect::Svix] {
        let receiver = Receiver::of_dialect(dialect, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", None).unwrap();
        let verified =
            receiver.verify_headers(headers, r#"{"test": 2432232314}"#.into(), None, 1_614_265_330);
        assert_eq!(verified.unwrap().claims.jti.as_deref(), Some("msg_p5jXN8AQM9LWM0D4loKWxJek"));
    }
}

#[test]
fn the_secret_of_svix_s_public_example_is_shorter_than_the_specification_allows() {
    // docs.svix.com, "Verifying webhooks manually": 18 bytes, where the specification asks for 24 to 64.
    let error = Receiver::of_dialect(Dialect::Svix, "whsec_plJ3nmyCDGBKInavdOK15jsl", None).unwrap_err();
    assert!(error.to_string().contains("got 18"), "{error}");
    // The signature itself is ordinary, and our signer for tests makes the same one.
    let body = r#"{"event_type":"ping","data":{"success":true}}"#;
    let item = webhook_item("whsec_plJ3nmyCDGBKInavdOK15jsl", "msg_loFOjxBNrRLzqYUf", "1731705121", body);
    assert_eq!(item, "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=");
}

#[test]
fn claims_are_what_is_signed_and_nothing_else() {
    let verified = verify(ID, STAMP, &item()).unwrap();
    assert_eq!(verified.key, KeyMatch::Current);
    assert_eq!(verified.claims.jti.as_deref(), Some(ID));
    assert_eq!(verified.claims.iat, Some(NOW));
    assert_eq!((verified.claims.nbf, verified.claims.exp), (NOW - 300, NOW + 301));
    assert_eq!((verified.claims.iss, verified.claims.sub, verified.claims.body), (None, None, None));
}

#[test]
fn any_item_may_match_and_unknown_versions_are_passed_over() {
    let item = item();
    let other = webhook_item(OTHER_SECRET, ID, STAMP, BODY);
    for signature in [
        format!("{other} {item}"),
        format!("{item} {other}"),
        format!("v2,whatever {item}"),
        format!("v1a,{} {item}", base64([0; 64])),
        format!("v1,tooshort {item}"),
        format!("{item}  {other}"),
        format!(" {item}\t"),
    ] {
        assert_eq!(code(ID, STAMP, &signature), "accepted", "{signature}");
    }
}

#[test]
fn items_are_strict_base64_of_32_bytes() {
    let item = item();
    for signature in [
        item.trim_end_matches('=').to_owned(),
        format!("{item}="),
        item.replace("v1,", "v1"),
        item.replace("v1,", "V1,"),
        item.replace("v1,", "v1, "),
        item.replace("v1,", ""),
        format!("v1,{}", base64([0; 31])),
        format!("v1,{}", base64([0; 33])),
        "v1,".to_owned(),
        "garbage".to_owned(),
        format!("{item}\n"),
        format!("{item}ü"),
    ] {
        assert_eq!(code(ID, STAMP, &signature), "signature_malformed", "{signature}");
    }
}

#[test]
fn no_item_that_matches_is_a_mismatch() {
    let other = webhook_item(OTHER_SECRET, ID, STAMP, BODY);
    assert_eq!(code(ID, STAMP, &other), "signature_mismatch");
    assert_eq!(code("msg_other", STAMP, &item()), "signature_mismatch");
    assert_eq!(code(ID, "1700000001", &item()), "signature_mismatch");
    let error =
        receiver().verify_headers(headers(ID, STAMP, &item()), "other".into(), None, NOW).unwrap_err();
    assert_eq!(error.code(), "signature_mismatch");
    assert!(error.to_string().contains("raw body"), "{error}");
}

#[test]
fn a_missing_header_is_named() {
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        let item = item();
        let without = headers(ID, STAMP, &item).into_iter().filter(|(known, _)| *known != name);
        let error = receiver().verify_headers(without, BODY.into(), None, NOW).unwrap_err();
        assert_eq!(error.code(), "signature_missing");
        assert!(error.to_string().contains(name), "{error}");
        let empty =
            headers(ID, STAMP, &item).map(|(known, value)| (known, if known == name { "" } else { value }));
        let error = receiver().verify_headers(empty, BODY.into(), None, NOW).unwrap_err();
        assert_eq!(error.code(), "signature_missing", "{name}");
        assert!(error.to_string().contains(name), "{error}");
        let twice = headers(ID, STAMP, &item).into_iter().chain([(name, "x")]);
        let error = receiver().verify_headers(twice, BODY.into(), None, NOW).unwrap_err();
        assert_eq!(error.code(), "signature_ambiguous", "{name}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_timestamp_is_canonical_digits() {
    for timestamp in [
        "01700000000",
        "+1700000000",
        "1700000000.0",
        "1.7e9",
        "0x6553f100",
        "1700000000s",
        "-1",
        "١٧٠٠٠٠٠٠٠٠",
        "1700000000 1",
        "253402300800",
        "99999999999999999999999",
        "2023-11-14T22:13:20Z",
    ] {
        let signature = webhook_item(WEBHOOK_SECRET, ID, timestamp, BODY);
        assert_eq!(code(ID, timestamp, &signature), "signature_malformed", "{timestamp}");
    }
    // Canonical, and merely old.
    assert_eq!(code(ID, "0", &webhook_item(WEBHOOK_SECRET, ID, "0", BODY)), "expired");
}

#[test]
fn an_id_with_a_full_stop_could_belong_to_another_body() {
    // One signed text, two readings: the attacker moves digits of the body into the timestamp.
    let body = "1700000000.{}";
    let signature = webhook_item(WEBHOOK_SECRET, "msg_1", "1699999999", body);
    let moved = headers("msg_1.1699999999", "1700000000", &signature);
    let error = receiver().verify_headers(moved, "{}".into(), None, NOW).unwrap_err();
    assert_eq!(error.code(), "signature_malformed");
    assert!(
        receiver().verify_headers(headers("msg_1", "1699999999", &signature), body.into(), None, NOW).is_ok()
    );
    for id in ["a b", "ä", "a\0"] {
        assert_eq!(
            code(id, STAMP, &webhook_item(WEBHOOK_SECRET, id, STAMP, BODY)),
            "signature_malformed",
            "{id:?}"
        );
    }
}

#[test]
fn freshness_is_300_seconds_both_ways_and_the_tolerance_adds_to_it() {
    let item = item();
    let at = |moment: Moment| {
        let result = receiver().verify_headers(headers(ID, STAMP, &item), BODY.into(), None, moment);
        result.map(|_| ()).map_err(|error| match error.kind() {
            ErrorKind::Signature(error) => (error.code().as_str(), error.seconds()),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(at(Moment::at(NOW + 300)), Ok(()));
    assert_eq!(at(Moment::at(NOW + 301)), Err(("expired", Some(0))));
    assert_eq!(at(Moment::at(NOW + 311)), Err(("expired", Some(10))));
    assert_eq!(at(Moment::at(NOW - 300)), Ok(()));
    assert_eq!(at(Moment::at(NOW - 301)), Err(("not_yet_valid", Some(1))));
    assert_eq!(at(Moment::at(NOW + 600).with_tolerance(Some(300))), Ok(()));
    assert_eq!(at(Moment::at(NOW + 601).with_tolerance(Some(300))), Err(("expired", Some(0))));
    assert_eq!(at(Moment::at(NOW - 600).with_tolerance(Some(300))), Ok(()));
    assert_eq!(at(Moment::at(NOW - 601).with_tolerance(Some(300))), Err(("not_yet_valid", Some(1))));
}

#[test]
fn raw_bytes_are_hashed() {
    // A verifier that reads bytes as text first sees one and the same U+FFFD in both.
    let (first, second): (&[u8], &[u8]) = (b"\xff", b"\xfe");
    let signature = webhook_item(WEBHOOK_SECRET, ID, STAMP, first);
    let verify =
        |body: &[u8]| receiver().verify_headers(headers(ID, STAMP, &signature), body.into(), None, NOW);
    assert!(verify(first).is_ok());
    assert_eq!(verify(second).unwrap_err().code(), "signature_mismatch");
}

#[test]
fn an_incomplete_svix_set_falls_to_the_webhook_set_whole() {
    let svix = Receiver::of_dialect(Dialect::Svix, WEBHOOK_SECRET, None).unwrap();
    let item = item();
    let own = [("svix-id", ID), ("Svix-Timestamp", STAMP), ("svix-signature", item.as_str())];
    let verify = |headers: &[(&str, &str)]| {
        let result = svix.verify_headers(headers.iter().copied(), BODY.into(), None, NOW);
        result.map(|_| ()).map_err(|error| (error.code(), error.to_string()))
    };
    assert_eq!(verify(&own), Ok(()));
    assert_eq!(verify(&headers(ID, STAMP, &item)), Ok(()));
    // Whole: nothing of the incomplete set is mixed in.
    let mixed = [&[("svix-id", "other"), ("svix-timestamp", STAMP)][..], &headers(ID, STAMP, &item)].concat();
    assert_eq!(verify(&mixed), Ok(()));
    // A complete svix set is the one that counts.
    let both = [&own[..], &headers("other", STAMP, "v1,x")].concat();
    assert_eq!(verify(&both), Ok(()));
    let (code, message) = verify(&own[..2]).unwrap_err();
    assert_eq!(code, "signature_missing");
    assert!(message.contains("svix-signature"), "{message}");
    let (code, message) = verify(&[("host", "x")]).unwrap_err();
    assert_eq!(code, "signature_missing");
    assert!(message.contains("svix-id"), "{message}");
    // The other way round there is no falling back.
    let error = receiver().verify_headers(own, BODY.into(), None, NOW).unwrap_err();
    assert_eq!(error.code(), "signature_missing");
    assert!(error.to_string().contains("webhook-id"), "{error}");
    assert!(error.to_string().contains("dialect svix"), "{error}");
}

#[test]
fn either_secret_may_match() {
    let rotated =
        Receiver::of_dialect(Dialect::StandardWebhooks, OTHER_SECRET, Some(WEBHOOK_SECRET.into())).unwrap();
    let verified = rotated.verify_headers(headers(ID, STAMP, &item()), BODY.into(), None, NOW).unwrap();
    assert_eq!(verified.key, KeyMatch::Next);
}

#[test]
fn a_webhook_is_verified_by_its_headers_only_and_binds_no_url() {
    let item = item();
    let delivery = Delivery { signature: (&item).into(), body: BODY.into(), url: None };
    let error = receiver().verify(&delivery, NOW).unwrap_err();
    let ErrorKind::InvalidInput(Some(input)) = error.kind() else { panic!("{error:?}") };
    assert_eq!(input.option(), "signature");
    let error = receiver()
        .verify_headers(headers(ID, STAMP, &item), BODY.into(), Some("https://h/"), NOW)
        .unwrap_err();
    let ErrorKind::InvalidInput(Some(input)) = error.kind() else { panic!("{error:?}") };
    assert_eq!(input.option(), "url");
    assert!(receiver().begin((&item).into(), None, NOW).is_err());
    assert!(receiver().begin_headers(headers(ID, STAMP, &item), None, NOW).is_err());
}

#[test]
fn a_parsed_body_is_not_raw_here_either() {
    let error = receiver().verify_headers(headers(ID, STAMP, &item()), Body::NotRaw("object"), None, NOW);
    assert_eq!(error.unwrap_err().code(), "body_not_raw");
}

#[cfg(feature = "webhook-v1a")]
mod v1a {
    use ed25519_dalek::{Signer, SigningKey};

    use super::*;

    fn signing_key() -> SigningKey {
        SigningKey::from_bytes(b"not a real private key, 32 bytes")
    }

    fn public_key() -> String {
        format!("whpk_{}", base64(signing_key().verifying_key().as_bytes()))
    }

    fn signature(body: &str) -> String {
        let message = format!("{ID}.{STAMP}.{body}");
        format!("v1a,{}", base64(signing_key().sign(message.as_bytes()).to_bytes()))
    }

    #[test]
    fn a_public_key_verifies_v1a_items_and_nothing_else() {
        let receiver = Receiver::of_dialect(Dialect::StandardWebhooks, public_key(), None).unwrap();
        let verify = |signature: &str| {
            let result = receiver.verify_headers(headers(ID, STAMP, signature), BODY.into(), None, NOW);
            result.map(|verified| verified.key).map_err(|error| error.code())
        };
        assert_eq!(verify(&signature(BODY)), Ok(KeyMatch::Current));
        assert_eq!(verify(&format!("v1,{} {}", base64([0; 32]), signature(BODY))), Ok(KeyMatch::Current));
        assert_eq!(verify(&signature("other")), Err("signature_mismatch"));
        assert_eq!(verify(&item()), Err("signature_malformed"));
        assert_eq!(verify(&format!("v1a,{}", base64([0; 63]))), Err("signature_malformed"));
    }

    #[test]
    fn both_kinds_may_stand_beside_each_other() {
        let both = Receiver::of_dialect(Dialect::StandardWebhooks, WEBHOOK_SECRET, Some(public_key().into()))
            .unwrap();
        let key = |signature: &str| {
            both.verify_headers(headers(ID, STAMP, signature), BODY.into(), None, NOW)
                .map(|verified| verified.key)
        };
        assert_eq!(key(&item()).unwrap(), KeyMatch::Current);
        assert_eq!(key(&signature(BODY)).unwrap(), KeyMatch::Next);
    }

    #[test]
    fn a_platform_may_answer_for_a_public_key() {
        let both = Receiver::of_dialect(Dialect::StandardWebhooks, WEBHOOK_SECRET, Some(public_key().into()))
            .unwrap();
        let begin = |signature: &str, at: i64| {
            both.begin_webhook(headers(ID, STAMP, signature), BODY.into(), None, at)
                .map_err(|error| error.code())
        };
        let valid = signature(BODY);
        let pending = begin(&valid, NOW).unwrap();
        assert_eq!(pending.prefix(), format!("{ID}.{STAMP}."));
        assert_eq!(pending.questions().len(), 1);
        assert_eq!(pending.questions()[0].public_key, signing_key().verifying_key().to_bytes());
        assert_eq!(format!("v1a,{}", base64(pending.questions()[0].signature)), valid);
        let finish = |signature: &str, answers: &[bool], at: i64| {
            let finished = begin(signature, at)?.finish(answers);
            finished.map(|verified| verified.key).map_err(|error| error.code().as_str())
        };
        assert_eq!(finish(&valid, &[true], NOW), Ok(KeyMatch::Next));
        assert_eq!(finish(&valid, &[false], NOW), Err("signature_mismatch"));
        assert_eq!(finish(&valid, &[], NOW), Err("signature_mismatch"));
        assert_eq!(finish(&valid, &[true], NOW + 301), Err("expired"));
        // The secret's own signature needs no answer, and comes first.
        let both_items = format!("{valid} {}", item());
        assert_eq!(finish(&both_items, &[false], NOW), Ok(KeyMatch::Current));
        assert_eq!(finish(&both_items, &[true], NOW), Ok(KeyMatch::Current));
        assert_eq!(finish("v1a,x", &[true], NOW), Err("signature_malformed"));
    }

    #[test]
    fn what_no_platform_must_be_asked_is_a_no() {
        let receiver = Receiver::of_dialect(Dialect::StandardWebhooks, public_key(), None).unwrap();
        let mut weak = [0; 64];
        weak[0] = 1;
        let unaskable = format!("v1a,{} v1a,{}", base64([0xff; 64]), base64(weak));
        let pending = receiver.begin_webhook(headers(ID, STAMP, &unaskable), BODY.into(), None, NOW).unwrap();
        assert_eq!(pending.questions(), []);
        assert_eq!(pending.finish(&[true, true]).unwrap_err().code().as_str(), "signature_mismatch");
    }

    #[test]
    fn a_platform_is_asked_in_the_webhook_dialects_only() {
        let receiver = Receiver::new(signing::KEY, None).unwrap();
        let error = receiver.begin_webhook(headers(ID, STAMP, "v1a,x"), BODY.into(), None, NOW).unwrap_err();
        let ErrorKind::InvalidInput(Some(input)) = error.kind() else { panic!("{error:?}") };
        assert_eq!(input.option(), "headers");
    }

    #[test]
    fn a_public_key_is_32_bytes_and_no_point_of_small_order() {
        let refused = |bytes: &[u8]| {
            let key = format!("whpk_{}", base64(bytes));
            Receiver::of_dialect(Dialect::StandardWebhooks, key, None).unwrap_err().to_string()
        };
        assert!(refused(&[7; 31]).contains("32 bytes"));
        assert!(refused(&[]).contains("nothing"));
        let mut neutral = [0; 32];
        neutral[0] = 1;
        assert!(refused(&neutral).contains("not a usable"));
        // No point of the curve; the second spelling of one that is.
        let mut two = [0; 32];
        two[0] = 2;
        assert!(refused(&two).contains("not a usable"));
        let mut again = [0xff; 32];
        (again[0], again[31]) = (0xf0, 0x7f);
        assert!(refused(&again).contains("not a usable"));
    }
}
