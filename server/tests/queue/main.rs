//! The HTTP queue over raw HTTP, on SQLite: each test's name is a sentence of the contract
//! (contract/http-queue.md). `queue_postgres` runs the same on Postgres.

#![expect(clippy::expect_used, clippy::panic, reason = "a test's helper fails the test")]

mod batch;
mod callbacks;
mod deduplication;
mod delivery;
mod groups;
mod guard;
mod messages;
mod process;
mod publish;
mod queues;
mod robustness;
mod support;
mod tls;

use chronq_server::config::Database;

/// The store that these tests run on.
#[expect(clippy::unused_async, reason = "the same tests wait for a database on Postgres")]
async fn database() -> Database {
    Database::Memory
}
