//! Schedules: when each runs next, and the loop that makes the runs.

pub mod next;
