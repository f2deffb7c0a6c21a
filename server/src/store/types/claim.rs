//! A message in the hands of the engine: claim, lease, settlement.

use std::sync::Arc;

use bytes::Bytes;
use chronq::contract::Method;
use chronq::publish::Callback;
use chronq::{Destination, Name};
use uuid::Uuid;

use super::{Headers, UnixMillis};

/// What `claim` is asked for.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// The queue to take from.
    pub queue: Name,
    /// How many at most.
    pub limit: usize,
    /// How long the claim holds beyond the message's own timeout, in milliseconds. When it has passed
    /// without a settlement the process is taken for dead and the attempt is made again.
    pub lease_ms: u64,
}

/// The right to settle one attempt. The claim number grows with every claim of the message, so an
/// older lease never settles a newer attempt; its end tells it apart from a claim that a database forgot in
/// a crash, and which was made again under the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    pub(crate) seq: i64,
    pub(crate) claim: i32,
    /// Until when it holds; an attempt that has not begun by then must not begin.
    pub until: UnixMillis,
}

/// Everything that an attempt needs.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The right to settle it.
    pub lease: Lease,
    /// The message's id.
    pub id: Uuid,
    /// Its queue.
    pub queue: Name,
    /// Where it goes.
    pub destination: Destination,
    /// How.
    pub method: Method,
    /// What it carries: content-type and forwarded headers.
    pub headers: Headers,
    /// The exact bytes.
    pub body: Bytes,
    /// Retries so far: 0 on the first attempt.
    pub retried: u32,
    /// Retries it may have.
    pub max_retries: u32,
    /// Bound of this attempt, in milliseconds.
    pub timeout_ms: u64,
    /// Base of the wait between attempts, raised by earlier `Retry-After`s, in milliseconds.
    pub retry_delay_ms: u64,
    /// The queue's cap on the wait, in milliseconds.
    pub max_delay_ms: u64,
    /// Whether the queue backs off.
    pub backoff: bool,
    /// Its labels.
    pub labels: Vec<String>,
    /// Told when the destination accepts.
    pub callback: Option<Callback>,
    /// Told when it fails for good.
    pub failure_callback: Option<Callback>,
    /// The schedule whose run it is.
    pub schedule: Option<Name>,
    /// The failed message that it replaces in a dead-letter queue.
    pub dead_letter_of: Option<Uuid>,
    /// When it was published.
    pub created_at: UnixMillis,
}

/// The outcome of one attempt, as far as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptResponse {
    /// The HTTP status; 0 where there was no answer.
    pub status: u16,
    /// The answer's headers, to 16 KiB.
    pub headers: Headers,
    /// The answer's body, to 8 KiB; the reason where there was no answer.
    pub body: Bytes,
    /// Whether something was cut.
    pub truncated: bool,
    /// How long the attempt took, in milliseconds.
    pub duration_ms: u64,
}

/// What is to become of a claimed message.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// The right to say so.
    pub lease: Lease,
    /// What the destination answered; shared with who reports it.
    pub response: Arc<AttemptResponse>,
    /// What follows from it.
    pub verdict: AttemptVerdict,
}

/// What follows from an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptVerdict {
    /// The destination accepted.
    Completed,
    /// Another attempt.
    Retry {
        /// In so many milliseconds.
        wait_ms: u64,
        /// The base of later waits, in milliseconds: as before, or raised by `Retry-After`.
        retry_delay_ms: u64,
    },
    /// Out of retries or refused for good: moved to the queue's dead-letter queue where it has one.
    Failed,
}

/// What became of a settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It is committed.
    Done,
    /// It failed, and a copy waits in the dead-letter queue.
    DeadLettered {
        /// The copy's id.
        id: Uuid,
    },
    /// The lease was lost, or the message is gone: nothing was written.
    Stale,
}

/// What became of a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// It will not be delivered.
    Cancelled,
    /// Too late: it is in this state.
    NotCancellable(chronq::contract::MessageState),
    /// No such message.
    NotFound,
}

/// What became of a retry by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetriedByHand {
    /// One more attempt is due now, under the same id.
    Queued,
    /// Only a failed message is retried: it is in this state.
    NotFailed(chronq::contract::MessageState),
    /// No such message.
    NotFound,
}
