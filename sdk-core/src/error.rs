//! The one error of every call: what it is (kind), what to do about it (retry verdict, in
//! [`crate::retry`]), and where it came from (context).

use std::fmt;
use std::time::Duration;

use crate::contract::{ErrorCode, MessageState};
use crate::input::InvalidInput;
use crate::signature::SignatureError;

/// Why a call failed. `Display` is a sentence for people; it never holds a secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    kind: ErrorKind,
    code: ErrorCode,
    message: String,
    context: Context,
}

/// What an error is. Exhaustive on purpose: bindings map each kind to a class of their language, and
/// a catch-all there would silently downgrade a new kind.
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorKind {
    /// An option or argument that the contract refuses, before the network or by a 400.
    InvalidInput(Option<InvalidInput>),
    /// No token, or one that is not known (401).
    Unauthorized,
    /// The token's access level is too low (403).
    Forbidden,
    /// No such thing (404).
    NotFound,
    /// The thing is in a state that does not allow the call (409).
    Conflict(Option<MessageState>),
    /// Over a size limit (413).
    TooLarge,
    /// Asked to slow down (429).
    Throttled,
    /// The server cannot answer now (5xx).
    Unavailable,
    /// The pending-timer quota is exhausted (403).
    QuotaExceeded,
    /// A timer beyond the horizon in force (403).
    HorizonExceeded,
    /// Not on the plan (403).
    FeatureGated,
    /// No answer came: connection, DNS, TLS, timeout.
    Transport,
    /// An answer that the contract does not know.
    Protocol,
    /// A delivery that must not be trusted.
    Signature(SignatureError),
}

impl ErrorKind {
    /// The class of this kind, spelled alike in every language.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::InvalidInput(_) => "InvalidInput",
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::Conflict(_) => "Conflict",
            Self::TooLarge => "TooLarge",
            Self::Throttled => "Throttled",
            Self::Unavailable => "Unavailable",
            Self::QuotaExceeded => "QuotaExceeded",
            Self::HorizonExceeded => "HorizonExceeded",
            Self::FeatureGated => "FeatureGated",
            Self::Transport => "Transport",
            Self::Protocol => "Protocol",
            Self::Signature(_) => "SignatureError",
        }
    }
}

/// Where an error came from; all of it optional.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// Status of the answer, where there was one.
    pub status: Option<u16>,
    /// The server's finer word.
    pub reason: Option<String>,
    /// The server's sentence.
    pub detail: Option<String>,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
    /// Attempts made, the failed one included; 0 where the call was refused before the network.
    pub attempts: u32,
    /// Whether the server may have acted on the call although no answer came.
    pub may_have_been_sent: bool,
}

impl Error {
    /// An error of a kind, with its code and sentence.
    pub fn new(kind: ErrorKind, code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, code, message: message.into(), context: Context::default() }))
    }

    /// No answer came.
    pub fn transport(message: impl Into<String>, may_have_been_sent: bool) -> Self {
        Self::new(ErrorKind::Transport, ErrorCode::Transport, message)
            .with_context(|context| context.may_have_been_sent = may_have_been_sent)
    }

    /// An answer came that the contract does not know.
    pub fn protocol(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Protocol, ErrorCode::Protocol, message)
    }

    /// Adds context.
    #[must_use]
    pub fn with_context(mut self, change: impl FnOnce(&mut Context)) -> Self {
        change(&mut self.0.context);
        self
    }

    /// Says which entry of a batch it was, from 0.
    #[must_use]
    pub fn at_index(mut self, index: usize) -> Self {
        if let ErrorKind::InvalidInput(Some(input)) = &self.0.kind {
            return input.clone().at_index(index).into();
        }
        self.0.message = format!("entry {index}: {}", self.0.message);
        self
    }

    /// What it is.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The code in one word: of the signature where that failed, else the [`ErrorCode`].
    pub fn code(&self) -> &'static str {
        match &self.0.kind {
            ErrorKind::Signature(error) => error.code().as_str(),
            _ => self.0.code.as_str(),
        }
    }

    /// Where it came from.
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// Status of the answer, where there was one.
    pub fn status(&self) -> Option<u16> {
        self.0.context.status
    }

    /// How long the server asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.context.retry_after
    }

    /// Attempts made; 0 where the call was refused before the network.
    pub fn attempts(&self) -> u32 {
        self.0.context.attempts
    }

    /// Whether the server may have acted on the call although no answer came.
    pub fn may_have_been_sent(&self) -> bool {
        self.0.context.may_have_been_sent
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}

impl From<InvalidInput> for Error {
    fn from(error: InvalidInput) -> Self {
        let message = error.to_string();
        Self::new(ErrorKind::InvalidInput(Some(error)), ErrorCode::InvalidInput, message)
    }
}

impl From<SignatureError> for Error {
    fn from(error: SignatureError) -> Self {
        let message = error.to_string();
        // The code of a signature error is read from the error itself: see `Error::code`.
        Self::new(ErrorKind::Signature(error), ErrorCode::InvalidInput, message)
    }
}
