//! The client: an [`Exchange`](crate::exchange::Exchange) driven over reqwest. [`Client`] is async; the feature
//! `blocking` adds [`blocking::Client`] for code without a runtime of its own.
//!
//! ```no_run
//! use chronq::client::Client;
//! use chronq::publish::{Content, PublishOptions};
//!
//! # async fn example() -> Result<(), chronq::Error> {
//! let client = Client::from_env()?;
//! let order = Content::json(&serde_json::json!({"order": 7}))?;
//! let published = client.publish("https://example.com/hook", order, PublishOptions::default()).await?;
//! println!("{}", client.messages().get(published.message_id.as_str()).await?.state);
//! # Ok(())
//! # }
//! ```

mod asynchronous;
#[cfg(feature = "blocking")]
pub mod blocking;
mod builder;
mod driver;
mod surface;
mod transport;

#[cfg(test)]
mod tests;

pub use asynchronous::{Client, Groups, Log, Messages, Queues, Schedules, TimerRows, Timers};
pub use builder::ClientBuilder;
