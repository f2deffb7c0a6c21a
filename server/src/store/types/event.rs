//! Messages as the event log shows them.

use chronq::contract::{MessageState, Method};
use chronq::{Destination, Name};
use uuid::Uuid;

use super::UnixMillis;
use super::claim::AttemptResponse;

/// One message of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its id.
    pub id: Uuid,
    /// Its queue.
    pub queue: Name,
    /// Where it stands.
    pub state: MessageState,
    /// Where it goes.
    pub destination: Destination,
    /// How.
    pub method: Method,
    /// Its labels.
    pub labels: Vec<String>,
    /// The schedule whose run it is.
    pub schedule: Option<Name>,
    /// The failed message that it replaces.
    pub dead_letter_of: Option<Uuid>,
    /// When it was published.
    pub created_at: UnixMillis,
    /// When the next attempt is (or the last one was) due.
    pub due_at: UnixMillis,
    /// When the last attempt began.
    pub started_at: Option<UnixMillis>,
    /// When it reached a final state.
    pub finished_at: Option<UnixMillis>,
    /// Retries so far.
    pub retried: u32,
    /// Retries it may have.
    pub max_retries: u32,
    /// The last attempt's outcome.
    pub response: Option<AttemptResponse>,
}

/// Which messages of the log are asked for; every given filter must match. Newest first.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// Of this queue; an unknown one has none.
    pub queue: Option<Name>,
    /// In this state.
    pub state: Option<MessageState>,
    /// With this label.
    pub label: Option<String>,
    /// Runs of this schedule.
    pub schedule: Option<Name>,
    /// How many at most.
    pub limit: u32,
    /// How many of the newest to skip.
    pub offset: u32,
}

/// A page of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPage {
    /// The page.
    pub messages: Vec<Message>,
    /// How many match without limit and offset.
    pub total: u64,
}
