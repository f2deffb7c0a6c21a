//! Project Wycheproof's vectors (`vectors/wycheproof` in the repository), against the parts that a public
//! face cannot reach: its keys are raw bytes and its payloads are no claims.

use serde_json::Value;
use subtle::ConstantTimeEq;

use super::base64::{self, Alphabet};
use super::compact::authenticate;
use super::error::SignatureError;
use super::key::{Keys, MacKey, parse_text_key};
use crate::contract::{KeyMatch, SignatureErrorCode};

fn vectors(file: &str) -> Value {
    let path = format!("{}/../vectors/wycheproof/{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn array<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().unwrap()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap()
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn symmetric_key(jwk: &Value) -> MacKey {
    MacKey::new(&base64::decode(Alphabet::Url, text(jwk, "k").as_bytes()).unwrap())
}

/// `Ok(true)`: accepted, up to what the payload's text says; `Ok(false)`: no key matches, or it is not base64url.
fn check(jws: &str, key: MacKey) -> Result<bool, SignatureError> {
    let (payload, key) = authenticate(jws.as_bytes(), &Keys::of(key, None))?;
    Ok(key == Some(KeyMatch::Current) && base64::decode(Alphabet::Url, payload).is_some())
}

#[test]
fn hmac_sha256_full_length_verifies_and_truncated_does_not() {
    let (mut full, mut truncated) = (0, 0);
    for group in array(&vectors("hmac_sha256_test.json"), "testGroups") {
        for case in array(group, "tests") {
            let key = MacKey::new(&hex(text(case, "key")));
            let mac = key.mac(&[&hex(text(case, "msg"))]);
            let tag = hex(text(case, "tag"));
            // Slices of different length are unequal: a prefix of the MAC is no MAC.
            let equal = bool::from(mac.as_slice().ct_eq(&tag));
            let is_valid = text(case, "result") == "valid";
            if group["tagSize"] == 256 {
                full += 1;
                assert_eq!(equal, is_valid, "tcId {}", case["tcId"]);
            } else {
                truncated += 1;
                assert!(!equal, "tcId {}", case["tcId"]);
                let encoded = base64url(&tag);
                assert_eq!(base64::decode_array::<32>(Alphabet::Url, encoded.as_bytes()), None);
            }
        }
    }
    assert_eq!((full, truncated), (87, 87));
}

#[test]
fn jws_with_symmetric_keys() {
    let vectors = vectors("json_web_signature_test.json");
    let mut cases = 0;
    for group in [0, 12, 16, 21].map(|at| &array(&vectors, "testGroups")[at]) {
        for case in array(group, "tests") {
            cases += 1;
            let id = case["tcId"].as_u64().unwrap();
            let accepted = check(text(case, "jws"), symmetric_key(&group["private"])) == Ok(true);
            let expected = match id {
                // Marked valid although a `?`, which is no base64url, stands in a segment.
                372 | 373 => false,
                // Marked invalid, but byte for byte the token of 357, which is valid.
                367 | 370 => {
                    assert_eq!(case["jws"], array(group, "tests")[0]["jws"]);
                    continue;
                }
                // The three cases of RFC 7520 carry no result: they are the RFC's valid examples.
                _ => case.get("result").is_none_or(|result| result == "valid"),
            };
            assert_eq!(accepted, expected, "tcId {id}: {}", text(case, "comment"));
        }
    }
    assert_eq!(cases, 40);
}

#[test]
fn jws_of_every_other_algorithm_fails_by_its_algorithm() {
    let vectors = vectors("json_web_signature_test.json");
    let mut by_algorithm = 0;
    for (at, group) in array(&vectors, "testGroups").iter().enumerate() {
        if [0, 12, 16, 21].contains(&at) {
            continue;
        }
        for case in array(group, "tests") {
            let jws = text(case, "jws");
            // The public key as an attacker would give it to a verifier that confuses the two kinds.
            let key = MacKey::new(group.get("public").map_or(String::new(), Value::to_string).as_bytes());
            let error = match check(jws, key) {
                Err(error) => error.code(),
                Ok(accepted) => {
                    assert!(!accepted, "tcId {}", case["tcId"]);
                    SignatureErrorCode::SignatureMismatch
                }
            };
            let header = jws.split('.').next().unwrap();
            let algorithm = base64::decode(Alphabet::Url, header.as_bytes())
                .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
                .and_then(|header| header.get("alg")?.as_str().map(str::to_owned));
            match algorithm.as_deref() {
                // Confusion attacks name our algorithm: there the key is what they get wrong.
                Some("HS256") => assert_ne!(error, SignatureErrorCode::AlgorithmNotAllowed, "{jws}"),
                Some(_) if jws.matches('.').count() == 2 => {
                    by_algorithm += 1;
                    assert_eq!(error, SignatureErrorCode::AlgorithmNotAllowed, "tcId {}", case["tcId"]);
                }
                // Damaged beyond an algorithm.
                _ => assert_eq!(error, SignatureErrorCode::SignatureMalformed, "tcId {}", case["tcId"]),
            }
        }
    }
    assert!(by_algorithm > 300, "only {by_algorithm} cases reached the algorithm");
}

#[test]
fn jwk_short_and_empty_keys_are_refused_and_long_ones_work() {
    let vectors = vectors("json_web_key_test.json");
    let case = |id: u64| {
        let found = array(&vectors, "testGroups").iter().find_map(|group| {
            let case = array(group, "tests").iter().find(|case| case["tcId"] == id)?;
            Some((text(case, "jws").to_owned(), group["private"]["keys"][0].clone()))
        });
        found.unwrap()
    };

    let (jws, jwk) = case(13);
    assert_eq!(text(&jwk, "kid"), "long_hs256_key");
    assert_eq!(check(&jws, symmetric_key(&jwk)), Ok(true));

    // The MAC is right; what is refused is a receiver with such a key.
    for (id, length) in [(10, 31), (16, 0)] {
        let (jws, jwk) = case(id);
        assert_eq!(check(&jws, symmetric_key(&jwk)), Ok(true), "tcId {id}");
        let argument = "current_signing_key";
        let refused = parse_text_key(&"k".repeat(length), argument).err().unwrap();
        assert_eq!(refused.option(), argument, "tcId {id}");
    }
}

#[test]
fn rfc_7515_a_1_verifies() {
    // The key is of 64 raw bytes, the payload of other claims: only the signature is of interest here.
    let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    let jws = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6\
               Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let key = MacKey::new(&base64::decode(Alphabet::Url, key.as_bytes()).unwrap());
    assert_eq!(check(jws, key.clone()), Ok(true));
    assert_eq!(check(&jws.replace("dBjf", "dBjg"), key), Ok(false));
}

fn base64url(bytes: &[u8]) -> String {
    use ::base64::Engine as _;
    ::base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}
