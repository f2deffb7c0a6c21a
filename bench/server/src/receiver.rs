//! The receiver: verifies every signature and counts distinct message ids.

use std::collections::HashSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use chronq::contract::headers;
use chronq::signature::{Body, Delivery, Receiver};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::Outcome;

/// What was received since the last reset.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    receiver: Mutex<Option<Arc<Receiver>>>,
    seen: Mutex<Seen>,
    refused: AtomicUsize,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Seen {
    ids: HashSet<String>,
    last: Option<Instant>,
    /// How many somebody waits for: who is woken for each message takes part in what is measured.
    awaited: usize,
}

impl Tally {
    /// From now on deliveries are signed under this key.
    pub(crate) fn trust(&self, key: &str) -> Outcome<()> {
        let receiver = Arc::new(Receiver::new(key, None)?);
        *self.receiver.lock().unwrap_or_else(PoisonError::into_inner) = Some(receiver);
        Ok(())
    }

    fn receiver(&self) -> Option<Arc<Receiver>> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn reset(&self) {
        *self.lock() = Seen::default();
    }

    /// When the last new message came.
    pub(crate) fn last(&self) -> Instant {
        self.lock().last.unwrap_or_else(Instant::now)
    }

    /// Until `count` distinct messages were received.
    pub(crate) async fn wait_for(&self, count: usize, patience: Duration) -> Outcome<()> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let changed = self.changed.notified();
            let (have, refused) = (self.await_count(count), self.refused.load(Ordering::Relaxed));
            if refused > 0 {
                return Err(format!("{refused} deliveries were refused").into());
            }
            if have >= count {
                return Ok(());
            }
            if tokio::time::timeout_at(deadline, changed).await.is_err() {
                return Err(format!("only {have} of {count} messages were delivered in {patience:?}").into());
            }
        }
    }

    /// How many there are, now that somebody waits for `count`.
    fn await_count(&self, count: usize) -> usize {
        let mut seen = self.lock();
        seen.awaited = count;
        seen.ids.len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, id: String) {
        let mut seen = self.lock();
        if seen.ids.insert(id) {
            seen.last = Some(Instant::now());
        }
        let enough = seen.ids.len() >= seen.awaited;
        drop(seen);
        if enough {
            self.changed.notify_waiters();
        }
    }
}

/// Listens on a free port of the loopback.
pub(crate) async fn start(tally: Arc<Tally>) -> Outcome<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let tally = Arc::clone(&tally);
            // Small answers on a fast network: Nagle would only add waits.
            let _ = stream.set_nodelay(true);
            tokio::spawn(async move {
                let service = service_fn(|request| answer(request, &tally));
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Ok(address)
}

async fn answer(request: Request<Incoming>, tally: &Tally) -> Result<Response<Empty<Bytes>>, Infallible> {
    let text =
        |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (signature, id) = (text(headers::SIGNATURE), text(headers::MESSAGE_ID));
    let body =
        request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let delivery = Delivery { signature: signature.as_deref().into(), body: Body::Raw(&body), url: None };
    let receiver = tally.receiver();
    let verified = receiver.and_then(|receiver| receiver.verify(&delivery, i64::try_from(now).ok()?).ok());
    let mut response = Response::new(Empty::new());
    if let (Some(_), Some(id)) = (verified, id) {
        tally.count(id);
    } else {
        tally.refused.fetch_add(1, Ordering::Relaxed);
        tally.changed.notify_waiters();
        *response.status_mut() = StatusCode::UNAUTHORIZED;
    }
    Ok(response)
}
