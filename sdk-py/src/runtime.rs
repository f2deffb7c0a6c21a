//! The one runtime of the process, started by its first call, and the gate between its threads and Python.
//!
//! A thread that is inside Python while the interpreter ends brings the process down. So the runtime's
//! threads enter Python only through [`enter`], and an exit handler closes that gate: it waits for those
//! inside, and lets nobody in after them.

use std::sync::{OnceLock, PoisonError, RwLock};

use chronq::Error;
use pyo3::prelude::*;
use pyo3::sync::OnceLockExt;
use tokio::runtime::{Builder, Runtime};

/// Two threads drive all connections: one could be held up while it hands a result to Python.
const THREADS: usize = 2;

/// Whether the interpreter is ending.
static CLOSED: RwLock<bool> = RwLock::new(false);

/// The runtime, unless this process is a fork of one that had started it: threads do not survive a fork.
pub(crate) fn runtime(py: Python<'_>) -> Result<&'static Runtime, Error> {
    static STARTED: OnceLock<(u32, Result<Runtime, String>)> = OnceLock::new();

    let here = std::process::id();
    let (started_in, runtime) = STARTED.get_or_init_py_attached(py, || (here, start(py)));
    if *started_in != here {
        let message = format!(
            "this process was forked from {started_in} after chronq had been used there, and its threads \
             stayed behind: make the first call after the fork, or start processes with spawn or forkserver"
        );
        return Err(Error::transport(message, false));
    }
    if *CLOSED.read().unwrap_or_else(PoisonError::into_inner) {
        return Err(Error::transport("the interpreter is shutting down", false));
    }
    runtime.as_ref().map_err(|reason| Error::transport(reason.as_str(), false))
}

fn start(py: Python<'_>) -> Result<Runtime, String> {
    let registered = py.import("atexit").and_then(|atexit| {
        let close = wrap_pyfunction!(close, py)?;
        atexit.call_method1("register", (close,))
    });
    registered.map_err(|error| format!("the exit handler cannot be registered: {error}"))?;
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(THREADS).thread_name("chronq").enable_all();
    builder.build().map_err(|error| format!("the runtime cannot be started: {error}"))
}

/// Runs `work` inside Python, unless the interpreter is ending.
pub(crate) fn enter(work: impl FnOnce(Python<'_>)) {
    let closed = CLOSED.read().unwrap_or_else(PoisonError::into_inner);
    if !*closed {
        Python::attach(work);
    }
}

/// The exit handler. Python runs it while other threads can still enter.
#[pyfunction]
fn close(py: Python<'_>) {
    py.detach(|| *CLOSED.write().unwrap_or_else(PoisonError::into_inner) = true);
}
