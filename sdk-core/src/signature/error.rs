//! Why a delivery must not be trusted.

use std::fmt;

use crate::contract::SignatureErrorCode;

/// A refused verification. It never holds the key, the expected MAC or the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureError {
    code: SignatureErrorCode,
    message: String,
}

impl SignatureError {
    /// The closed code.
    pub fn code(&self) -> SignatureErrorCode {
        self.code
    }
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SignatureError {}
