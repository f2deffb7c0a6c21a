//! The webhook dialects: Standard Webhooks, and the same under Svix's header names.
//!
//! The signature is of `id.timestamp.body`: it binds the body but no URL, and it is fresh for five minutes
//! around the timestamp.

use subtle::{Choice, ConstantTimeEq};

use super::base64::{self, Alphabet};
use super::claims::{Claims, whole_number};
use super::delivery::CheckedMoment;
use super::ed25519;
use super::error::{ADVICE_ON_WEBHOOK_MISMATCH, SignatureError, advice_on_shape};
use super::headers::WebhookSet;
use super::key::{Keys, MacKey, check_text};
use super::receiver::Verified;
use crate::contract::KeyMatch;
use crate::contract::limits::{MAX_TOKEN_BYTES, WEBHOOK_KEY_BYTES};
use crate::input::InvalidInput;

const SECRET_PREFIX: &str = "whsec_";
const PUBLIC_KEY_PREFIX: &str = "whpk_";
const PRIVATE_KEY_PREFIX: &str = "whsk_";

/// A key of the webhook dialects.
#[derive(Clone)]
pub(super) enum WebhookKey {
    /// `whsec_`: verifies `v1` signatures. Boxed, because moving it about by value is 10 KB of code at the edge.
    Secret(Box<MacKey>),
    /// `whpk_`: verifies `v1a` signatures.
    Public([u8; 32]),
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
        return Ok(WebhookKey::Secret(Box::new(MacKey::new(&bytes))));
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

fn parse_public_key(encoded: &str) -> Result<WebhookKey, &'static str> {
    let bytes = decode_key(encoded)?;
    let bytes = <[u8; 32]>::try_from(bytes)
        .map_err(|_| "must hold 32 bytes after decoding: an Ed25519 public key")?;
    if !ed25519::is_public_key(&bytes) {
        return Err("is not a usable Ed25519 public key");
    }
    Ok(WebhookKey::Public(bytes))
}

/// The refusal of a verification that would need Ed25519, where it is not built in.
#[cfg(not(feature = "webhook-v1a"))]
pub(super) fn check_verifiable_here(keys: &Keys<WebhookKey>) -> Result<(), InvalidInput> {
    let public = keys.each().find(|(_, key)| matches!(key, WebhookKey::Public(_)));
    let argument = match public {
        None => return Ok(()),
        Some((KeyMatch::Current, _)) => super::key::CURRENT_SIGNING_KEY,
        Some((KeyMatch::Next, _)) => super::key::NEXT_SIGNING_KEY,
    };
    Err(InvalidInput::new(
        argument,
        format!(
            "{argument} is a public key (whpk_), which cannot be verified with at once here: use verifyHeaders or \
             verifyRequest, which ask the platform (in Rust: the feature webhook-v1a)"
        ),
    ))
}

#[cfg(feature = "webhook-v1a")]
#[expect(clippy::unnecessary_wraps, reason = "without the feature some keys are refused")]
pub(super) fn check_verifiable_here(_: &Keys<WebhookKey>) -> Result<(), InvalidInput> {
    Ok(())
}

/// Judges one webhook in the order of the contract, as far as it goes without Ed25519: shapes, then the
/// signatures of secrets.
pub(super) fn begin(
    set: &WebhookSet<'_>,
    body: &[u8],
    keys: &Keys<WebhookKey>,
    moment: CheckedMoment,
) -> Result<PendingWebhook, SignatureError> {
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
    let of_secret = keys.matching(|key| items.any_from(key, &parts));
    let mut questions = Vec::new();
    for (of, key) in keys.each() {
        items.ask(of, key, &mut questions);
    }
    Ok(PendingWebhook { claims: Claims::of_webhook(id_text, seconds), moment, of_secret, questions })
}

/// A webhook of which everything is judged but the `v1a` signatures, for callers whose platform verifies
/// Ed25519 where this library was built without it (WebCrypto at the edge).
#[derive(Clone, Debug)]
#[must_use = "the webhook is not verified yet"]
pub struct PendingWebhook {
    claims: Claims,
    moment: CheckedMoment,
    of_secret: Option<KeyMatch>,
    questions: Vec<Question>,
}

/// Whether a signature is that of a public key: asked only where both are in their one spelling, and neither
/// the key nor the signature's point is of small order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// 32 bytes, as RFC 8032 writes them.
    pub public_key: [u8; 32],
    /// 64 bytes.
    pub signature: [u8; 64],
    of: KeyMatch,
}

impl PendingWebhook {
    /// What the signatures asked about sign, up to the body, which follows it.
    pub fn prefix(&self) -> String {
        format!("{}.{}.", self.claims.jti.as_deref().unwrap_or_default(), self.claims.iat.unwrap_or_default())
    }

    /// What has to be answered; nothing where no public key is at hand.
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Judges by the answers, in the order of the questions. One that is not there is a no.
    ///
    /// # Errors
    /// `signature_mismatch`, `expired`, `not_yet_valid`.
    pub fn finish(self, answers: &[bool]) -> Result<Verified, SignatureError> {
        let mut key = self.of_secret;
        for (question, yes) in self.questions.iter().zip(answers) {
            if *yes && (key.is_none() || question.of == KeyMatch::Current) {
                key = Some(question.of);
            }
        }
        let key = key.ok_or_else(|| SignatureError::mismatch(ADVICE_ON_WEBHOOK_MISMATCH))?;
        self.moment.check(self.claims.exp, self.claims.nbf)?;
        Ok(Verified { claims: self.claims, key })
    }

    /// Answers the questions itself.
    #[cfg(feature = "webhook-v1a")]
    pub(super) fn finish_here(self, body: &[u8]) -> Result<Verified, SignatureError> {
        if self.questions.is_empty() {
            return self.finish(&[]);
        }
        let message = [self.prefix().as_bytes(), body].concat();
        // Public keys hold no secret: time may tell here.
        let answers: Vec<bool> = self.questions.iter().map(|question| question.verify(&message)).collect();
        self.finish(&answers)
    }

    /// There are no questions: [`check_verifiable_here`] has seen to it.
    #[cfg(not(feature = "webhook-v1a"))]
    pub(super) fn finish_here(self, _: &[u8]) -> Result<Verified, SignatureError> {
        self.finish(&[])
    }
}

#[cfg(feature = "webhook-v1a")]
impl Question {
    fn verify(&self, message: &[u8]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(&self.signature);
        ed25519_dalek::VerifyingKey::from_bytes(&self.public_key)
            .is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
    }
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
            v1a: items()
                .filter_map(|item| base64::decode_array(Alphabet::Standard, item.strip_prefix(b"v1a,")?))
                .collect(),
        }
    }

    fn has_any_for(&self, key: &WebhookKey) -> bool {
        match key {
            WebhookKey::Secret(_) => !self.v1.is_empty(),
            WebhookKey::Public(_) => !self.v1a.is_empty(),
        }
    }

    fn any_from(&self, key: &WebhookKey, parts: &[&[u8]]) -> Choice {
        match key {
            WebhookKey::Secret(key) => {
                let mac = key.mac(parts);
                self.v1.iter().fold(Choice::from(0), |any, item| any | mac.ct_eq(item))
            }
            WebhookKey::Public(_) => Choice::from(0),
        }
    }

    fn ask(&self, of: KeyMatch, key: &WebhookKey, questions: &mut Vec<Question>) {
        let WebhookKey::Public(public_key) = key else { return };
        for signature in &self.v1a {
            if ed25519::may_be_valid(signature) {
                questions.push(Question { public_key: *public_key, signature: *signature, of });
            }
        }
    }
}
