//! Queues and their settings.

use chronq::Name;
use chronq::contract::limits;

use super::UnixMillis;

/// Settings of a queue. `None` means that the built-in default holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSettings {
    /// Retries after the first attempt.
    pub retry_limit: Option<u32>,
    /// Base of the wait between attempts, in milliseconds.
    pub retry_delay_ms: Option<u64>,
    /// Bound of one attempt, in milliseconds.
    pub expire_ms: Option<u64>,
    /// Cap of the wait between attempts, in milliseconds.
    pub max_delay_ms: u64,
    /// Whether the wait doubles; without, it is the base.
    pub backoff: bool,
    /// Deliveries at once, per process.
    pub concurrency: u32,
    /// How long finished messages are kept, in milliseconds.
    pub keep_completed_ms: u64,
    /// How long a message may wait past the instant it was due, in milliseconds.
    pub keep_queued_ms: u64,
    /// Receives a copy of each message that fails for good.
    pub dead_letter_queue: Option<Name>,
    /// Whether publishes and scheduled runs are taken.
    pub enabled: bool,
    /// For people.
    pub description: Option<String>,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            retry_limit: None,
            retry_delay_ms: None,
            expire_ms: None,
            max_delay_ms: limits::DEFAULT_MAX_DELAY_MS,
            backoff: true,
            concurrency: limits::DEFAULT_CONCURRENCY,
            keep_completed_ms: limits::DEFAULT_KEEP_COMPLETED_MS,
            keep_queued_ms: limits::DEFAULT_KEEP_QUEUED_MS,
            dead_letter_queue: None,
            enabled: true,
            description: None,
        }
    }
}

/// A queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Its name.
    pub name: Name,
    /// Its settings.
    pub settings: QueueSettings,
    /// When it was made; `None` for a `default` that nobody has put.
    pub created_at: Option<UnixMillis>,
    /// When it was last put.
    pub updated_at: Option<UnixMillis>,
}

/// What became of a put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueuePut {
    /// It is new.
    Created(Queue),
    /// It was there.
    Updated(Queue),
    /// Its dead-letter queue does not exist: nothing was written.
    UnknownDeadLetterQueue,
    /// Its dead letters would come back to it: nothing was written.
    DeadLetterCycle,
}

/// What became of a delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueDeleted {
    /// It is gone, and with it its messages; queues that sent it their dead letters keep none now.
    Deleted,
    /// No such queue.
    NotFound,
    /// `default` is always there.
    IsDefault,
    /// A schedule publishes through it: nothing was written.
    UsedBySchedule(Name),
}

/// A queue with messages that wait, and when the first of them is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueAgenda {
    /// The queue.
    pub queue: Name,
    /// The first instant at which a claim can find something. It may be early, never late.
    pub next_due: UnixMillis,
}

/// Something that an engine may be asleep over. A hint: one may be missed, so a loop also looks
/// from time to time by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    /// A message of this queue is due at this instant.
    Due {
        /// The queue.
        queue: Name,
        /// The instant.
        at: UnixMillis,
    },
    /// A queue was put or deleted.
    QueuesChanged,
    /// A schedule was put, deleted or is to run.
    SchedulesChanged,
}

/// What a queue has done of late, from the rows that its retention kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueMetrics {
    /// The queue.
    pub queue: Name,
    /// Messages that reached `completed` or `failed`.
    pub finished: u64,
    /// Those of them that reached `completed`.
    pub succeeded: u64,
    /// Median of the last attempt, in milliseconds; `None` where none finished.
    pub p50_ms: Option<u64>,
    /// 95th percentile of the last attempt, in milliseconds.
    pub p95_ms: Option<u64>,
    /// Messages that wait: created or retry.
    pub waiting: u64,
    /// Attempts in flight.
    pub active: u64,
}
