//! The compact token up to its signature (contract/signature.md, steps 3 to 6): nothing of the payload is
//! decoded before a key has proved it.

use subtle::ConstantTimeEq;

use super::base64::{self, Alphabet};
use super::error::{SignatureError, advice_on_shape};
use super::json::{self, Name, Value};
use super::key::{Keys, MacKey};
use crate::contract::limits::{MAX_JOSE_HEADER_BYTES, MAX_JSON_DEPTH, MAX_TOKEN_BYTES};
use crate::contract::{KeyMatch, claims};

/// The header that signers of this product write, encoded; any other is read in full.
const USUAL_HEADER: &[u8] = b"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";

/// Members of a JOSE header that change what a signature means, or where its key comes from.
const REFUSED_MEMBERS: [&str; 8] = ["crit", "b64", "zip", "enc", "jwk", "jku", "x5u", "x5c"];

/// Finds the key that signed `token`; answers with its payload, still encoded.
/// `None` in place of the key: no key matches.
pub(super) fn authenticate<'t>(
    token: &'t [u8],
    keys: &Keys<MacKey>,
) -> Result<(&'t [u8], Option<KeyMatch>), SignatureError> {
    let malformed =
        |reason: &str| SignatureError::malformed(format_args!("{reason}{}", advice_on_shape(token)));
    if !token.is_ascii() {
        return Err(malformed("has characters beyond ASCII"));
    }
    if token.len() > MAX_TOKEN_BYTES {
        return Err(malformed("is longer than 8192 bytes"));
    }
    let segments = Segments::split(token)
        .ok_or_else(|| malformed("is not a compact token of three parts, with exactly two dots"))?;
    sabotage!(AlgNoneAccepted => if crate::sabotage::says_none(segments.header) {
        return Ok((segments.payload, Some(KeyMatch::Current)));
    });
    check_header(segments.header)?;
    let signature: [u8; 32] = base64::decode_array(Alphabet::Url, segments.signature)
        .ok_or_else(|| malformed("does not end in strict base64url of 32 bytes: it was cut or edited"))?;
    let key = keys.matching(|key| key.mac(&[segments.signed]).ct_eq(&signature));
    Ok((segments.payload, key))
}

struct Segments<'t> {
    header: &'t [u8],
    payload: &'t [u8],
    signature: &'t [u8],
    /// Header, dot and payload: what the signature is of.
    signed: &'t [u8],
}

impl<'t> Segments<'t> {
    fn split(token: &'t [u8]) -> Option<Self> {
        let mut dots = memchr::memchr_iter(b'.', token);
        let (first, second, None) = (dots.next()?, dots.next()?, dots.next()) else { return None };
        Some(Self {
            header: &token[..first],
            payload: &token[first + 1..second],
            signature: &token[second + 1..],
            signed: &token[..second],
        })
    }
}

fn check_header(encoded: &[u8]) -> Result<(), SignatureError> {
    if encoded == USUAL_HEADER {
        return Ok(());
    }
    let malformed = |reason: &str| SignatureError::malformed(format_args!("has a header that {reason}"));
    let mut buffer = [0; MAX_JOSE_HEADER_BYTES];
    let length = base64::decode_into(Alphabet::Url, encoded, &mut buffer)
        .ok_or_else(|| malformed("is not strict base64url of at most 256 bytes"))?;
    let text = std::str::from_utf8(&buffer[..length]).map_err(|_| malformed("is not UTF-8"))?;

    let mut header = Header::default();
    json::read_object(text, MAX_JSON_DEPTH, &mut |name, value| header.member(name, value))
        .map_err(|refusal| malformed(refusal.reason()))?;
    match header.alg {
        Some(Value::Text(word)) if word == claims::ALGORITHM => {}
        Some(Value::Text(word)) => return Err(SignatureError::algorithm(Some(&word))),
        Some(_) => return Err(SignatureError::algorithm(Some(""))),
        None => return Err(SignatureError::algorithm(None)),
    }
    if header.typ.is_some_and(|typ| typ != Value::Text("JWT".into())) {
        return Err(malformed("has a typ other than JWT"));
    }
    if let Some(name) = header.refused {
        return Err(malformed(&format!("has the member {name}, which no delivery has")));
    }
    if !matches!(header.kid, None | Some(Value::Text(_))) {
        return Err(malformed("has a kid that is not a string"));
    }
    Ok(())
}

#[derive(Default)]
struct Header<'a> {
    alg: Option<Value<'a>>,
    typ: Option<Value<'a>>,
    kid: Option<Value<'a>>,
    refused: Option<&'static str>,
}

impl<'a> Header<'a> {
    fn member(&mut self, name: &str, value: Value<'a>) -> Name {
        match name {
            "alg" => Name::keep(&mut self.alg, value),
            "typ" => Name::keep(&mut self.typ, value),
            "kid" => Name::keep(&mut self.kid, value),
            _ => {
                let refused = REFUSED_MEMBERS.into_iter().find(|refused| *refused == name);
                self.refused = self.refused.or(refused);
                Name::Other
            }
        }
    }
}
