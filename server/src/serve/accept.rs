//! The accept loop: HTTP/1.1 over TCP with a bound on slow heads, and an end that drains.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use super::refusals;
use crate::routes;
use crate::state::AppState;

/// 64 forwarded headers, as many for each callback, and the options besides.
const MAX_REQUEST_HEADERS: usize = 256;
/// After an accept that failed (no file descriptors left, say) the loop must not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `stop`; true if everything in flight came to its end within the grace.
pub(super) async fn run(listener: TcpListener, state: AppState, stop: CancellationToken) -> bool {
    let router = routes::router(state.clone());
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let (router, stop) = (router.clone(), stop.clone());
                let header_timeout = state.config.header_timeout;
                connections.spawn(serve_connection(stream, router, header_timeout, stop));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    let grace = state.config.shutdown_grace;
    let (answered, finished) =
        tokio::join!(tokio::time::timeout(grace, connections.wait()), state.background.shutdown(grace),);
    state.store.close().await;
    answered.is_ok() && finished
}

async fn serve_connection(
    stream: TcpStream,
    router: Router,
    header_timeout: Duration,
    stop: CancellationToken,
) {
    // Small answers must not wait for the client's acknowledgement (Nagle).
    let _ = stream.set_nodelay(true);
    let answering = Arc::new(AtomicBool::new(false));
    let io = TokioIo::new(refusals::through(stream, Arc::clone(&answering)));
    let service = service_fn(move |request: http::Request<Incoming>| {
        answering.store(true, Ordering::Release);
        let router = router.clone();
        async move {
            match router.oneshot(request.map(Body::new)).await {
                Ok(response) => Ok::<_, Infallible>(response),
                Err(never) => match never {},
            }
        }
    });
    let mut builder = http1::Builder::new();
    // A client may close its sending side and wait for the answer.
    builder
        .half_close(true)
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .max_headers(MAX_REQUEST_HEADERS);
    let mut connection = pin!(builder.serve_connection(io, service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
