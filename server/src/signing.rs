//! Signs deliveries and callbacks (contract/signature.md, "The token"), through `jsonwebtoken`: the
//! verifier stands on its own code, so every verified delivery proves two implementations equal.
//!
//! The dates in a token come from the machine's clock, never from the movable one: receivers have
//! real clocks.

use std::sync::{Arc, Once, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chronq::Secret;
use chronq::contract::claims;
use hmac::{Hmac, KeyInit, Mac};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::signature::{Error as SignatureError, Signer, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use sha2::{Digest, Sha256};

/// The key that signs now; replaced as a whole when an operator rotates.
#[derive(Debug)]
pub struct SigningKeys {
    current: RwLock<Arc<SigningKey>>,
}

/// One signing key.
pub struct SigningKey(EncodingKey);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey(…)")
    }
}

/// A token could not be made.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot sign: {0}")]
pub struct SigningError(String);

impl SigningKeys {
    /// Signs with this key.
    ///
    /// # Errors
    /// [`SigningError`] for an empty key.
    pub fn new(key: &Secret) -> Result<Self, SigningError> {
        Ok(Self { current: RwLock::new(Arc::new(SigningKey::new(key)?)) })
    }

    /// Signs with another key from the next attempt on.
    ///
    /// # Errors
    /// [`SigningError`] for an empty key.
    pub fn replace(&self, key: &Secret) -> Result<(), SigningError> {
        let key = Arc::new(SigningKey::new(key)?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = key;
        Ok(())
    }

    /// A fresh token for one attempt at `url` with `body`.
    ///
    /// # Errors
    /// [`SigningError`] where the platform cannot sign.
    pub fn sign(&self, url: &str, body: &[u8]) -> Result<String, SigningError> {
        let key = Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner));
        let jti = format!("{}{}", claims::JTI_PREFIX, uuid::Uuid::now_v7());
        sabotage!(SubNormalised => {
            return key.sign(&crate::sabotage::normalised(url), body, wall_seconds(), &jti)
        });
        key.sign(url, body, wall_seconds(), &jti)
    }
}

/// The machine's time, unix seconds; never the store's clock, which dev mode moves.
fn wall_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[derive(serde::Serialize)]
struct Claims<'a> {
    iss: &'a str,
    sub: &'a str,
    iat: i64,
    nbf: i64,
    exp: i64,
    jti: &'a str,
    body: &'a str,
}

impl SigningKey {
    /// Takes the UTF-8 bytes of the key's text.
    ///
    /// # Errors
    /// [`SigningError`] for an empty key.
    pub fn new(key: &Secret) -> Result<Self, SigningError> {
        install_provider();
        EncodingKey::from_secret(key.expose().as_bytes())
            .map(Self)
            .map_err(|error| SigningError(error.to_string()))
    }

    /// The compact token; all that varies is an argument.
    ///
    /// # Errors
    /// [`SigningError`] where the platform cannot sign.
    pub fn sign(&self, url: &str, body: &[u8], iat: i64, jti: &str) -> Result<String, SigningError> {
        let claims = Claims {
            iss: claims::ISSUER,
            sub: url,
            iat,
            nbf: iat - claims::NBF_BEFORE_IAT_SECONDS,
            exp: iat + claims::EXP_AFTER_IAT_SECONDS,
            jti,
            body: &URL_SAFE_NO_PAD.encode(Sha256::digest(body)),
        };
        let claims = serde_json::to_vec(&claims).map_err(|error| SigningError(error.to_string()))?;
        // `jsonwebtoken::encode` writes the header's members in another order than the contract.
        let mut token = URL_SAFE_NO_PAD.encode(claims::JOSE_HEADER);
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(claims, &mut token);
        let signature = jsonwebtoken::crypto::sign(token.as_bytes(), &self.0, Algorithm::HS256)
            .map_err(|error| SigningError(error.to_string()))?;
        token.push('.');
        token.push_str(&signature);
        Ok(token)
    }
}

/// HMAC-SHA256 for `jsonwebtoken`: the one algorithm we use, without the RSA and curves that its
/// backends bring.
#[derive(Debug)]
struct Hs256(Hmac<Sha256>);

impl Hs256 {
    fn keyed(algorithm: Algorithm, key: &[u8]) -> jsonwebtoken::errors::Result<Self> {
        if algorithm != Algorithm::HS256 {
            return Err(ErrorKind::InvalidAlgorithm.into());
        }
        let mac = Hmac::new_from_slice(key).map_err(|_| ErrorKind::InvalidKeyFormat)?;
        Ok(Self(mac))
    }
}

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, SignatureError> {
        Ok(self.0.clone().chain_update(message).finalize().into_bytes().to_vec())
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), SignatureError> {
        let mac = self.0.clone().chain_update(message);
        mac.verify_slice(signature).map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that jsonwebtoken asks for")]
fn signer(algorithm: &Algorithm, key: &EncodingKey) -> jsonwebtoken::errors::Result<Box<dyn JwtSigner>> {
    Ok(Box::new(Hs256::keyed(*algorithm, key.as_bytes())?))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that jsonwebtoken asks for")]
fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> jsonwebtoken::errors::Result<Box<dyn JwtVerifier>> {
    Ok(Box::new(Hs256::keyed(*algorithm, key.try_get_as_bytes()?)?))
}

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

fn install_provider() {
    static INSTALLED: Once = Once::new();
    // Another provider that is already there signs HS256 just as well.
    INSTALLED.call_once(|| {
        let _ = PROVIDER.install_default();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sig_not-a-real-key-not-a-real-key-not-a-real-ke";

    #[test]
    fn a_token_carries_the_contracts_header_and_claims() {
        let key = SigningKey::new(&Secret::new(KEY)).expect("key");
        let token =
            key.sign("http://127.0.0.1:1/a/../b%2f?x=1&y=%20", b"", 1_796_000_000, "jwt_x").expect("token");
        let parts: Vec<_> = token.split('.').collect();
        let text =
            |part: &str| String::from_utf8(URL_SAFE_NO_PAD.decode(part).expect("base64")).expect("utf-8");
        assert_eq!(text(parts[0]), r#"{"alg":"HS256","typ":"JWT"}"#);
        assert_eq!(
            text(parts[1]),
            r#"{"iss":"chronq","sub":"http://127.0.0.1:1/a/../b%2f?x=1&y=%20","iat":1796000000,"nbf":1795999995,"exp":1796000300,"jti":"jwt_x","body":"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"}"#
        );
        let message = format!("{}.{}", parts[0], parts[1]);
        let mac = Hmac::<Sha256>::new_from_slice(KEY.as_bytes()).expect("key").chain_update(message);
        mac.verify_slice(&URL_SAFE_NO_PAD.decode(parts[2]).expect("base64")).expect("signed");
    }

    #[test]
    fn each_token_has_a_fresh_id_and_the_newest_key_signs() {
        let keys = SigningKeys::new(&Secret::new(KEY)).expect("key");
        let claim = |token: &str, name: &str| {
            let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).expect("payload")).expect("base64");
            serde_json::from_slice::<serde_json::Value>(&payload).expect("json")[name].clone()
        };
        let (first, second) =
            (keys.sign("http://a", b"x").expect("a"), keys.sign("http://a", b"x").expect("b"));
        assert_ne!(claim(&first, "jti"), claim(&second, "jti"));
        assert!(claim(&first, "jti").as_str().is_some_and(|jti| jti.starts_with("jwt_")));
        keys.replace(&Secret::new("sig_another-fake-key-another-fake-key-another-f")).expect("key");
        let decoding = DecodingKey::from_secret(KEY.as_bytes()).expect("key");
        let mut validation = jsonwebtoken::Validation::new(Algorithm::HS256);
        validation.leeway = 0;
        validation.validate_nbf = true;
        let verify = |token: &str| jsonwebtoken::decode::<serde_json::Value>(token, &decoding, &validation);
        assert!(verify(&first).is_ok());
        assert!(verify(&keys.sign("http://a", b"x").expect("c")).is_err());
    }
}
