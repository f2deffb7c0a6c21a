//! chronq: publish to an HTTP queue, verify its signed deliveries, schedule timers you can take back.
//!
//! The crate is pure by default: no async runtime, no HTTP client, no clock, no randomness. Time,
//! jitter and responses are arguments, so the same code runs in a server, in Python, in Node and at
//! the edge. The feature `client` adds an async client, `blocking` a blocking one.
//!
//! * [`signature::Receiver`] verifies a delivery.
//! * [`operation::Operation`] is one call; [`exchange::Exchange`] repeats it as long as that is right.
//! * [`contract`] holds the names, limits and closed sets that everything else takes from here.

/// A place that is wrong on purpose where the process was told so; nothing at all in any build without the
/// feature `sabotage`.
macro_rules! sabotage {
    ($fault:ident => $broken:expr) => {
        #[cfg(feature = "sabotage")]
        if $crate::sabotage::is($crate::sabotage::Fault::$fault) {
            $broken;
        }
    };
}

pub mod batch;
pub mod call;
#[cfg(feature = "client")]
pub mod client;
pub mod contract;
pub mod destination;
pub mod duration;
pub mod error;
pub mod exchange;
pub mod group;
pub mod ids;
pub mod input;
pub mod instant;
pub mod json;
pub mod log;
pub mod message;
pub mod mint;
pub mod operation;
pub mod publish;
pub mod queue;
pub mod retry;
pub mod retry_after;
#[cfg(feature = "sabotage")]
pub mod sabotage;
pub mod schedule;
pub mod secret;
pub mod signature;
mod text;
pub mod timer;
pub mod wire;

pub use destination::Destination;
pub use error::{Error, ErrorKind};
pub use ids::{MessageId, Name};
pub use input::InvalidInput;
pub use instant::Instant;
pub use secret::Secret;
