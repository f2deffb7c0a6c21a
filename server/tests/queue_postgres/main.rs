//! The HTTP queue over raw HTTP, on Postgres: the tests of `queue`, and those that need several
//! processes on one database.

#![expect(clippy::expect_used, clippy::panic, reason = "a test's helper fails the test")]

#[path = "../queue/batch.rs"]
mod batch;
#[path = "../queue/callbacks.rs"]
mod callbacks;
#[path = "../queue/deduplication.rs"]
mod deduplication;
#[path = "../queue/delivery.rs"]
mod delivery;
#[path = "../queue/groups.rs"]
mod groups;
#[path = "../queue/guard.rs"]
mod guard;
#[path = "../queue/messages.rs"]
mod messages;
#[path = "../support/postgres.rs"]
mod postgres;
#[path = "../queue/publish.rs"]
mod publish;
#[path = "../queue/queues.rs"]
mod queues;
#[path = "../queue/support.rs"]
mod support;
mod together;

use chronq_server::config::Database;

/// The store that these tests run on: a schema of its own for each.
async fn database() -> Database {
    Database::Postgres(postgres::fresh_url().await.into())
}
