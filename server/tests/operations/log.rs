//! Everything that the servers of this process log, at the finest level.

use std::io::Write;
use std::sync::{Mutex, Once, PoisonError};

static WRITTEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static BEGUN: Once = Once::new();

struct Kept;

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Keeps the log from here on.
pub(crate) fn keep() {
    BEGUN.call_once(|| {
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(|| Kept)
            .init();
    });
}

/// What was logged so far.
pub(crate) fn text() -> String {
    String::from_utf8_lossy(&WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}
