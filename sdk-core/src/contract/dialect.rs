//! The signatures that one receiver can verify (contract/signature.md, "Further dialects").

use super::{claims, headers};

super::closed_words! {
    /// Whose signature a receiver verifies. Chosen by the caller, never guessed from a delivery.
    pub enum Dialect ("dialect") {
        /// This product's own token.
        Chronq => "chronq",
        /// QStash's token.
        Qstash => "qstash",
        /// Standard Webhooks: three headers, and a signature that binds the body but no URL.
        StandardWebhooks => "standard-webhooks",
        /// The same under Svix's header names.
        Svix => "svix",
    }
}

impl Dialect {
    /// The header that holds the signature, in lower case.
    pub const fn signature_header(self) -> &'static str {
        match self {
            Self::Chronq => headers::SIGNATURE,
            Self::Qstash => headers::QSTASH_SIGNATURE,
            Self::StandardWebhooks => headers::WEBHOOK[2],
            Self::Svix => headers::SVIX[2],
        }
    }

    /// The `iss` that a token must have; the webhook dialects have no issuer.
    pub const fn issuer(self) -> Option<&'static str> {
        match self {
            Self::Chronq => Some(claims::ISSUER),
            Self::Qstash => Some(claims::QSTASH_ISSUER),
            Self::StandardWebhooks | Self::Svix => None,
        }
    }

    /// Whether the signature is spread over three headers and binds the body alone.
    pub const fn is_webhook(self) -> bool {
        matches!(self, Self::StandardWebhooks | Self::Svix)
    }
}
