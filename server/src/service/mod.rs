//! What the server can do: one function per use case. Routes, admin pages and the command line call
//! these; these call the store.

pub mod access;
pub mod keys;
pub mod metrics;
pub mod schedules;
pub mod tokens;
