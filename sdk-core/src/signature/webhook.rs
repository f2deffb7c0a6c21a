//! The webhook dialects: Standard Webhooks, and the same under Svix's header names.
//!
//! The signature is of `id.timestamp.body`: it binds the body but no URL, and it is fresh for five minutes
//! around the timestamp.

use subtle::{Choice, ConstantTimeEq};

use super::base64::{self, Alphabet};
use super::claims::{Claims, whole_number};
use super::delivery::CheckedMoment;
use super::error::{ADVICE_ON_WEBHOOK_MISMATCH, SignatureError, advice_on_shape};
use super::headers::WebhookSet;
use super::key::{Keys, MacKey, check_text};
use super::receiver::Verified;
use crate::contract::limits::{MAX_TOKEN_BYTES, WEBHOOK_KEY_BYTES};
use crate::input::InvalidInput;

const SECRET_PREFIX: &str = "whsec_";
const PUBLIC_KEY_PREFIX: &str = "whpk_";
const PRIVATE_KEY_PREFIX: &str = "whsk_";

/// A key of the webhook dialects.
#[derive(Clone)]
pub(super) enum WebhookKey {
    /// `whsec_`: verifies `v1` signatures.
    Secret(MacKey),
    /// `whpk_`: verifies `v1a` signatures.
    #[cfg(feature = "webhook-v1a")]
    Public(ed25519_dalek::VerifyingKey),
}

/// The rules for a key of the webhook dialects: a prefix that says its kind, then strict base64.
pub(super) fn parse_key(text: &str, argument: &'static str) -> Result<WebhookKey, InvalidInput> {
    check_text(text, argument)?;
    let refuse = |fault: &str| InvalidInput::new(argument, format!("{argument} {fault}"));
    if let Some(encoded) = text.strip_prefix(SECRET_PREFIX) {
        let bytes = decode_key(encoded).map_err(refuse)?;
        if !WEBHOOK_KEY_BYTES.contains(&bytes.len()) {
            return Err(refuse(&format!(
                "must hold {} to {} bytes after decoding, got {}: pass the whole secret",
                WEBHOOK_KEY_BYTES.start(),
                WEBHOOK_KEY_BYTES.end(),
                bytes.len()
            )));
        }
        return Ok(WebhookKey::Secret(MacKey::new(&bytes)));
    }
    if let Some(encoded) = text.strip_prefix(PUBLIC_KEY_PREFIX) {
        return parse_public_key(encoded).map_err(refuse);
    }
    Err(refuse(if text.starts_with("v1,") || text.starts_with("v1a,") {
        "begins with a version: leave it out; a secret begins with whsec_"
    } else if text.starts_with(PRIVATE_KEY_PREFIX) {
        "is a private signing key (whsk_): a receiver needs the public one, which begins with whpk_"
    } else if text.starts_with(crate::contract::claims::SIGNING_KEY_PREFIX) {
        "is a signing key of the dialects chronq and qstash (sig_): give one of them as the dialect"
    } else {
        "must begin with whsec_ (or whpk_ for a public key): pass the secret as the sender shows it, prefix and all"
    }))
}

fn decode_key(encoded: &str) -> Result<Vec<u8>, &'static str> {
    match base64::decode(Alphabet::Standard, encoded.as_bytes()) {
        Some(bytes) if bytes.is_empty() => Err("decodes to nothing: pass the whole secret"),
        Some(bytes) => Ok(bytes),
        None => Err("must be strict base64 after its prefix: copy it again, with the = at its end"),
    }
}

#[cfg(feature = "webhook-v1a")]
fn parse_public_key(encoded: &str) -> Result<WebhookKey, &'static str> {
    let bytes = decode_key(encoded)?;
    let bytes = <[u8; 32]>::try_from(bytes)
        .map_err(|_| "must hold 32 bytes after decoding: an Ed25519 public key")?;
    let key = ed25519_dalek::VerifyingKey::from_bytes(&bytes)
        .ok()
        // A key of small order verifies signatures that nobody made.
        .filter(|key| !key.is_weak())
        .ok_or("is not a usable Ed25519 public key")?;
    Ok(WebhookKey::Public(key))
}

#[cfg(not(feature = "webhook-v1a"))]
fn parse_public_key(_: &str) -> Result<WebhookKey, &'static str> {
    Err("is a public key (whpk_), which this build cannot verify with: it was built without v1a")
}

/// Verifies one webhook in the order of the contract: shapes, then the signature, then its age.
pub(super) fn verify(
    set: &WebhookSet<'_>,
    body: &[u8],
    keys: &Keys<WebhookKey>,
    moment: CheckedMoment,
) -> Result<Verified, SignatureError> {
    let [id, timestamp, signature] = [set.id, set.timestamp, set.signature]
        .map(|(name, value)| value.only(name).map(|value| (name, value)));
    let (id, timestamp, signature) = (id?, timestamp?, signature?);

    let id_text = message_id(id.1).ok_or_else(|| {
        SignatureError::malformed(format_args!(
            "has an id that is not visible ASCII without a full stop: the header {} was edited",
            id.0
        ))
    })?;
    let seconds = whole_number(timestamp.1).ok_or_else(|| {
        SignatureError::malformed(format_args!(
            "has a timestamp that is not unix seconds in plain digits: the header {} was edited",
            timestamp.0
        ))
    })?;
    let items = Items::parse(signature.1);
    if !keys.any(|key| items.has_any_for(key)) {
        return Err(SignatureError::malformed(format_args!(
            "holds no item that a key given to this receiver can verify: the header {} must be v1, and base64 \
             of 32 bytes{}",
            signature.0,
            advice_on_shape(if signature.1.starts_with(b"v1") { b"" } else { signature.1 })
        )));
    }

    let parts: [&[u8]; 5] = [id.1, b".", timestamp.1, b".", body];
    let key = keys
        .matching(|key| items.any_from(key, &parts))
        .ok_or_else(|| SignatureError::mismatch(ADVICE_ON_WEBHOOK_MISMATCH))?;
    let claims = Claims::of_webhook(id_text, seconds);
    moment.check(claims.exp, claims.nbf)?;
    Ok(Verified { claims, key })
}

/// The id is joined with full stops to timestamp and body. With one inside, `a.1` + `2` and `a` + `1.2` would
/// be one signed text, and a signature would verify a body that was never sent.
fn message_id(id: &[u8]) -> Option<&str> {
    let is_plain =
        id.len() <= MAX_TOKEN_BYTES && id.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'.');
    if is_plain { std::str::from_utf8(id).ok() } else { None }
}

/// The items of a signature header that are of a known version and well-formed; others are passed over,
/// as they may be of a version yet to come.
struct Items {
    v1: Vec<[u8; 32]>,
    #[cfg(feature = "webhook-v1a")]
    v1a: Vec<[u8; 64]>,
}

impl Items {
    fn parse(header: &[u8]) -> Self {
        // What is longer than any token holds nothing that is worth the work.
        let header = if header.len() > MAX_TOKEN_BYTES { b"" } else { header };
        let items = || header.split(|byte| *byte == b' ');
        Self {
            v1: items()
                .filter_map(|item| base64::decode_array(Alphabet::Standard, item.strip_prefix(b"v1,")?))
                .collect(),
            #[cfg(feature = "webhook-v1a")]
            v1a: items()
                .filter_map(|item| base64::decode_array(Alphabet::Standard, item.strip_prefix(b"v1a,")?))
                .collect(),
        }
    }

    fn has_any_for(&self, key: &WebhookKey) -> bool {
        match key {
            WebhookKey::Secret(_) => !self.v1.is_empty(),
            #[cfg(feature = "webhook-v1a")]
            WebhookKey::Public(_) => !self.v1a.is_empty(),
        }
    }

    fn any_from(&self, key: &WebhookKey, parts: &[&[u8]]) -> Choice {
        match key {
            WebhookKey::Secret(key) => {
                let mac = key.mac(parts);
                self.v1.iter().fold(Choice::from(0), |any, item| any | mac.ct_eq(item))
            }
            #[cfg(feature = "webhook-v1a")]
            WebhookKey::Public(key) => {
                let message = parts.concat();
                // Public keys hold no secret: time may tell here.
                let any = self.v1a.iter().any(|item| {
                    key.verify_strict(&message, &ed25519_dalek::Signature::from_bytes(item)).is_ok()
                });
                Choice::from(u8::from(any))
            }
        }
    }
}
