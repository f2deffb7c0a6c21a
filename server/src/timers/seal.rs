//! Encryption at rest: payloads sealed with AES-256-GCM under the server's data key.
//!
//! An envelope is `1, length of the key's id, id, nonce (12), ciphertext and tag`. Tenant and queue
//! are authenticated with it, so that an envelope moved to another queue does not open there.

use aes_gcm::aead::{Aead, Generate, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use base64::Engine;
use chronq::Secret;

/// The data keys: the first seals, all open.
#[derive(Clone, Default)]
pub struct DataKeys(Vec<(String, Aes256Gcm)>);

const VERSION: u8 = 1;
const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 12;

impl DataKeys {
    /// Reads `ID:BASE64[,ID:BASE64…]`.
    ///
    /// # Errors
    /// What is wrong with it; never the key itself.
    pub fn parse(text: &Secret) -> Result<Self, String> {
        let mut keys: Vec<(String, Aes256Gcm)> = Vec::new();
        for (place, part) in text.expose().split(',').enumerate() {
            let broken = |what: &str| format!("CHRONQ_DATA_KEY: key {} {what}", place + 1);
            let (id, encoded) = part.trim().split_once(':').ok_or_else(|| broken("must be ID:BASE64"))?;
            if id.is_empty() || id.len() > usize::from(u8::MAX) {
                return Err(broken("must have an id of 1 to 255 bytes"));
            }
            let key = base64::engine::general_purpose::STANDARD
                .decode(encoded)
                .map_err(|_| broken("must be standard base64 after the colon"))?;
            let cipher = Aes256Gcm::new_from_slice(&key)
                .map_err(|_| broken(&format!("must be {KEY_BYTES} bytes, got {}", key.len())))?;
            if keys.iter().any(|(known, _)| known == id) {
                return Err(broken("has an id that stands twice"));
            }
            keys.push((id.to_owned(), cipher));
        }
        Ok(Self(keys))
    }

    /// Whether anything can be sealed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Seals a payload of a queue; `None` without a key.
    pub fn seal(&self, tenant: &str, queue: &str, payload: &[u8]) -> Option<Vec<u8>> {
        let (id, cipher) = self.0.first()?;
        let nonce = Nonce::generate();
        let context = context(tenant, queue);
        let sealed = cipher.encrypt(&nonce, Payload { msg: payload, aad: &context }).ok()?;
        let mut envelope = vec![VERSION, u8::try_from(id.len()).ok()?];
        envelope.extend_from_slice(id.as_bytes());
        envelope.extend_from_slice(&nonce);
        envelope.extend_from_slice(&sealed);
        Some(envelope)
    }

    /// Opens an envelope; `None` where its key is gone or it was tampered with.
    pub fn open(&self, tenant: &str, queue: &str, envelope: &[u8]) -> Option<Vec<u8>> {
        let [VERSION, id_length, rest @ ..] = envelope else { return None };
        let (id, rest) = rest.split_at_checked(usize::from(*id_length))?;
        let (nonce, sealed) = rest.split_at_checked(NONCE_BYTES)?;
        let (_, cipher) = self.0.iter().find(|(known, _)| known.as_bytes() == id)?;
        let nonce = Nonce::try_from(nonce).ok()?;
        let context = context(tenant, queue);
        cipher.decrypt(&nonce, Payload { msg: sealed, aad: &context }).ok()
    }
}

impl std::fmt::Debug for DataKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(id, _)| id)).finish()
    }
}

/// No name holds a NUL, so no two pairs have one context.
fn context(tenant: &str, queue: &str) -> Vec<u8> {
    [tenant.as_bytes(), b"\0", queue.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "2025:b2xkIG9sZCBvbGQgb2xkIG9sZCBvbGQgb2xkIG9sZCE=";
    const NEW: &str = "2026:bmV3IG5ldyBuZXcgbmV3IG5ldyBuZXcgbmV3IG5ldyE=";

    fn keys(text: &str) -> DataKeys {
        DataKeys::parse(&Secret::from(text)).expect("legal")
    }

    #[test]
    fn the_first_key_seals_and_all_open() {
        let sealed = keys(OLD).seal("default", "q", b"secret").expect("sealed");
        assert!(!sealed.windows(6).any(|window| window == b"secret"));
        let rotated = keys(&format!("{NEW},{OLD}"));
        assert_eq!(rotated.open("default", "q", &sealed).as_deref(), Some(&b"secret"[..]));
        assert_eq!(&rotated.seal("default", "q", b"x").expect("sealed")[2..6], b"2026");
        assert_eq!(keys(NEW).open("default", "q", &sealed), None, "the old key is gone");
    }

    #[test]
    fn an_envelope_opens_in_its_own_queue_only() {
        let sealed = keys(OLD).seal("default", "q", b"secret").expect("sealed");
        for (tenant, queue) in [("other", "q"), ("default", "r")] {
            assert_eq!(keys(OLD).open(tenant, queue, &sealed), None);
        }
        let mut tampered = sealed;
        *tampered.last_mut().expect("bytes") ^= 1;
        assert_eq!(keys(OLD).open("default", "q", &tampered), None);
        assert_eq!(keys(OLD).open("default", "q", &[1, 4, b'2']), None);
    }

    #[test]
    fn a_bad_key_is_named_by_its_place_and_never_shown() {
        for (text, said) in [
            ("nocolon", "CHRONQ_DATA_KEY: key 1 must be ID:BASE64"),
            ("a:c2hvcnQ=", "CHRONQ_DATA_KEY: key 1 must be 32 bytes, got 5"),
            ("a:***", "CHRONQ_DATA_KEY: key 1 must be standard base64 after the colon"),
        ] {
            assert_eq!(DataKeys::parse(&Secret::from(text)).expect_err(text), said);
        }
        let twice = format!("{OLD},{OLD}");
        assert!(DataKeys::parse(&Secret::from(twice)).expect_err("twice").ends_with("stands twice"));
        assert_eq!(format!("{:?}", keys(OLD)), "[\"2025\"]");
    }
}
