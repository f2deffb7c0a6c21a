//! The store: everything that outlives the process, behind verbs of use cases.
//!
//! A verb is one transaction and is answered by a closed set; what it answers is committed. Every
//! change is conditional on the state and the lease that the caller thinks it owns. Two stores stand
//! behind the same traits, each with its own SQL: embedded SQLite and Postgres.
//!
//! ```text
//!            enqueue              claim              settle: Completed
//!   (none) ───────────▶ created ─────────▶ active ─────────────────────▶ completed
//!      │                 │    ▲              │ │
//!      │ enqueue with    │    │ rescue       │ │ settle: Failed
//!      │ hand-over       │    │ (retried=0)  │ └───────────────────────▶ failed ──┐ retry by hand
//!      ▼                 │    └──────────────┤                             ▲      │
//!    active              │                   │ settle: Retry, or rescue    │      │
//!                        │                   ▼                             │      │
//!                        │       claim ◀── retry ◀─────────────────────────┼──────┘
//!                        │                   │
//!                        └───── cancel ──────┴─────▶ cancelled
//! ```

pub mod clock;
mod draft;
mod encoding;
pub mod error;
pub mod front;
mod ids;
pub mod log;
mod migrations;
mod postgres;
mod sqlite;
#[cfg(test)]
mod suite;
pub mod timers;
mod topology;
pub mod types;
mod url;

use std::sync::Arc;

use async_trait::async_trait;
use chronq::queue::QueueSettings;
use chronq::{Destination, Name, Secret};
use tokio::sync::broadcast;
use uuid::Uuid;

pub use clock::Clock;
pub use error::{OpenError, StoreError};
pub use log::LogStore;
pub use postgres::PostgresStore;
pub use sqlite::SqliteStore;
pub use timers::TimerStore;
pub use types::UnixMillis;
pub use url::DatabaseUrl;

use types::admin::{KeyActivation, KeyStaging, NewToken, Setting, SigningKey, Token, TokenKind};
use types::claim::{Cancelled, ClaimRequest, Claimed, RetriedByHand, Settled, Settlement};
use types::event::{EventFilter, EventPage, Message};
use types::group::{Group, GroupAddition};
use types::message::{EnqueueAnswer, HandOver, NewMessage};
use types::queue::{Queue, QueueAgenda, QueueDeleted, QueueMetrics, QueuePut, Wake};
use types::schedule::{DueSchedule, Schedule, ScheduleFire, ScheduleFired, SchedulePut, ScheduleSpec};

/// What a process opens the store for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// To serve: on SQLite it is the only one, and takes back what the process before had claimed.
    Serve,
    /// To run a command beside a server: tokens, keys, tenants.
    Tool,
}

/// Opens a store, making and migrating it where needed.
///
/// # Errors
/// [`OpenError`] where it is unreachable, in use, or newer than this program.
pub async fn open(url: &DatabaseUrl, role: Role, clock: Clock) -> Result<Arc<dyn Store>, OpenError> {
    match url {
        DatabaseUrl::Memory => Ok(Arc::new(SqliteStore::open_in_memory(clock)?)),
        DatabaseUrl::Sqlite(path) => Ok(Arc::new(SqliteStore::open_file(path, role, clock)?)),
        DatabaseUrl::Postgres(url) => Ok(Arc::new(PostgresStore::open(url.expose(), clock).await?)),
    }
}

/// The answer of a verb.
pub type StoreResult<T> = Result<T, StoreError>;

/// Messages: publishing, delivering, the event log.
#[async_trait]
pub trait QueueStore: Send + Sync {
    /// Queues messages; each is decided on its own, all are committed together. Up to the reserved
    /// places of `hand_over`, those due now come back claimed.
    async fn enqueue(&self, messages: Vec<NewMessage>, hand_over: HandOver) -> StoreResult<EnqueueAnswer>;

    /// Takes messages that are due, under a lease: as many as asked for, unless fewer are due. Oldest due
    /// first; what came to lie before the messages of earlier claims may wait for a second beside them.
    async fn claim(&self, request: ClaimRequest) -> StoreResult<Vec<Claimed>>;

    /// Ends attempts; one answer per settlement, in order.
    async fn settle(&self, settlements: Vec<Settlement>) -> StoreResult<Vec<Settled>>;

    /// Puts back messages whose lease has passed, so that the attempt is made again; answers how many.
    async fn rescue(&self) -> StoreResult<u64>;

    /// Queues with messages that wait, with the first instant at which one is due.
    async fn agenda(&self) -> StoreResult<Vec<QueueAgenda>>;

    /// One message.
    async fn message(&self, id: Uuid) -> StoreResult<Option<Message>>;

    /// Takes a message back.
    async fn cancel(&self, id: Uuid) -> StoreResult<Cancelled>;

    /// Gives a failed message one more attempt, due now.
    async fn retry_failed(&self, id: Uuid) -> StoreResult<RetriedByHand>;

    /// A page of the event log.
    async fn events(&self, filter: EventFilter) -> StoreResult<EventPage>;

    /// What each queue has done since `since`, and what waits.
    async fn queue_metrics(&self, since: UnixMillis) -> StoreResult<Vec<QueueMetrics>>;

    /// Deletes up to `limit` messages beyond their queue's retention, messages of deleted queues, and
    /// deduplication keys beyond their window; answers how many rows went. Call again while it is `limit`.
    async fn purge(&self, limit: u32) -> StoreResult<u64>;
}

/// Queues and URL groups.
#[async_trait]
pub trait TopologyStore: Send + Sync {
    /// Makes or replaces a queue's settings.
    async fn put_queue(&self, name: Name, settings: QueueSettings) -> StoreResult<QueuePut>;
    /// Every queue, by name; `default` always among them.
    async fn queues(&self) -> StoreResult<Vec<Queue>>;
    /// One queue; `default` is always found.
    async fn queue(&self, name: &Name) -> StoreResult<Option<Queue>>;
    /// Deletes a queue and its messages.
    async fn delete_queue(&self, name: &Name) -> StoreResult<QueueDeleted>;

    /// Adds endpoints, making the group if it is missing.
    async fn add_to_group(&self, name: Name, endpoints: Vec<Destination>) -> StoreResult<GroupAddition>;
    /// Removes endpoints; the group may become empty. `None`: no such group.
    async fn remove_from_group(&self, name: &Name, endpoints: Vec<Destination>)
    -> StoreResult<Option<Group>>;
    /// Every group, by name.
    async fn groups(&self) -> StoreResult<Vec<Group>>;
    /// One group.
    async fn group(&self, name: &Name) -> StoreResult<Option<Group>>;
    /// Deletes a group; `false` where there was none.
    async fn delete_group(&self, name: &Name) -> StoreResult<bool>;
}

/// Schedules.
#[async_trait]
pub trait ScheduleStore: Send + Sync {
    /// Makes or replaces a schedule; ends any lease on it.
    async fn put_schedule(
        &self,
        spec: ScheduleSpec,
        next_run: Option<UnixMillis>,
    ) -> StoreResult<SchedulePut>;
    /// Every schedule, by name.
    async fn schedules(&self) -> StoreResult<Vec<Schedule>>;
    /// One schedule.
    async fn schedule(&self, name: &Name) -> StoreResult<Option<Schedule>>;
    /// Deletes a schedule; `false` where there was none. Its queue and runs stay.
    async fn delete_schedule(&self, name: &Name) -> StoreResult<bool>;
    /// Takes schedules that are due, for `lease_ms`.
    async fn claim_due_schedules(&self, limit: usize, lease_ms: u64) -> StoreResult<Vec<DueSchedule>>;
    /// Queues the run and moves the schedule on, in one transaction.
    async fn fire_schedule(&self, fire: ScheduleFire) -> StoreResult<ScheduleFired>;
    /// When the first schedule is due.
    async fn next_schedule_due(&self) -> StoreResult<Option<UnixMillis>>;
}

/// Tokens, signing keys and the server's own settings.
#[async_trait]
pub trait AdminStore: Send + Sync {
    /// Stores a token. One of kind `Publish` replaces the one before.
    async fn put_token(&self, kind: TokenKind, token: NewToken) -> StoreResult<Token>;
    /// Every token, oldest first.
    async fn tokens(&self) -> StoreResult<Vec<Token>>;
    /// Ends a token; `false` where there was none.
    async fn revoke_token(&self, id: Uuid) -> StoreResult<bool>;
    /// Notes when tokens were last used; never moves back.
    async fn touch_tokens(&self, used: Vec<(Uuid, UnixMillis)>) -> StoreResult<()>;

    /// Every signing key, newest first.
    async fn signing_keys(&self) -> StoreResult<Vec<SigningKey>>;
    /// Makes a new key sign at once; the one that signed verifies.
    async fn rotate_signing_key(&self, key: Secret) -> StoreResult<SigningKey>;
    /// Stores a key that does not sign yet.
    async fn stage_signing_key(&self, key: Secret) -> StoreResult<KeyStaging>;
    /// Makes the staged key sign.
    async fn activate_signing_key(&self) -> StoreResult<KeyActivation>;
    /// Deletes the keys that only verify; answers how many.
    async fn prune_signing_keys(&self) -> StoreResult<u64>;

    /// A setting.
    async fn setting(&self, setting: Setting) -> StoreResult<Option<Vec<u8>>>;
    /// Writes a setting.
    async fn put_setting(&self, setting: Setting, value: Vec<u8>) -> StoreResult<()>;
    /// Writes a setting where there is none; answers what is there now, so that of several processes
    /// that start at once all take the first one's.
    async fn init_setting(&self, setting: Setting, value: Vec<u8>) -> StoreResult<Vec<u8>>;
}

/// All of it.
#[async_trait]
pub trait Store: QueueStore + TopologyStore + ScheduleStore + AdminStore + TimerStore + LogStore {
    /// The clock that every verb reads.
    fn clock(&self) -> &Clock;
    /// Hints for loops that sleep; subscribe before you look.
    fn wakes(&self) -> broadcast::Receiver<Wake>;
    /// How many batches of publishes are worth running at once: see [`front`].
    fn parallel_publishes(&self) -> usize;
    /// How many batches of settlements: nobody waits for one, so fewer and larger ones cost less.
    fn parallel_settlements(&self) -> usize;
    /// Answers when the store does.
    async fn ping(&self) -> StoreResult<()>;
    /// Ends what the store runs in the background; what was answered is on disk already.
    async fn close(&self);
}
