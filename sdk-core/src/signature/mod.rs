//! Verification of signed deliveries: strict, in the contract's order, in constant time where it matters.

mod error;

pub use error::SignatureError;
