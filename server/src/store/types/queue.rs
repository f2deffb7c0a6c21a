//! Queues and their settings.

use std::time::Duration;

use chronq::Name;
use chronq::contract::limits;
use chronq::queue::QueueSettings;

use super::UnixMillis;

/// What holds in a queue: each setting, or the built-in default where it was never put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InForce {
    /// Retries after the first attempt.
    pub retry_limit: u32,
    /// Base of the wait between attempts, in milliseconds.
    pub retry_delay_ms: u64,
    /// Cap of that wait, in milliseconds.
    pub max_delay_ms: u64,
    /// Whether the wait doubles; without, it is the base.
    pub backoff: bool,
    /// Bound of one attempt, in milliseconds.
    pub expire_ms: u64,
    /// Deliveries at once, per process.
    pub concurrency: u32,
    /// How long finished messages are kept, in milliseconds.
    pub keep_completed_ms: u64,
    /// How long a message may wait past the instant it was due, in milliseconds.
    pub keep_queued_ms: u64,
    /// Whether publishes and scheduled runs are taken.
    pub enabled: bool,
}

impl From<&QueueSettings> for InForce {
    fn from(settings: &QueueSettings) -> Self {
        let ms = |setting: Option<Duration>, default: u64| setting.map_or(default, duration_ms);
        Self {
            retry_limit: settings.retry_limit.unwrap_or(limits::DEFAULT_RETRIES),
            retry_delay_ms: ms(settings.retry_delay, limits::DEFAULT_RETRY_DELAY_MS),
            max_delay_ms: ms(settings.max_delay, limits::DEFAULT_MAX_DELAY_MS),
            backoff: settings.backoff.unwrap_or(true),
            expire_ms: ms(settings.expire, limits::DEFAULT_TIMEOUT_MS),
            concurrency: settings.concurrency.unwrap_or(limits::DEFAULT_CONCURRENCY),
            keep_completed_ms: ms(settings.keep_completed, limits::DEFAULT_KEEP_COMPLETED_MS),
            keep_queued_ms: ms(settings.keep_queued, limits::DEFAULT_KEEP_QUEUED_MS),
            enabled: settings.enabled.unwrap_or(true),
        }
    }
}

/// A duration in whole milliseconds.
pub(crate) fn duration_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Its name.
    pub name: Name,
    /// Its settings as they were put.
    pub settings: QueueSettings,
    /// When it was made; `None` for a `default` that nobody has put.
    pub created_at: Option<UnixMillis>,
    /// When it was last put.
    pub updated_at: Option<UnixMillis>,
}

impl Queue {
    /// What holds in it.
    pub fn in_force(&self) -> InForce {
        InForce::from(&self.settings)
    }
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
