//! HMAC-SHA256 for `jsonwebtoken`: the one algorithm of the contract, without the RSA and curves that its
//! backends bring.

use std::sync::Once;

use hmac::{Hmac, KeyInit, Mac};
use jsonwebtoken::Algorithm;
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error as SignatureError, Signer, Verifier};
use sha2::Sha256;

struct Hs256(Hmac<Sha256>);

impl Hs256 {
    fn keyed(algorithm: Algorithm, key: &[u8]) -> Result<Box<Self>> {
        match (algorithm, Hmac::new_from_slice(key)) {
            (Algorithm::HS256, Ok(mac)) => Ok(Box::new(Self(mac))),
            _ => Err(ErrorKind::InvalidAlgorithm.into()),
        }
    }
}

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, SignatureError> {
        Ok(self.0.clone().chain_update(message).finalize().into_bytes().to_vec())
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), SignatureError> {
        self.0.clone().chain_update(message).verify_slice(signature).map_err(|_| SignatureError::new())
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
    signer_factory: |algorithm, key| Ok(Hs256::keyed(*algorithm, key.as_bytes())?),
    verifier_factory: |algorithm, key| Ok(Hs256::keyed(*algorithm, key.try_get_as_bytes()?)?),
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes it the process's provider, once.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| assert!(PROVIDER.install_default().is_ok(), "another provider was first"));
}
