//! Callbacks: an outcome is reported once, best effort, never again
//! (contract/http-queue.md, "Delivery").

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chronq::contract::{Method, limits};
use chronq::publish::Callback;
use tokio::sync::Semaphore;

use super::attempt::SignedRequest;
use crate::metrics::instance;
use crate::service::messages::text_headers;
use crate::state::AppState;
use crate::store::types::Headers;
use crate::store::types::claim::{AttemptResponse, AttemptVerdict, Claimed, Settled};

/// Callbacks at once: a slow one must not hold up deliveries, nor many of them the machine.
const MAX_AT_ONCE: usize = 256;

/// The places of callbacks.
#[derive(Debug)]
pub(super) struct Callbacks(Arc<Semaphore>);

impl Default for Callbacks {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_AT_ONCE)))
    }
}

/// What a callback says (seed, "Callbacks").
#[derive(Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    message_id: uuid::Uuid,
    url: &'a str,
    status: u16,
    response_body: std::borrow::Cow<'a, str>,
    response_headers: BTreeMap<String, String>,
    response_truncated: bool,
    duration_ms: u64,
    retried: u32,
    max_retries: u32,
    labels: &'a [String],
}

/// Makes the callback that the outcome asks for. An outcome that was not committed (`Stale`) is
/// another process's to report.
pub(super) fn after(
    state: &AppState,
    message: &Claimed,
    response: &AttemptResponse,
    verdict: AttemptVerdict,
    settled: Settled,
) {
    let callback = match (verdict, settled) {
        (_, Settled::Stale) | (AttemptVerdict::Retry { .. }, _) => return,
        (AttemptVerdict::Completed, _) => &message.callback,
        (AttemptVerdict::Failed, _) => &message.failure_callback,
    };
    let Some(callback) = callback.clone() else { return };
    let body = report(message, response);
    let (state, id) = (state.clone(), message.id);
    let background = state.background.clone();
    background.spawn(async move {
        let places = Arc::clone(&state.engine.callbacks.0);
        // The semaphore is never closed.
        let _place = places.acquire_owned().await;
        send(&state, &callback, body, id).await;
    });
}

fn report(message: &Claimed, response: &AttemptResponse) -> Bytes {
    let report = Report {
        message_id: message.id,
        url: message.destination.as_str(),
        status: response.status,
        response_body: String::from_utf8_lossy(&response.body),
        response_headers: text_headers(&response.headers),
        response_truncated: response.truncated,
        duration_ms: response.duration_ms,
        retried: message.retried,
        max_retries: message.max_retries,
        labels: &message.labels,
    };
    // Plain strings and numbers always have a JSON form.
    serde_json::to_vec(&report).unwrap_or_default().into()
}

async fn send(state: &AppState, callback: &Callback, body: Bytes, id: uuid::Uuid) {
    let mut headers: Headers =
        callback.headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    if callback.headers.get("content-type").is_none() {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    let request = SignedRequest {
        destination: &callback.url,
        method: callback.method.unwrap_or(Method::Post),
        headers: &headers,
        body: &body,
        timeout: callback.timeout.unwrap_or(Duration::from_millis(limits::DEFAULT_CALLBACK_TIMEOUT_MS)),
    };
    let attempt = request.send(state, Vec::new()).await;
    let accepted = (200..300).contains(&attempt.status);
    instance::callback(accepted);
    if !accepted {
        tracing::warn!(
            message = %id,
            url = %callback.url,
            status = attempt.status,
            reason = %if attempt.status == 0 { String::from_utf8_lossy(&attempt.body) } else { "".into() },
            "a callback was not accepted; it is not made again"
        );
    }
}
