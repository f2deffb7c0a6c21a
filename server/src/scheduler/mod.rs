//! Schedules: when each runs next, what to do with one that came due, and the loop that does it.

pub mod enqueuer;
pub mod next;
pub mod plan;
