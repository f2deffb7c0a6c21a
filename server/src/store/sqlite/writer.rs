//! The one writer: a thread that owns the connection and commits together what waits together.
//!
//! It takes what is queued, never waits for more, runs all jobs in one transaction and answers them after
//! the commit, so that one fsync serves everyone who waits. A job that fails undoes itself only; a commit
//! that fails fails them all.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::store::error::StoreError;

use super::failure;

/// Most jobs of one transaction: bounds how long the first of them waits for its answer.
const MAX_GROUP: usize = 1_024;

/// What runs after the outcome of a job is known: keeps memory in step with the disk.
type Hook = Box<dyn FnOnce() + Send>;

/// The handle of the thread.
#[derive(Debug)]
pub(crate) struct Writer {
    orders: Sender<Order>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Order {
    Run(Box<dyn Job>),
    Stop,
}

/// A job's view: the connection inside the transaction.
pub(crate) struct Writing<'c> {
    /// The connection; a job must not begin or end transactions on it.
    pub(crate) connection: &'c Connection,
    hooks: Hooks,
}

#[derive(Default)]
struct Hooks {
    on_commit: Vec<Hook>,
    on_rollback: Vec<Hook>,
}

impl Writing<'_> {
    /// Runs when the job is committed, before it is answered, in the order of the jobs.
    pub(crate) fn on_commit(&mut self, hook: impl FnOnce() + Send + 'static) {
        self.hooks.on_commit.push(Box::new(hook));
    }

    /// Runs when the job, or the commit, fails.
    pub(crate) fn on_rollback(&mut self, hook: impl FnOnce() + Send + 'static) {
        self.hooks.on_rollback.push(Box::new(hook));
    }
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(connection: Connection) -> Result<Self, StoreError> {
        let (orders, inbox) = channel();
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || serve(&connection, &inbox))
            .map_err(|error| StoreError::Unavailable(format!("no writer thread: {error}")))?;
        Ok(Self { orders, thread: Mutex::new(Some(thread)) })
    }

    /// Runs a job and answers after it is committed. It runs even where the caller stops waiting.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Writing<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job = Pending { work: Some(work), result: None, hooks: Hooks::default(), answer };
        let closed = || StoreError::Unavailable("the store is closed".to_owned());
        self.orders.send(Order::Run(Box::new(job))).map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    /// Ends the thread after what is queued.
    pub(crate) fn stop(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A thread that is gone already needs no order.
        let _ = self.orders.send(Order::Stop);
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

trait Job: Send {
    /// Runs inside the transaction.
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError>;
    /// Takes the outcome: its own where it failed, else that of the commit.
    fn finish(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Pending<T, F> {
    work: Option<F>,
    result: Option<Result<T, StoreError>>,
    hooks: Hooks,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job for Pending<T, F>
where
    T: Send,
    F: FnOnce(&mut Writing<'_>) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let Some(work) = self.work.take() else { return Ok(()) };
        let mut writing = Writing { connection, hooks: Hooks::default() };
        let result = catch_unwind(AssertUnwindSafe(|| work(&mut writing)))
            .unwrap_or_else(|_| Err(StoreError::Internal("a job panicked".to_owned())));
        self.hooks = writing.hooks;
        let outcome = result.as_ref().map(|_| ()).map_err(Clone::clone);
        self.result = Some(result);
        outcome
    }

    fn finish(self: Box<Self>, committed: Result<(), StoreError>) {
        let result = match committed {
            Ok(()) => self
                .result
                .unwrap_or_else(|| Err(StoreError::Internal("a job was answered before it ran".to_owned()))),
            Err(error) => Err(error),
        };
        let hooks = if result.is_ok() { self.hooks.on_commit } else { self.hooks.on_rollback };
        for hook in hooks {
            hook();
        }
        // A caller that has gone away needs no answer.
        let _ = self.answer.send(result);
    }
}

fn serve(connection: &Connection, inbox: &Receiver<Order>) {
    while let Ok(Order::Run(first)) = inbox.recv() {
        let mut group = vec![first];
        let mut stop = false;
        while group.len() < MAX_GROUP {
            match inbox.try_recv() {
                Ok(Order::Run(job)) => group.push(job),
                Ok(Order::Stop) => {
                    stop = true;
                    break;
                }
                Err(_) => break,
            }
        }
        commit_together(connection, group);
        if stop {
            return;
        }
    }
}

fn commit_together(connection: &Connection, mut group: Vec<Box<dyn Job>>) {
    let outcomes = run_group(connection, &mut group);
    match outcomes {
        Ok(outcomes) => {
            for (job, outcome) in group.into_iter().zip(outcomes) {
                job.finish(outcome);
            }
        }
        Err(error) => {
            if !connection.is_autocommit() {
                // The error that led here is the one to report.
                let _ = connection.execute_batch("ROLLBACK");
            }
            for job in group {
                job.finish(Err(error.clone()));
            }
        }
    }
}

/// One outcome per job after the commit, or the error that undid them all.
fn run_group(
    connection: &Connection,
    group: &mut [Box<dyn Job>],
) -> Result<Vec<Result<(), StoreError>>, StoreError> {
    execute(connection, "BEGIN IMMEDIATE")?;
    let mut outcomes = Vec::with_capacity(group.len());
    // The first job that succeeds needs no savepoint, which would keep a copy of every page it changes:
    // before it there is nothing to save.
    let mut is_empty = true;
    for job in group.iter_mut() {
        if !is_empty {
            execute(connection, "SAVEPOINT job")?;
        }
        let outcome = job.run(connection);
        // Some errors (a full disk) end the whole transaction by themselves, also where a job hides them.
        if connection.is_autocommit() {
            return Err(outcome
                .err()
                .unwrap_or_else(|| StoreError::Internal("a transaction ended early".to_owned())));
        }
        if outcome.is_err() {
            if is_empty {
                execute(connection, "ROLLBACK")?;
                execute(connection, "BEGIN IMMEDIATE")?;
            } else {
                execute(connection, "ROLLBACK TO job")?;
            }
        }
        if !is_empty {
            execute(connection, "RELEASE job")?;
        }
        is_empty &= outcome.is_err();
        outcomes.push(outcome);
    }
    execute(connection, "COMMIT")?;
    Ok(outcomes)
}

fn execute(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    connection.prepare_cached(sql).and_then(|mut statement| statement.execute([])).map_err(failure)?;
    Ok(())
}

/// Lets the jobs of a future, which sends them when it is first polled, meet in one transaction: the writer
/// is kept busy until they all wait.
#[cfg(test)]
pub(crate) async fn meet<T>(writer: &Writer, jobs: impl Future<Output = T>) -> T {
    let (start, started) = oneshot::channel();
    let (go, gate) = channel();
    let busy = writer.write(move |_| {
        start.send(()).expect("somebody waits");
        gate.recv().expect("a signal");
        Ok(())
    });
    let met = async {
        started.await.expect("the writer lives");
        tokio::join!(jobs, async { go.send(()).expect("the writer lives") }).0
    };
    let (busy, met) = tokio::join!(busy, met);
    busy.expect("nothing was written");
    met
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer() -> Writer {
        let connection = Connection::open_in_memory().expect("opens");
        connection.execute_batch("CREATE TABLE t (n INTEGER UNIQUE)").expect("creates");
        Writer::start(connection).expect("starts")
    }

    async fn insert(writer: &Writer, n: i64) -> Result<(), StoreError> {
        writer
            .write(move |w| w.connection.execute("INSERT INTO t VALUES (?1)", [n]).map(drop).map_err(failure))
            .await
    }

    async fn rows(writer: &Writer) -> i64 {
        writer
            .write(|w| {
                w.connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).map_err(failure)
            })
            .await
            .expect("counts")
    }

    #[tokio::test]
    async fn a_job_that_fails_undoes_itself_only() {
        let writer = writer();
        let (one, again, two) = tokio::join!(insert(&writer, 1), insert(&writer, 1), insert(&writer, 2));
        assert_eq!((one.is_ok(), again.is_ok(), two.is_ok()), (true, false, true));
        assert_eq!(rows(&writer).await, 2);
    }

    #[tokio::test]
    async fn jobs_that_fail_first_undo_themselves_only() {
        let writer = writer();
        let insert_and_fail = |n| {
            writer.write(move |w| {
                w.connection.execute("INSERT INTO t VALUES (?1)", [n]).map_err(failure)?;
                Err::<(), _>(StoreError::Internal("on purpose".to_owned()))
            })
        };
        let jobs = async {
            tokio::join!(insert_and_fail(1), insert_and_fail(2), insert(&writer, 3), insert_and_fail(4))
        };
        let (first, second, third, fourth) = meet(&writer, jobs).await;
        assert_eq!(
            (first.is_ok(), second.is_ok(), third.is_ok(), fourth.is_ok()),
            (false, false, true, false)
        );
        let left = writer.write(|w| {
            w.connection.query_row("SELECT group_concat(n) FROM t", [], |row| row.get(0)).map_err(failure)
        });
        assert_eq!(left.await, Ok("3".to_owned()));
    }

    #[tokio::test]
    async fn a_job_that_panics_undoes_itself_and_the_writer_lives() {
        let writer = writer();
        let failed: Result<(), StoreError> = writer
            .write(|w| {
                w.connection.execute("INSERT INTO t VALUES (7)", []).map_err(failure)?;
                panic!("on purpose")
            })
            .await;
        assert_eq!(failed, Err(StoreError::Internal("a job panicked".to_owned())));
        assert_eq!(rows(&writer).await, 0);
    }

    #[tokio::test]
    async fn a_transaction_that_a_job_ended_takes_nothing_of_the_next_one_with_it() {
        let writer = writer();
        let jobs = async {
            tokio::join!(
                writer.write(|w| w.connection.execute_batch("ROLLBACK").map_err(failure)),
                insert(&writer, 1)
            )
        };
        let (ended, next) = meet(&writer, jobs).await;
        assert_eq!((ended.is_err(), next.is_err()), (true, true));
        assert_eq!(rows(&writer).await, 0);
    }

    #[tokio::test]
    async fn hooks_follow_the_outcome() {
        let writer = writer();
        let (told, heard) = std::sync::mpsc::channel();
        let ok = told.clone();
        writer
            .write(move |w| {
                w.on_commit(move || ok.send("committed").expect("heard"));
                Ok(())
            })
            .await
            .expect("commits");
        let failed: Result<(), StoreError> = writer
            .write(move |w| {
                w.on_rollback(move || told.send("undone").expect("heard"));
                Err(StoreError::Internal("on purpose".to_owned()))
            })
            .await;
        assert!(failed.is_err());
        assert_eq!(heard.iter().collect::<Vec<_>>(), ["committed", "undone"]);
    }

    #[tokio::test]
    async fn a_stopped_writer_is_unavailable() {
        let writer = writer();
        writer.stop();
        assert_eq!(insert(&writer, 1).await, Err(StoreError::Unavailable("the store is closed".to_owned())));
    }
}
