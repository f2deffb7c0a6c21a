//! `/api/v1/timers`: the four routes (contract/timers.md, "The four routes").

use axum::Json;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use chronq::contract::{ErrorCode, TimerReason, limits, paths};
use chronq::timer::rules;
use http::{HeaderMap, StatusCode, Uri};
use serde::Serialize;

use super::body::read_body;
use super::coded::{Caller, Query, percent_decode};
use crate::auth::{Read, ReadWrite, Write};
use crate::error::ApiError;
use crate::service::timers;
use crate::state::AppState;

pub(super) fn router() -> Router<AppState> {
    Router::new()
        .route(paths::TIMERS, post(apply))
        .route(&format!("{}/{{*timer}}", paths::TIMERS), get(read).delete(cancel))
}

async fn apply(
    State(state): State<AppState>,
    caller: Caller<Write>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    #[derive(Serialize)]
    struct Results<T> {
        results: Vec<T>,
    }

    let most = timers::max_body_bytes(&state);
    let body = read_body(&headers, body, most).await.map_err(|error| too_large(error, most))?;
    Ok(match timers::apply(&state, &caller.identity, &body).await {
        Ok(results) => Json(Results { results }).into_response(),
        Err(refused) => (refused.headers(), refused.error).into_response(),
    })
}

/// A body that no legal call can have is refused in the shape of these routes, too.
fn too_large(error: ApiError, most: usize) -> ApiError {
    if error.status() != StatusCode::PAYLOAD_TOO_LARGE {
        return error;
    }
    let reason = Some(TimerReason::PayloadTooLarge.as_str());
    let detail = format!("the call is over {most} bytes, more than its operations can hold");
    ApiError::coded(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::PayloadTooLarge, reason, detail)
}

/// `{queue}` lists, `{queue}/{key}` peeks.
async fn read(State(state): State<AppState>, caller: Caller<Read>, uri: Uri) -> Result<Response, ApiError> {
    let (queue, timer_key) = segments(&uri)?;
    match timer_key {
        Some(timer_key) => peek(&state, &caller, queue, timer_key).await,
        None => list(&state, &caller, &queue, &Query::of(&uri)).await,
    }
}

async fn peek(
    state: &AppState,
    caller: &Caller<Read>,
    queue: String,
    timer_key: String,
) -> Result<Response, ApiError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Missed {
        found: bool,
        queue: String,
        timer_key: String,
    }

    Ok(match timers::peek(state, &caller.identity, &queue, &timer_key).await? {
        Some(timer) => Json(timer).into_response(),
        None => Json(Missed { found: false, queue, timer_key }).into_response(),
    })
}

async fn list(
    state: &AppState,
    caller: &Caller<Read>,
    queue: &str,
    query: &Query,
) -> Result<Response, ApiError> {
    let limit = query.clamped("limit", limits::DEFAULT_TIMER_LIST_LIMIT, limits::MAX_TIMER_LIST_LIMIT);
    let page = timers::list(state, &caller.identity, queue, query.text("after"), limit).await?;
    Ok(Json(page).into_response())
}

async fn cancel(
    State(state): State<AppState>,
    caller: Caller<ReadWrite>,
    uri: Uri,
) -> Result<Response, ApiError> {
    let (queue, timer_key) = segments(&uri)?;
    let timer_key = timer_key.ok_or_else(|| bad_key("the path must name a queue and a timer key"))?;
    let txn = Query::of(&uri).text("txn").map(str::to_owned);
    let outcome = timers::cancel(&state, &caller.identity, queue, timer_key, txn).await?;
    sabotage!(TooLateIsAnError => if matches!(outcome, chronq::timer::TimerOutcome::TooLate(_)) {
        return Err(ApiError::new(StatusCode::CONFLICT, "too late"));
    });
    Ok(Json(outcome).into_response())
}

/// Queue and key of a path, decoded once: `tenant/42` and `tenant%2F42` are one key.
fn segments(uri: &Uri) -> Result<(String, Option<String>), ApiError> {
    let rest = uri.path().strip_prefix(paths::TIMERS).and_then(|rest| rest.strip_prefix('/')).unwrap_or("");
    let (queue, timer_key) = match rest.split_once('/') {
        Some((queue, timer_key)) => (queue, Some(percent_decode(timer_key))),
        None => (rest, None),
    };
    let queue = percent_decode(queue);
    if !rules::is_queue(&queue) {
        let detail = format!("the path must name a queue of 1 to {} bytes", limits::MAX_TIMER_QUEUE_BYTES);
        return Err(bad(TimerReason::QueueRequired, detail));
    }
    if timer_key.as_ref().is_some_and(|key| !rules::is_timer_key(key)) {
        return Err(bad_key(&format!(
            "the path must name a timer key of 1 to {} bytes",
            limits::MAX_TIMER_KEY_BYTES
        )));
    }
    Ok((queue, timer_key))
}

fn bad_key(detail: &str) -> ApiError {
    bad(TimerReason::KeyRequired, detail.to_owned())
}

fn bad(reason: TimerReason, detail: String) -> ApiError {
    ApiError::coded(StatusCode::BAD_REQUEST, ErrorCode::TimersBadRequest, Some(reason.as_str()), detail)
}
