//! `/dev/timers/fault`: how `too_late` and failing fires are seen on purpose.

use std::time::Duration;

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::state::AppState;
use crate::timers::failure::FailureClass;
use crate::timers::faults::{Fault, Harm};

pub(super) fn router() -> Router<AppState> {
    Router::new().route("/dev/timers/fault", post(add).delete(clear))
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FaultBody {
    queue: String,
    timer_key: Option<String>,
    hold_ms: Option<u64>,
    fail: Option<FailureClass>,
    times: Option<u32>,
}

async fn add(State(state): State<AppState>, body: Bytes) -> Result<Json<Value>, ApiError> {
    let body: FaultBody =
        serde_json::from_slice(&body).map_err(|error| ApiError::bad_request(format!("body: {error}")))?;
    let harm = match (body.hold_ms, body.fail, body.times) {
        (Some(ms), None, None) => Harm::Hold(Duration::from_millis(ms)),
        (None, Some(class), times) => Harm::Fail { class, times: times.unwrap_or(1).max(1) },
        _ => return Err(ApiError::bad_request("give either holdMs, or fail with times")),
    };
    state.timers.faults.add(Fault { queue: body.queue, timer_key: body.timer_key, harm });
    Ok(Json(json!({})))
}

async fn clear(State(state): State<AppState>) -> Json<Value> {
    state.timers.faults.clear();
    Json(json!({}))
}
