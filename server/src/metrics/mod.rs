//! What an operator's monitoring reads at `/metrics`: the service as the store sees it, read at each
//! scrape, and this process from its own memory.

pub mod instance;
pub mod service;

/// The content type of the Prometheus text format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How far back the store's gauges look.
pub const WINDOW_MS: i64 = 24 * 3_600_000;
