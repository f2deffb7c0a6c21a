//! The states of a message (contract/http-queue.md, "Delivery").

super::closed_words! {
    /// Where a message stands. Closed: a client that meets another word reports a protocol error.
    pub enum MessageState ("state") {
        /// Queued or delayed; no attempt yet.
        Created => "created",
        /// Waiting for its next attempt.
        Retry => "retry",
        /// An attempt is in flight.
        Active => "active",
        /// The destination accepted it.
        Completed => "completed",
        /// Taken back before it was delivered.
        Cancelled => "cancelled",
        /// Out of retries, or refused as non-retryable.
        Failed => "failed",
    }
}

impl MessageState {
    /// Whether a cancel may still succeed.
    pub const fn is_cancellable(self) -> bool {
        matches!(self, Self::Created | Self::Retry)
    }

    /// Whether nothing more will happen by itself.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled | Self::Failed)
    }
}
