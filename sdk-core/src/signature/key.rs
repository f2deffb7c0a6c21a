//! Signing keys: what is refused as one, and both of them at work.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::Choice;

use crate::contract::KeyMatch;
use crate::contract::limits::SIGNING_KEY_BYTES;
use crate::input::InvalidInput;
use crate::secret::Secret;
use crate::text;

/// Name of the first argument of a receiver.
pub const CURRENT_SIGNING_KEY: &str = "current_signing_key";
/// Name of the second.
pub const NEXT_SIGNING_KEY: &str = "next_signing_key";

/// The one or two keys in force.
#[derive(Clone)]
pub(super) struct Keys<K> {
    current: K,
    next: Option<K>,
}

impl<K> Keys<K> {
    /// Makes each key with `parse`, which is told the argument's name.
    pub(super) fn parse(
        current: &Secret,
        next: Option<&Secret>,
        parse: impl Fn(&str, &'static str) -> Result<K, InvalidInput>,
    ) -> Result<Self, InvalidInput> {
        Ok(Self {
            current: parse(current.expose(), CURRENT_SIGNING_KEY)?,
            next: next.map(|next| parse(next.expose(), NEXT_SIGNING_KEY)).transpose()?,
        })
    }

    #[cfg(test)]
    pub(super) fn of(current: K, next: Option<K>) -> Self {
        Self { current, next }
    }

    /// Each key with what it is called in an answer.
    pub(super) fn each(&self) -> impl Iterator<Item = (KeyMatch, &K)> {
        let next = self.next.iter().map(|key| (KeyMatch::Next, key));
        std::iter::once((KeyMatch::Current, &self.current)).chain(next)
    }

    pub(super) fn any(&self, predicate: impl Fn(&K) -> bool) -> bool {
        predicate(&self.current) || self.next.as_ref().is_some_and(predicate)
    }

    /// The key that produced the signature. Every key is always tried, and the results are joined before
    /// anything depends on them, so that time does not tell which of the two it was not.
    pub(super) fn matching(&self, produced: impl Fn(&K) -> Choice) -> Option<KeyMatch> {
        sabotage!(SecondKeyIgnored => return bool::from(produced(&self.current)).then_some(KeyMatch::Current));
        let current = produced(&self.current);
        let next = self.next.as_ref().map_or(Choice::from(0), produced);
        if !bool::from(current | next) {
            return None;
        }
        Some(if bool::from(current) { KeyMatch::Current } else { KeyMatch::Next })
    }
}

/// A key of HMAC-SHA256, with its two blocks hashed once and for all.
#[derive(Clone)]
pub(super) struct MacKey(Hmac<Sha256>);

impl MacKey {
    pub(super) fn new(bytes: &[u8]) -> Self {
        // RFC 2104 section 2: a key longer than a block is hashed, a shorter one is filled up with zeros.
        let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
        if bytes.len() > block.len() {
            block[..32].copy_from_slice(&Sha256::digest(bytes));
        } else {
            block[..bytes.len()].copy_from_slice(bytes);
        }
        Self(Hmac::new(&block))
    }

    /// The MAC of the parts, one after another.
    pub(super) fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

/// The rules for a key of the token dialects: its UTF-8 bytes are the key.
pub(super) fn parse_text_key(text: &str, argument: &'static str) -> Result<MacKey, InvalidInput> {
    check_text(text, argument)?;
    let refuse = |message: String| Err(InvalidInput::new(argument, message));
    if text.len() < *SIGNING_KEY_BYTES.start() {
        let hint = if text.starts_with("whsec_") {
            "; whsec_ begins a webhook secret: give the dialect with it"
        } else {
            "; pass the whole key, as the server printed it"
        };
        return refuse(format!(
            "{argument} must have at least {} bytes, got {}{hint}",
            SIGNING_KEY_BYTES.start(),
            text.len()
        ));
    }
    if text.len() > *SIGNING_KEY_BYTES.end() {
        return refuse(format!(
            "{argument} must have at most {} bytes, got {}: pass the signing key, not a file of another kind",
            SIGNING_KEY_BYTES.end(),
            text.len()
        ));
    }
    Ok(MacKey::new(text.as_bytes()))
}

/// What no key of any dialect may be: empty, a key of another kind, or with white space inside.
pub(super) fn check_text(text: &str, argument: &'static str) -> Result<(), InvalidInput> {
    let refuse = |fault: &str| Err(InvalidInput::new(argument, format!("{argument} {fault}")));
    if text.is_empty() {
        return refuse(if argument == NEXT_SIGNING_KEY {
            "must not be empty: leave it out where there is no next key"
        } else {
            "must not be empty: set it to the signing key that the server printed"
        });
    }
    if text::contains(text, "-----BEGIN") {
        return refuse(
            "looks like PEM: pass the signing key itself; deliveries are not signed with a certificate",
        );
    }
    if text.trim_start().starts_with("ssh-") {
        return refuse("looks like an SSH key: pass the signing key itself, which begins with sig_");
    }
    if text.trim_start().starts_with('{') && text::contains(text, "\"kty\"") {
        return refuse("looks like a JWK: pass the signing key itself, as text");
    }
    // A byte order mark is the white space of files saved by an editor.
    let blank = |letter: char| letter.is_whitespace() || letter == '\u{feff}';
    if text.ends_with(blank) || text.starts_with(blank) {
        return refuse(
            "must have no white space, but begins or ends with some: trim what the file or variable holds",
        );
    }
    if text.contains(blank) {
        return refuse("must have no white space, but has some inside: pass one key, without line breaks");
    }
    if text.contains(char::is_control) {
        return refuse("must have no control characters: copy the key again, as plain text");
    }
    Ok(())
}

/// The refusal of a receiver without its first key, for bindings whose language can leave it out.
pub fn missing_signing_key() -> InvalidInput {
    InvalidInput::new(
        CURRENT_SIGNING_KEY,
        format!(
            "{CURRENT_SIGNING_KEY} is missing: pass it, or set the environment variable {}",
            crate::contract::environment::CURRENT_SIGNING_KEY
        ),
    )
}

/// The refusal of a key that is not text; `argument` is its name, `got` the name of its type.
pub fn signing_key_not_text(argument: &str, got: &str) -> InvalidInput {
    InvalidInput::new(argument, format!("{argument} must be text, got {got}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_rfc_4231() {
        // Section 4.2 to 4.8, without 4.6, which is truncated.
        let cases: [(&[u8], &[u8], &str); 6] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (&[0xaa; 20], &[0xdd; 50], "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
            (
                &[
                    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f,
                    0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19,
                ],
                &[0xcd; 50],
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                &[0xaa; 131],
                b"This is a test using a larger than block-size key and a larger than block-size data. The key \
                  needs to be hashed before being used by the HMAC algorithm.",
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ];
        for (key, data, expected) in cases {
            let mac = MacKey::new(key).mac(&[data]);
            assert_eq!(hex(&mac), expected);
            let (front, back) = data.split_at(data.len() / 2);
            assert_eq!(hex(&MacKey::new(key).mac(&[front, back])), expected, "in parts");
        }
    }

    fn hex(bytes: &[u8]) -> String {
        use std::fmt::Write;
        bytes.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
    }
}
