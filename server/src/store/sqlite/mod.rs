//! The embedded store: one file (or memory), one writer thread, readers apart.
//!
//! WAL with `synchronous=FULL`: what is answered survives a power cut. One server process per file,
//! held by a lock; so leases of a process that died are taken back as soon as the next one opens it,
//! and what is due soon may live in memory ([`near`]).

mod admin;
mod claims;
mod deliver;
mod due;
mod frame_log;
mod frames;
mod groups;
mod log;
mod memory;
mod messages;
mod migrate;
mod near;
mod publish;
mod purge;
mod queues;
mod readers;
mod rows;
mod schedules;
mod sweep;
mod timer_store;
mod timers;
mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection, ErrorCode};
use tokio::sync::broadcast;

use super::clock::Clock;
use super::error::{OpenError, StoreError};
use super::ids::IdMint;
use super::types::queue::Wake;
use super::{Role, Store, StoreResult};

use memory::Memory;
use readers::Readers;
use writer::Writer;
pub(crate) use writer::Writing;

/// How long a statement waits for another process (a command on the same file) before it gives up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const WAKES: usize = 1_024;
/// Bounds the page cache of the writer, in KiB.
const CACHE_KIB: i64 = 16_384;

/// The embedded store.
#[derive(Debug)]
pub struct SqliteStore {
    writer: Writer,
    readers: Option<Readers>,
    memory: Arc<Mutex<Memory>>,
    ids: Arc<IdMint>,
    clock: Clock,
    wakes: broadcast::Sender<Wake>,
    timers: timer_store::TimerMemory,
    /// Held as long as the store is.
    lock: Option<File>,
}

impl SqliteStore {
    /// Opens a file, making and migrating it where needed.
    pub(crate) fn open_file(path: &Path, role: Role, clock: Clock) -> Result<Self, OpenError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .map_err(|error| unavailable(&format!("{}: {error}", folder.display())))?;
        }
        let lock = match role {
            Role::Serve => Some(lock(path)?),
            Role::Tool => None,
        };
        let connection = Connection::open(path).map_err(failure)?;
        let mut store = Self::on(connection, role, clock)?;
        store.readers = Some(Readers::start(path)?);
        store.lock = lock;
        Ok(store)
    }

    /// Opens a store that ends with the process.
    pub(crate) fn open_in_memory(clock: Clock) -> Result<Self, OpenError> {
        Self::on(Connection::open_in_memory().map_err(failure)?, Role::Serve, clock)
    }

    fn on(mut connection: Connection, role: Role, clock: Clock) -> Result<Self, OpenError> {
        connection.busy_timeout(BUSY_TIMEOUT).map_err(failure)?;
        connection.set_prepared_statement_cache_capacity(128);
        // An in-memory database answers "memory" to the first and has nothing to sync.
        connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(())).map_err(failure)?;
        connection.pragma_update(None, "synchronous", "FULL").map_err(failure)?;
        connection.pragma_update(None, "cache_size", -CACHE_KIB).map_err(failure)?;
        connection.pragma_update(None, "temp_store", "MEMORY").map_err(failure)?;
        migrate::run(&mut connection)?;
        if role == Role::Serve {
            deliver::take_back_all(&connection)?;
        }
        let memory = Memory::read(&connection)?;
        Ok(Self {
            writer: Writer::start(connection)?,
            readers: None,
            memory: Arc::new(Mutex::new(memory)),
            ids: Arc::new(IdMint::new()),
            clock,
            wakes: broadcast::channel(WAKES).0,
            timers: timer_store::TimerMemory::default(),
            lock: None,
        })
    }

    /// Runs a job in the writer's transaction; answers after the commit.
    pub(crate) async fn write<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Writing<'_>) -> StoreResult<T> + Send + 'static,
    {
        self.writer.write(work).await
    }

    /// Runs a query on one snapshot. In memory there is one connection: it waits for the writer.
    pub(crate) async fn read<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    {
        match &self.readers {
            Some(readers) => readers.read(work).await,
            None => self.writer.write(move |writing| work(writing.connection)).await,
        }
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, wake: Wake) {
        // Without a listener nobody sleeps.
        let _ = self.wakes.send(wake);
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn wakes(&self) -> broadcast::Receiver<Wake> {
        self.wakes.subscribe()
    }

    fn parallel_publishes(&self) -> usize {
        // One is being committed while the next one is collected.
        2
    }

    fn parallel_settlements(&self) -> usize {
        2
    }

    async fn ping(&self) -> StoreResult<()> {
        self.write(|writing| writing.connection.query_row("SELECT 1", [], |_| Ok(())).map_err(failure)).await
    }

    async fn close(&self) {
        self.writer.stop();
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // The next server may open the file only when the last job is done.
        self.writer.stop();
        self.lock.take();
    }
}

/// Keeps a second server off the file: it would not see what this one holds in memory.
fn lock(path: &Path) -> Result<File, OpenError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&name)
        .map_err(|error| unavailable(&format!("{}: {error}", name.display())))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(OpenError::InUse(path.display().to_string())),
        Err(std::fs::TryLockError::Error(error)) => {
            Err(unavailable(&format!("{}: {error}", name.display())).into())
        }
    }
}

fn unavailable(reason: &str) -> StoreError {
    StoreError::Unavailable(reason.to_owned())
}

/// What an error of SQLite means to the caller.
#[expect(clippy::needless_pass_by_value, reason = "it is passed to map_err by name")]
pub(crate) fn failure(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::OutOfMemory
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::OperationInterrupted
            | ErrorCode::FileLockingProtocolFailed,
        ) => StoreError::Unavailable(error.to_string()),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Corrupt(error.to_string()),
        _ => StoreError::Internal(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use chronq::contract::TimerStatus;
    use chronq::timer::Delay;
    use chronq::timer::accept::Put;
    use uuid::Uuid;

    use super::*;
    use crate::store::QueueStore;
    use crate::store::timers::{PutTimer, TimerCall, TimerStore, TimerWrite, TimersApplied};
    use crate::store::types::message::{Enqueued, HandOver, NewMessage};

    fn large() -> NewMessage {
        let url = chronq::Destination::parse("destination", "https://example.com/").expect("a destination");
        NewMessage::new(chronq::Name::default_queue(), url, vec![b'x'; 1_000_000])
    }

    async fn set_most_pages(store: &SqliteStore, pages: i64) {
        store
            .write(move |writing| {
                writing.connection.pragma_update(None, "max_page_count", pages).map_err(failure)
            })
            .await
            .expect("sets");
    }

    #[tokio::test]
    async fn a_full_disk_is_unavailable_and_passes_when_there_is_room() {
        let store = SqliteStore::open_in_memory(Clock::new()).expect("opens");
        set_most_pages(&store, 200).await;
        let refused = store.enqueue(vec![large()], HandOver::default()).await.expect_err("full");
        assert!(refused.is_temporary(), "{refused:?}");
        set_most_pages(&store, 100_000).await;
        let answer = store.enqueue(vec![large()], HandOver::default()).await.expect("enqueues");
        assert!(matches!(answer.outcomes[0], Enqueued::Queued { .. }));
    }

    fn call(write: TimerWrite) -> TimerCall {
        TimerCall { tenant: "default".into(), producer: None, max_pending: None, writes: vec![write] }
    }

    fn due_now() -> TimerCall {
        let put = Put {
            queue: "q".to_owned(),
            timer_key: "k".to_owned(),
            partition: "Default".to_owned(),
            delay: Delay::from_millis(0),
            txn: "t".to_owned(),
            payload: bytes::Bytes::from_static(b"{}"),
            zstd: false,
            encrypted: false,
        };
        call(TimerWrite::Put(PutTimer { put, message_id: Uuid::from_u128(1), sealed: false }))
    }

    #[tokio::test]
    async fn a_timer_stays_claimed_where_the_commit_of_its_fire_fails() {
        let store = SqliteStore::open_in_memory(Clock::new()).expect("opens");
        store.apply_timer_ops(due_now()).await.expect("puts");
        let claim = store.claim_due_timers(10, 30_000_000).await.expect("claims");
        let ids = vec![claim.timers[0].id];
        let jobs = async {
            tokio::join!(
                store.fire_timers(claim.token, ids.clone()),
                store.write(|writing| writing.connection.execute_batch("ROLLBACK").map_err(failure)),
            )
        };
        let (fired, broken) = writer::meet(&store.writer, jobs).await;
        assert!(fired.is_err() && broken.is_err(), "{fired:?} {broken:?}");
        let (queue, timer_key) = ("q".to_owned(), "k".to_owned());
        let cancel = call(TimerWrite::Cancel { queue, timer_key, txn: None });
        let TimersApplied::Done(outcomes) = store.apply_timer_ops(cancel).await.expect("applies") else {
            panic!("over quota")
        };
        assert_eq!(outcomes[0].status(), TimerStatus::TooLate);
        let fired = store.fire_timers(claim.token, ids).await.expect("fires");
        assert_eq!((fired.lags_us.len(), fired.stale), (1, 0));
    }
}
