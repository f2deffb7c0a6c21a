//! The reference server.

pub mod scheduler;
pub mod store;
