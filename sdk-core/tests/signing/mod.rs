//! A signer for tests, written apart from the verifier: it can also make what no signer should.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test binary uses its part")]

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

pub(crate) const KEY: &str = "sig_not-a-real-key-0000000000000000000000000000";
pub(crate) const OTHER_KEY: &str = "sig_not-a-real-key-1111111111111111111111111111";
pub(crate) const URL: &str = "https://example.com/hook";
pub(crate) const BODY: &str = r#"{"orderId":42}"#;
/// `iat` of every token here.
pub(crate) const NOW: i64 = 1_700_000_000;
pub(crate) const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
/// A webhook secret of 24 bytes.
pub(crate) const WEBHOOK_SECRET: &str = "whsec_bm90LWEtcmVhbC1zZWNyZXQtMDAwMDAw";

pub(crate) fn base64url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

pub(crate) fn from_base64url(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap()
}

pub(crate) fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// The `body` claim of a body.
pub(crate) fn body_hash(body: impl AsRef<[u8]>) -> String {
    base64url(Sha256::digest(body))
}

/// A token of header and payload as they are given, signed.
pub(crate) fn sign(header: &str, payload: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> String {
    sign_segments(&base64url(header), &base64url(payload), key)
}

/// A token of two encoded parts, signed.
pub(crate) fn sign_segments(header: &str, payload: &str, key: impl AsRef<[u8]>) -> String {
    let signed = format!("{header}.{payload}");
    let mac = hmac_sha256(key.as_ref(), signed.as_bytes());
    format!("{signed}.{}", base64url(mac))
}

/// Claims as JSON texts, in the order of the contract's table.
#[derive(Clone)]
pub(crate) struct Claims(Vec<(String, String)>);

impl Claims {
    /// Of a delivery of `BODY` to `URL` at `NOW`.
    pub(crate) fn new() -> Self {
        Self::of_body(BODY)
    }

    pub(crate) fn of_body(body: impl AsRef<[u8]>) -> Self {
        let claims = [
            ("iss", r#""chronq""#.to_owned()),
            ("sub", format!("\"{URL}\"")),
            ("iat", NOW.to_string()),
            ("nbf", (NOW - 5).to_string()),
            ("exp", (NOW + 300).to_string()),
            ("jti", r#""jwt_018bcfe5-6800-7000-8000-000000000000""#.to_owned()),
            ("body", format!("\"{}\"", body_hash(body))),
        ];
        Self(claims.map(|(name, json)| (name.to_owned(), json)).to_vec())
    }

    /// As QStash signs.
    pub(crate) fn qstash() -> Self {
        Self::new().with("iss", r#""Upstash""#)
    }

    /// Replaces or adds a claim; the value is JSON.
    pub(crate) fn with(mut self, name: &str, json: impl std::fmt::Display) -> Self {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some(claim) => claim.1 = json.to_string(),
            None => self.0.push((name.to_owned(), json.to_string())),
        }
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn json(&self) -> String {
        let members = self.0.iter().map(|(name, json)| format!("\"{name}\":{json}")).collect::<Vec<_>>();
        format!("{{{}}}", members.join(","))
    }

    pub(crate) fn token(&self) -> String {
        sign(HEADER, self.json(), KEY)
    }
}

/// A webhook signature item of version 1.
pub(crate) fn webhook_item(secret: &str, id: &str, timestamp: &str, body: impl AsRef<[u8]>) -> String {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let message = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body.as_ref()].concat();
    format!("v1,{}", base64(hmac_sha256(&key, &message)))
}
