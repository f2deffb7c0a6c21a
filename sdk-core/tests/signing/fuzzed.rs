//! What the fuzzers run, and what the tests run again over the kept corpus: whatever the bytes, a verification
//! ends in an answer or in one of the two kinds of error, and what is accepted is what was signed.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a finding is a panic")]

use std::sync::LazyLock;

use chronq::contract::{Dialect, SignatureErrorCode};
use chronq::signature::{Delivery, Moment, Receiver, Verified};
use chronq::{Error, ErrorKind};

use super::signing::{BODY, Claims, HEADER, KEY, NOW, OTHER_KEY, URL, WEBHOOK_SECRET, sign, webhook_item};

/// With a public key whose private key nobody has: 3 is the y of a point of the curve.
static PUBLIC: LazyLock<Receiver> = LazyLock::new(|| {
    let key = "whpk_AwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    Receiver::of_dialect(Dialect::StandardWebhooks, key, None).unwrap()
});

type Target = fn(&[u8]);

/// Every target by its name, which is that of its corpus too.
pub(crate) const TARGETS: [(&str, Target); 5] = [
    ("token", token),
    ("claims", claims),
    ("jose_header", jose_header),
    ("webhook", webhook),
    ("receiver", receiver),
];

/// Holds an outcome to what every one of them is; `given` is what the caller handed in, which an error may quote: a
/// fuzzer finds the key by its comparisons and hands it in as a URL.
fn check(given: &[u8], result: Result<Verified, Error>) -> Option<Verified> {
    match result {
        Ok(verified) => Some(verified),
        Err(error) => {
            let is_known = matches!(error.kind(), ErrorKind::Signature(_) | ErrorKind::InvalidInput(Some(_)));
            assert!(is_known, "{error:?}");
            let names_the_key = given.windows(KEY.len()).any(|window| window == KEY.as_bytes());
            assert!(names_the_key || !error.to_string().contains(KEY), "the key is in an error");
            None
        }
    }
}

/// Any bytes as the signature. Without the key nothing but the one token is accepted.
pub(crate) fn token(data: &[u8]) {
    let valid = Claims::new().token();
    let receiver = Receiver::new(OTHER_KEY, Some(KEY.into())).unwrap();
    let delivery = Delivery { signature: data.into(), body: BODY.into(), url: Some(URL) };
    if check(data, receiver.verify(&delivery, NOW)).is_some() {
        let trimmed = std::str::from_utf8(data).unwrap().trim_matches([' ', '\t']);
        assert_eq!(trimmed, valid, "a forged token was accepted");
    }
}

/// Any bytes as the payload of a token that is signed: the readers behind the signature. What they accept,
/// another JSON parser reads alike.
pub(crate) fn claims(data: &[u8]) {
    let token = sign(HEADER, data, KEY);
    for dialect in [Dialect::Chronq, Dialect::Qstash] {
        let receiver = Receiver::of_dialect(dialect, KEY, None).unwrap();
        let delivery = Delivery { signature: (&token).into(), body: BODY.into(), url: None };
        let Some(verified) = check(data, receiver.verify(&delivery, NOW)) else { continue };
        let read: serde_json::Value = serde_json::from_slice(data).expect("accepted, but not JSON");
        assert_eq!(read["iss"].as_str(), verified.claims.iss);
        assert_eq!(read["sub"].as_str(), verified.claims.sub.as_deref());
        assert_eq!(read["jti"].as_str(), verified.claims.jti.as_deref());
        if dialect == Dialect::Chronq {
            assert_eq!(read["exp"].as_i64(), Some(verified.claims.exp));
            assert_eq!(read["nbf"].as_i64(), Some(verified.claims.nbf));
            assert_eq!(read["iat"].as_i64(), verified.claims.iat);
        }
    }
}

/// Any text as the header of a token that is signed.
pub(crate) fn jose_header(data: &[u8]) {
    let Ok(header) = std::str::from_utf8(data) else { return };
    let token = sign(header, Claims::new().json(), KEY);
    let receiver = Receiver::new(KEY, None).unwrap();
    let delivery = Delivery { signature: (&token).into(), body: BODY.into(), url: Some(URL) };
    if check(data, receiver.verify(&delivery, NOW)).is_some() {
        let read: serde_json::Value = serde_json::from_str(header).expect("accepted, but not JSON");
        assert_eq!(read["alg"], "HS256");
        assert!(read.get("crit").is_none());
    }
}

/// Three headers and a body, divided by zero bytes; then the same id, timestamp and body, signed.
pub(crate) fn webhook(data: &[u8]) {
    let mut parts = data.splitn(4, |byte| *byte == 0);
    let [id, timestamp, signature, body] = [(); 4].map(|()| parts.next().unwrap_or(b""));
    for dialect in [Dialect::StandardWebhooks, Dialect::Svix] {
        let receiver = Receiver::of_dialect(dialect, WEBHOOK_SECRET, None).unwrap();
        let verify = |signature: &[u8]| {
            let headers =
                [("webhook-id", id), ("webhook-timestamp", timestamp), ("webhook-signature", signature)];
            check(data, receiver.verify_headers(headers, body.into(), None, NOW))
        };
        let forged = verify(signature);
        if let (Ok(id), Ok(timestamp)) = (std::str::from_utf8(id), std::str::from_utf8(timestamp)) {
            // HTTP's white space around a header's value belongs to no webhook.
            let [id, timestamp] = [id, timestamp].map(|value| value.trim_matches([' ', '\t']));
            let item = webhook_item(WEBHOOK_SECRET, id, timestamp, body);
            if forged.is_some() {
                assert!(String::from_utf8_lossy(signature).contains(&item), "a forged webhook was accepted");
            }
            if let Some(verified) = verify(item.as_bytes()) {
                assert_eq!(verified.claims.jti.as_deref(), Some(id));
            }
        }
    }
    // What a platform would be asked about; without an answer it is a no.
    let headers = [("webhook-id", id), ("webhook-timestamp", timestamp), ("webhook-signature", signature)];
    match PUBLIC.begin_webhook(headers, body.into(), None, NOW) {
        Ok(pending) => assert!(pending.finish(&[]).is_err(), "accepted without an answer"),
        Err(error) => assert!(check(data, Err(error)).is_none()),
    }
}

/// Key, URL, time and tolerance as somebody's configuration might hold them.
pub(crate) fn receiver(data: &[u8]) {
    let (numbers, text) = data.split_at(data.len().min(16));
    let number = |at: usize| {
        let bytes: Option<[u8; 8]> = numbers.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(NOW, i64::from_le_bytes)
    };
    let text = String::from_utf8_lossy(text);
    for dialect in Dialect::ALL {
        if let Err(error) = Receiver::of_dialect(*dialect, text.as_ref(), Some(text.as_ref().into())) {
            assert_eq!(error.option(), "current_signing_key");
        }
    }
    let receiver = Receiver::new(KEY, None).unwrap();
    let token = Claims::new().token();
    let delivery = Delivery { signature: (&token).into(), body: BODY.into(), url: Some(&text) };
    let moment = Moment::at(number(0)).with_tolerance(Some(number(8)));
    check(data, receiver.verify(&delivery, moment));
    if let Err(error) = receiver.verify(&delivery, NOW) {
        let ErrorKind::Signature(error) = error.kind() else { panic!("{error:?}") };
        assert_eq!(error.code(), SignatureErrorCode::UrlMismatch);
        assert!(error.difference().is_some());
    } else {
        assert_eq!(text, URL);
    }
}
