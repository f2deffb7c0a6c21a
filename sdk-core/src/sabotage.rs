//! Faults on purpose, for the conformance suite alone: a test build with the feature `sabotage` is wrong in
//! the one way that it was told at its start, and the suite must notice. No other build has this module,
//! nor any of the places that ask it.

use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

#[cfg(not(debug_assertions))]
compile_error!(
    "the feature sabotage breaks verification on purpose: it is for debug builds of the conformance suite"
);

crate::contract::closed_words! {
    /// One way to be wrong.
    pub enum Fault ("fault") {
        /// A token without a signature is accepted where its header says so.
        AlgNoneAccepted => "alg none is accepted",
        /// The body of a delivery is not compared with the digest in its token.
        BodyHashSkipped => "the body's hash is skipped",
        /// The URL of a delivery is not compared with `sub`.
        UrlNotCompared => "the url is not compared",
        /// Only the first signing key is tried.
        SecondKeyIgnored => "the second key is ignored",
        /// A token is accepted at any time.
        DatesIgnored => "the dates of a token are ignored",
        /// The client lets its HTTP stack rewrite a destination.
        DestinationRewritten => "a destination is rewritten on its way to the server",
        /// `absent` says `ok: true`.
        AbsentSaysOk => "absent says ok",
        /// `too_late` is an error, on both ends.
        TooLateIsAnError => "too_late is an error",
        /// What an answer asks to wait is ignored, on both ends.
        RetryAfterIgnored => "Retry-After is ignored",
        /// An option that does not exist is taken for none.
        UnknownOptionIgnored => "an unknown option is ignored",
        /// The server remembers no deduplication key.
        DeduplicationForgotten => "the deduplication window is forgotten",
        /// The cancel route passes the gates of scheduling.
        CancelGated => "the DELETE route is gated",
        /// A publish is answered, and committed a moment later.
        AcknowledgedBeforeCommit => "a publish is acknowledged before its commit",
        /// Callbacks carry no signature.
        CallbackUnsigned => "a callback is not signed",
        /// The signer passes the destination through a URL library.
        SubNormalised => "sub is normalised again",
        /// A token's access level is not looked at.
        LevelIgnored => "the access level of a token is ignored",
    }
}

static CHOSEN: OnceLock<Fault> = OnceLock::new();

/// Makes this process wrong in one way; the first choice stays.
pub fn choose(fault: Fault) {
    let _ = CHOSEN.set(fault);
}

/// Whether this process is to be wrong in this way.
pub fn is(fault: Fault) -> bool {
    CHOSEN.get() == Some(&fault)
}

/// Whether an encoded JOSE header names the algorithm `none`.
pub(crate) fn says_none(header: &[u8]) -> bool {
    let decoded = URL_SAFE_NO_PAD.decode(header).unwrap_or_default();
    String::from_utf8_lossy(&decoded).contains("\"none\"")
}
