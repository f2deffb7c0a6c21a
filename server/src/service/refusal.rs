//! Why a use case was refused.

use chronq::contract::MessageState;
use chronq::{InvalidInput, MessageId, Name};

use crate::store::StoreError;

/// Why nothing was done. `Display` is the sentence for people.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Something that the contract does not allow.
    #[error(transparent)]
    Invalid(#[from] InvalidInput),
    /// A publish names a queue that does not exist.
    #[error("unknown queue: \"{0}\"")]
    UnknownQueue(Name),
    /// A publish names a queue that takes none.
    #[error("queue is disabled: \"{0}\"")]
    QueueDisabled(Name),
    /// A publish to a group that has no endpoints.
    #[error("URL group has no endpoints: \"{0}\"")]
    EmptyGroup(Name),
    /// No such thing.
    #[error("no such {kind}: \"{name}\"")]
    NotFound {
        /// What was looked for.
        kind: &'static str,
        /// What it was called.
        name: String,
    },
    /// The message's state does not allow it.
    #[error("the message is {state}: {rule}")]
    WrongState {
        /// The message.
        id: MessageId,
        /// Its state.
        state: MessageState,
        /// What would be needed.
        rule: &'static str,
    },
    /// Something else stands in the way.
    #[error("{0}")]
    InUse(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Refusal {
    pub(crate) fn not_found(kind: &'static str, name: impl Into<String>) -> Self {
        Self::NotFound { kind, name: name.into() }
    }
}
