//! Against `jsonwebtoken`, an independent implementation: whatever we accept, it accepts too, and what it
//! signs, we verify. (PyJWT and jose are asked by conformance/differential.)

mod signing;

use std::sync::Once;

use chronq::signature::{Delivery, Receiver};
use hmac::{Hmac, KeyInit, Mac};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::signature::{Error as SignatureError, Signer, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde_json::{Value, json};
use sha2::Sha256;
use signing::{BODY, Claims, HEADER, KEY, URL, body_hash, sign};

/// The one algorithm of the contract, so that no backend with RSA and curves is needed.
struct Hs256(Vec<u8>);

impl Hs256 {
    fn mac(&self, message: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::new_from_slice(&self.0).unwrap();
        mac.update(message);
        mac
    }
}

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, SignatureError> {
        Ok(self.mac(message).finalize().into_bytes().to_vec())
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), SignatureError> {
        self.mac(message).verify_slice(signature).map_err(|_| SignatureError::new())
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| match algorithm {
        Algorithm::HS256 => Ok(Box::new(Hs256(key.as_bytes().to_vec()))),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    },
    verifier_factory: |algorithm, key| match algorithm {
        Algorithm::HS256 => Ok(Box::new(Hs256(key.try_get_as_bytes()?.to_vec()))),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    },
    key_utils: KeyUtils::new_unimplemented(),
};

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| PROVIDER.install_default().unwrap());
}

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
    install();
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
    install();
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
