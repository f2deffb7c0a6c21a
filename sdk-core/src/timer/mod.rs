//! Timers: a message that is not in the log yet, and that you can take back (contract/timers.md).
//!
//! One struct per operation. [`Schedule`], [`Reschedule`], [`Cancel`] and [`TimerBatch`] write,
//! [`Peek`] and [`List`] read, [`Settle`] asks the log what became of an absent timer. Both ends use
//! the same rules ([`rules`]) and the same element ([`TimerOutcome`]); the server's reading of a whole
//! call is [`accept`].

pub mod rules;

#[cfg(feature = "server")]
pub mod accept;
mod outcome;
mod read;
mod settle;
mod write;

pub use outcome::{Absent, Cancelled, Placed, TimerOutcome, TooLate};
pub use read::{List, Peek, PeekedTimer, TimerPage, TimerRow};
pub use rules::Delay;
pub use settle::{Settle, Settled};
pub(crate) use write::check_queue;
pub use write::{BatchOperation, Cancel, NewTimer, Reschedule, Schedule, TimerBatch};
