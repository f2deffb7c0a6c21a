//! Schedules and their runs.

use bytes::Bytes;
use chronq::contract::{Method, Missed};
use chronq::{Destination, Name};

use super::message::{Enqueued, NewMessage};
use super::{Headers, UnixMillis};

/// What a schedule does and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleSpec {
    /// Its name.
    pub name: Name,
    /// The expression as it was given: cron or RRULE.
    pub expression: String,
    /// IANA name of the zone it is read in.
    pub timezone: String,
    /// What happens to occurrences that came due while nothing ran.
    pub missed: Missed,
    /// Where a run goes.
    pub destination: Destination,
    /// How.
    pub method: Method,
    /// What it carries.
    pub headers: Headers,
    /// The exact bytes.
    pub body: Bytes,
    /// Bound of one attempt, in milliseconds.
    pub timeout_ms: u64,
    /// The queue its runs go through.
    pub queue: ScheduleQueue,
    /// Told once when a run fails for good.
    pub failure_callback: Option<Destination>,
    /// Whether it runs.
    pub enabled: bool,
    /// For people.
    pub description: Option<String>,
}

/// The queue of a schedule's runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleQueue {
    /// Named: must exist.
    Named(Name),
    /// Its own, called as the schedule and made with it where it is missing.
    Own,
}

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// What it does.
    pub spec: ScheduleSpec,
    /// When it runs next; `None` when it is disabled or has no further occurrence.
    pub next_run: Option<UnixMillis>,
    /// When it last ran.
    pub last_run: Option<UnixMillis>,
    /// When it was made: from here an RRULE without DTSTART counts.
    pub created_at: UnixMillis,
    /// When it was last put.
    pub updated_at: UnixMillis,
}

impl Schedule {
    /// The queue its runs go through.
    pub fn queue(&self) -> &Name {
        match &self.spec.queue {
            ScheduleQueue::Named(name) => name,
            ScheduleQueue::Own => &self.spec.name,
        }
    }
}

/// What became of a put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedulePut {
    /// It is new.
    Created(Schedule),
    /// It was there; the edit holds from the next run on.
    Updated(Schedule),
    /// Its queue does not exist: nothing was written.
    UnknownQueue,
}

/// A schedule that is due, under a lease: several instances make one run.
#[derive(Clone, Debug)]
pub struct DueSchedule {
    /// The schedule.
    pub schedule: Schedule,
    /// The occurrence that came due.
    pub due_at: UnixMillis,
    /// The right to run it.
    pub lease: ScheduleLease,
}

/// The right to run a schedule once; an edit ends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleLease {
    pub(crate) name: Name,
    pub(crate) claim: i64,
}

/// What is done with a schedule that is due.
#[derive(Clone, Debug)]
pub struct ScheduleFire {
    /// The right to do it.
    pub lease: ScheduleLease,
    /// The run; `None` where the occurrence was missed and is skipped.
    pub run: Option<NewMessage>,
    /// When it is due next; `None` when there is no further occurrence.
    pub next_run: Option<UnixMillis>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleFired {
    /// The run was queued (or refused by its queue) and the schedule moved on, in one transaction.
    Ran(Enqueued),
    /// It moved on without a run.
    Skipped,
    /// Another instance ran it, or it was edited or deleted: nothing was written.
    Stale,
}
