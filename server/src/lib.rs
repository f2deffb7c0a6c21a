//! The reference server.

pub mod store;
