//! What is left when a server is killed or its database is stopped, under load: nothing that was
//! acknowledged is lost, and no timer fires twice.

#![expect(clippy::expect_used, clippy::panic, reason = "a test's helper fails the test")]

#[path = "../support/own_postgres.rs"]
mod own_postgres;
#[path = "../support/postgres.rs"]
mod postgres;

mod database;
mod load;
mod messages;
mod process;
mod timers;
