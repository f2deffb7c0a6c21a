//! Environment variables that stand in for what a constructor is not given (contract/sdk.md).

/// Base URL of the server.
pub const URL: &str = "CHRONQ_URL";
/// Publish token.
pub const TOKEN: &str = "CHRONQ_TOKEN";
/// First signing key of a receiver.
pub const CURRENT_SIGNING_KEY: &str = "CHRONQ_CURRENT_SIGNING_KEY";
/// Second signing key of a receiver; may be absent.
pub const NEXT_SIGNING_KEY: &str = "CHRONQ_NEXT_SIGNING_KEY";
