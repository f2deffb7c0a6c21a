//! What the server can do: one function per use case. Routes, admin pages and the command line call
//! these; these call the store.

pub mod access;
pub mod groups;
pub mod keys;
pub mod log;
pub mod messages;
pub mod metrics;
pub mod publish;
pub mod queues;
mod refusal;
pub mod schedules;
pub mod tenants;
pub mod timers;
pub mod tokens;

pub use refusal::Refusal;
