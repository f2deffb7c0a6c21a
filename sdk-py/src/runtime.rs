//! The one runtime of the process, started by its first call.

use std::sync::OnceLock;

use chronq::Error;
use tokio::runtime::{Builder, Runtime};

/// Two threads drive all connections: one could be held up while it hands a result to Python.
const THREADS: usize = 2;

/// The runtime, unless this process is a fork of one that had started it: threads do not survive a fork.
pub(crate) fn runtime() -> Result<&'static Runtime, Error> {
    static STARTED_IN: OnceLock<u32> = OnceLock::new();

    let here = std::process::id();
    let started_in = *STARTED_IN.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(THREADS).thread_name("chronq").enable_all();
        pyo3_async_runtimes::tokio::init(builder);
        here
    });
    if started_in == here {
        return Ok(pyo3_async_runtimes::tokio::get_runtime());
    }
    let message = format!(
        "this process was forked from {started_in} after chronq had been used there, and its threads stayed \
         behind: make the first call after the fork, or start processes with spawn or forkserver"
    );
    Err(Error::transport(message, false))
}
