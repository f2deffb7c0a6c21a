//! Benchmarks of the server: publish → delivered, and timers. Each interleaves its contenders in one run,
//! reports medians, and verifies what it counts.

mod contender;
mod delivery;
mod load;
mod receiver;
mod report;
mod timers;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

/// What goes wrong in a benchmark ends it, with a sentence.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Which benchmark.
#[derive(Debug, Parser)]
enum Benchmark {
    /// Publish → delivered.
    Delivery(delivery::Options),
    /// Timers scheduled, fired and taken back, and what a million that wait cost.
    Timers(timers::Options),
}

fn main() -> ExitCode {
    let benchmark = Benchmark::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let outcome = runtime.map_err(Into::into).and_then(|runtime| {
        runtime.block_on(async {
            match &benchmark {
                Benchmark::Delivery(options) => delivery::run(options).await,
                Benchmark::Timers(options) => timers::run(options).await,
            }
        })
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of messages is far below 2^53")]
pub(crate) fn rate(count: usize, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64()
}
