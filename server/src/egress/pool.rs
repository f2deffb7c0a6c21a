//! Connections that are kept between requests, newest first.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use chronq::Destination;
use http_body_util::Full;
use hyper::client::conn::http1::SendRequest;
use tokio::task::JoinHandle;

/// As many as the largest queue delivers at once.
const MAX_KEPT_PER_AUTHORITY: usize = 100;
const MAX_KEPT: usize = 1_000;
/// Shorter than most servers keep an idle connection.
const MAX_IDLE: Duration = Duration::from_secs(15);
const TURN_TIMEOUT: Duration = Duration::from_millis(20);

/// A connection to one authority. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) sender: SendRequest<Full<Bytes>>,
    /// Whether it may carry another request.
    pub(super) is_reusable: bool,
    driver: Driver,
}

#[derive(Debug)]
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        // What is left of an answer is not read: the connection is dropped (contract: "Response kept").
        self.0.abort();
    }
}

impl Connection {
    pub(super) fn new(sender: SendRequest<Full<Bytes>>, driver: JoinHandle<()>, is_reusable: bool) -> Self {
        Self { sender, is_reusable, driver: Driver(driver) }
    }

    /// Whether another request can be sent now. The connection's own task may still be turning from
    /// the last answer to the next request, which takes no time worth a new connection; one that is
    /// stuck in an unread request is not waited for.
    pub(super) async fn is_ready(&mut self) -> bool {
        if self.sender.is_ready() {
            return true;
        }
        tokio::time::timeout(TURN_TIMEOUT, self.sender.ready()).await.is_ok_and(|ready| ready.is_ok())
    }

    fn is_open(&self) -> bool {
        !self.sender.is_closed() && !self.driver.0.is_finished()
    }
}

#[derive(Debug, Default)]
pub(super) struct Pool {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    by_authority: HashMap<String, Vec<(Instant, Connection)>>,
    count: usize,
}

impl Pool {
    /// A connection that seems alive, the one used last.
    pub(super) fn take(&self, destination: &Destination) -> Option<Connection> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(destination);
        loop {
            let (since, connection) = kept.by_authority.get_mut(&key)?.pop()?;
            kept.count -= 1;
            if since.elapsed() < MAX_IDLE && connection.is_open() {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection whose answer has been read to its end.
    pub(super) fn put(&self, destination: &Destination, connection: Connection, now: Instant) {
        if !connection.is_open() {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.count >= MAX_KEPT {
            kept.drop_idle(now);
        }
        if kept.count >= MAX_KEPT {
            return;
        }
        let connections = kept.by_authority.entry(key(destination)).or_default();
        if connections.len() < MAX_KEPT_PER_AUTHORITY {
            connections.push((now, connection));
            kept.count += 1;
        }
    }
}

impl Kept {
    fn drop_idle(&mut self, now: Instant) {
        for connections in self.by_authority.values_mut() {
            connections
                .retain(|(since, connection)| now.duration_since(*since) < MAX_IDLE && connection.is_open());
        }
        self.by_authority.retain(|_, connections| !connections.is_empty());
        self.count = self.by_authority.values().map(Vec::len).sum();
    }
}

/// Scheme and authority as written: two spellings of one host are two keys, which costs a connection
/// and never mixes hosts up.
fn key(destination: &Destination) -> String {
    format!("{:?} {}", destination.scheme(), destination.authority())
}
