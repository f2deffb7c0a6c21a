//! The readers: threads with a read-only connection each. A query sees one snapshot.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::oneshot;

use crate::store::error::StoreError;

use super::failure;

const THREADS: usize = 2;

type Query = Box<dyn FnOnce(&Connection) + Send>;

/// The handle of the threads; they end when it is dropped.
#[derive(Debug)]
pub(crate) struct Readers {
    queries: Sender<Query>,
}

impl Readers {
    /// Starts the threads.
    pub(crate) fn start(path: &Path) -> Result<Self, StoreError> {
        let (queries, inbox) = channel::<Query>();
        let inbox = Arc::new(Mutex::new(inbox));
        for number in 0..THREADS {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(path, flags).map_err(failure)?;
            connection.busy_timeout(super::BUSY_TIMEOUT).map_err(failure)?;
            connection.set_prepared_statement_cache_capacity(64);
            let inbox = Arc::clone(&inbox);
            std::thread::Builder::new()
                .name(format!("sqlite-reader-{number}"))
                .spawn(move || serve(&connection, &inbox))
                .map_err(|error| StoreError::Unavailable(format!("no reader thread: {error}")))?;
        }
        Ok(Self { queries })
    }

    /// Runs a query on a snapshot.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let query: Query = Box::new(move |connection| {
            // A caller that has gone away needs no answer.
            let _ = answer.send(on_snapshot(connection, work));
        });
        let closed = || StoreError::Unavailable("the store is closed".to_owned());
        self.queries.send(query).map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }
}

fn on_snapshot<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.execute_batch("BEGIN").map_err(failure)?;
    let result = catch_unwind(AssertUnwindSafe(|| work(connection)))
        .unwrap_or_else(|_| Err(StoreError::Internal("a query panicked".to_owned())));
    // A snapshot has nothing to lose.
    let _ = connection.execute_batch("ROLLBACK");
    result
}

fn serve(connection: &Connection, inbox: &Mutex<Receiver<Query>>) {
    loop {
        let next = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match next {
            Ok(query) => query(connection),
            Err(_) => return,
        }
    }
}
