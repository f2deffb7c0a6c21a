//! The reference server: HTTP queue, timers and log.
//!
//! [`Server::start`] runs all of it in one process; the binary `chronq`, the tests and the
//! conformance suite start it so.
//!
//! A message in five hops: `routes::publish` → `service::publish` → `store.enqueue` (acknowledged) →
//! `delivery::engine`: claim, attempt → `delivery::decide` → `store.settle`, then the callback.

/// A place that is wrong on purpose where the process was told so; nothing at all in any build without the
/// feature `sabotage`.
macro_rules! sabotage {
    ($fault:ident => $broken:expr) => {
        #[cfg(feature = "sabotage")]
        if chronq::sabotage::is(chronq::sabotage::Fault::$fault) {
            $broken;
        }
    };
}

pub mod auth;
pub mod cli;
pub mod config;
pub mod delivery;
pub mod dev;
pub mod egress;
pub mod error;
pub mod metrics;
pub mod openapi;
pub mod refresh;
pub mod retention;
mod rewriting;
pub mod routes;
#[cfg(feature = "sabotage")]
mod sabotage;
pub mod scheduler;
pub mod serve;
pub mod service;
pub mod signing;
pub mod state;
pub mod store;
pub mod supervise;
pub mod testing;
pub mod timers;

pub use config::Config;
pub use serve::{Running, Server, StartError};
pub use state::AppState;
