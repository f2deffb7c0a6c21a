//! The log: what makes a delivered timer readable and its `txn` findable (contract/timers.md, "The log").

mod find;
mod push;
mod take;

pub use find::{Find, LogMessage};
pub use push::{Configure, Configured, Push, PushItem, Pushed};
pub use take::{Ack, AckResult, AckStatus, Pop, Popped, PoppedMessage};
