//! The log in the store: queues, partitions, frames, consumer groups, dead letters.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use uuid::Uuid;

use super::StoreResult;
use super::timers::{Packing, UnixMicros};

/// The group of a pop that names none.
pub const QUEUE_MODE: &str = "__QUEUE_MODE__";

/// Options of a queue of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// Payloads are sealed at rest.
    pub encrypts: bool,
    /// How long frames are kept; 0 is for ever.
    pub retention_seconds: u32,
    /// How long a pop's lease holds.
    pub lease_seconds: u32,
    /// Failed acks before a message becomes a dead letter.
    pub retry_limit: u32,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { encrypts: false, retention_seconds: 0, lease_seconds: 300, retry_limit: 3 }
    }
}

/// A frame to append.
#[derive(Clone, Debug)]
pub struct NewFrame {
    /// The queue, created where it does not exist.
    pub queue: String,
    /// The partition, created where it does not exist.
    pub partition: String,
    /// The frame's id.
    pub message_id: Uuid,
    /// The transaction id.
    pub txn: String,
    /// What it holds, packed so.
    pub payload: Vec<u8>,
    /// How it is packed.
    pub packing: Packing,
}

/// A frame as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The queue.
    pub queue: String,
    /// The partition.
    pub partition: String,
    /// The partition's id.
    pub partition_id: i64,
    /// Position within the partition.
    pub offset: i64,
    /// The frame's id.
    pub message_id: Uuid,
    /// The transaction id.
    pub txn: String,
    /// Who produced it.
    pub producer: Option<String>,
    /// When it entered the log.
    pub created_us: UnixMicros,
    /// What it holds.
    pub payload: Vec<u8>,
    /// How it is packed.
    pub packing: Packing,
}

/// Which messages to take.
#[derive(Clone, Debug)]
pub struct PopRequest {
    /// Whose.
    pub tenant: Arc<str>,
    /// The queue.
    pub queue: String,
    /// The partition; any where none is named.
    pub partition: Option<String>,
    /// The consumer group.
    pub group: String,
    /// Most messages.
    pub batch: u32,
    /// A group that is new begins at the end of the log.
    pub from_end: bool,
    /// Commit at delivery.
    pub auto_ack: bool,
}

/// Messages of one partition, under a lease unless committed at delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The lease.
    pub lease: Option<Uuid>,
    /// At least one, in order.
    pub frames: Vec<Frame>,
}

/// One ack.
#[derive(Clone, Debug)]
pub struct AckWrite {
    /// The message's transaction id.
    pub txn: String,
    /// Its partition.
    pub partition_id: i64,
    /// The consumer group.
    pub group: String,
    /// The lease; the group's live one where none is named.
    pub lease: Option<Uuid>,
    /// What became of the message.
    pub status: chronq::log::AckStatus,
    /// Why it failed.
    pub error: Option<String>,
}

/// Whether an ack was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acked {
    /// Settled.
    Taken,
    /// The lease is not the group's live one.
    NoLease,
    /// No unsettled message with that transaction id under the lease.
    NoMessage,
}

/// Which frames to look up.
#[derive(Clone, Debug, Default)]
pub struct FrameQuery {
    /// The queue.
    pub queue: String,
    /// Only this transaction id.
    pub txn: Option<String>,
    /// Only this partition.
    pub partition: Option<String>,
    /// Only frames since.
    pub from_us: Option<UnixMicros>,
    /// Only frames before.
    pub to_us: Option<UnixMicros>,
    /// At most so many, oldest first.
    pub limit: u32,
}

/// A dead letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Its id.
    pub id: i64,
    /// The consumer group; `__timer__` of a timer that could not be fired.
    pub group: String,
    /// Why it failed last.
    pub error: Option<String>,
    /// Attempts made.
    pub attempts: u32,
    /// When it failed.
    pub failed_us: UnixMicros,
    /// The message; a timer's has offset -1 and no partition of its own.
    pub frame: Frame,
}

/// Which dead letters to look up.
#[derive(Clone, Debug, Default)]
pub struct DeadLetterQuery {
    /// The queue.
    pub queue: Option<String>,
    /// The consumer group.
    pub group: Option<String>,
    /// The partition.
    pub partition: Option<String>,
    /// At most so many, newest first.
    pub limit: u32,
    /// After so many.
    pub offset: u32,
}

/// What became of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replayed {
    /// Appended again, under this id.
    Appended(Uuid),
    /// A timer's dead letter: it never had a consumer group.
    NotReplayable,
    /// No such dead letter.
    Unknown,
}

/// What a deleted queue held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogDeleted {
    /// Whether the queue existed.
    pub existed: bool,
    /// Frames deleted.
    pub messages: u64,
    /// Pending timers deleted.
    pub timers: u64,
}

/// The log.
#[async_trait]
pub trait LogStore: Send + Sync {
    /// Options of the queues that exist, of those named.
    async fn log_options(&self, tenant: &str, queues: Vec<String>) -> StoreResult<Vec<(String, LogOptions)>>;
    /// Creates a queue or replaces its options.
    async fn configure_log(&self, tenant: &str, queue: &str, options: LogOptions) -> StoreResult<()>;
    /// Appends frames in order.
    async fn append(
        &self,
        tenant: &str,
        producer: Option<Arc<str>>,
        frames: Vec<NewFrame>,
    ) -> StoreResult<()>;
    /// Takes messages of one partition.
    async fn pop(&self, request: PopRequest) -> StoreResult<Option<Taken>>;
    /// Settles messages; one answer per ack, in order.
    async fn ack(&self, tenant: &str, acks: Vec<AckWrite>) -> StoreResult<Vec<Acked>>;
    /// Prolongs a lease by its queue's lease time; the new end, or `None` where it does not hold.
    async fn extend_lease(&self, tenant: &str, lease: Uuid) -> StoreResult<Option<UnixMicros>>;
    /// Looks frames up, oldest first.
    async fn frames(&self, tenant: &str, query: FrameQuery) -> StoreResult<Vec<Frame>>;
    /// The newest frame of a partition with that transaction id.
    async fn newest_frame(&self, tenant: &str, partition_id: i64, txn: &str) -> StoreResult<Option<Frame>>;
    /// Dead letters, newest first, and how many there are in all.
    async fn dead_letters(&self, tenant: &str, query: DeadLetterQuery)
    -> StoreResult<(Vec<DeadLetter>, u64)>;
    /// Appends a dead letter to its queue again.
    async fn replay(&self, tenant: &str, id: i64, message_id: Uuid) -> StoreResult<Replayed>;
    /// Deletes a queue, its log and its timers.
    async fn delete_log(&self, tenant: &str, queue: &str) -> StoreResult<LogDeleted>;
    /// Deletes up to `limit` frames beyond their queue's retention; answers how many.
    async fn trim_log(&self, limit: u32) -> StoreResult<u64>;
    /// Changes whenever frames have entered the log in this process. Subscribe before you look.
    fn appended(&self) -> watch::Receiver<u64>;
}
