//! Verification of signed deliveries: strict, in the contract's order, in constant time where it matters.
//!
//! [`Receiver`] is the door. It takes a [`Delivery`] (or all headers of a request) and the time, and answers
//! with what was signed and which key signed it, or with a [`SignatureError`] that names cause and cure.
//! Nothing here signs: a test that signs with another library therefore proves two against each other.

pub(crate) mod base64;
mod claims;
mod compact;
mod delivery;
mod ed25519;
mod error;
mod headers;
mod json;
mod key;
mod receiver;
mod url;
mod webhook;
#[cfg(test)]
mod wycheproof;

pub use claims::Claims;
pub use delivery::{Body, Delivery, Moment, SignatureValue, not_whole_seconds, whole_seconds};
pub use error::SignatureError;
pub use key::{CURRENT_SIGNING_KEY, NEXT_SIGNING_KEY, missing_signing_key, signing_key_not_text};
pub use receiver::{Pending, Receiver, Verified};
pub use webhook::{PendingWebhook, Question};

pub use crate::contract::headers::SIGNATURE as SIGNATURE_HEADER;
pub use crate::contract::{Dialect, KeyMatch, SignatureErrorCode, UrlDifference};
