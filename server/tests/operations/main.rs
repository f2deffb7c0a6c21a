//! Schedules, tokens, signing keys, metrics and the description of the routes, over raw HTTP against
//! a server that was started whole.
#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/postgres.rs"]
mod postgres;
#[macro_use]
mod server;

mod command_line;
mod keys;
mod log;
mod metrics;
mod openapi;
mod retention;
mod schedules;
mod tokens;
