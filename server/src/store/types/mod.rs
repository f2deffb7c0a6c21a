//! What goes into the store and what comes out of it: plain values and closed answers.

pub mod admin;
pub mod claim;
pub mod event;
pub mod group;
pub mod message;
pub mod queue;
pub mod schedule;

/// Unix time in milliseconds.
pub type UnixMillis = i64;

/// Header names and values in the order in which they were given.
pub type Headers = Vec<(String, String)>;
