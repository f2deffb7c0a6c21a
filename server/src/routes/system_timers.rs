//! `/api/v1/system/timers`: the operator's two switches.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use chronq::contract::paths;

use super::body::Whole;
use super::coded::Caller;
use crate::auth::Admin;
use crate::error::ApiError;
use crate::service::tenants;
use crate::state::AppState;
use crate::store::timers::TimerSwitches;

pub(super) fn router() -> Router<AppState> {
    Router::new().route(paths::SYSTEM_TIMERS, get(read).post(change))
}

async fn read(State(state): State<AppState>, _: Caller<Admin>) -> Json<TimerSwitches> {
    Json(state.timers.switches())
}

/// A switch that is not named stays: the two are independent.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    schedule: Option<bool>,
    fire: Option<bool>,
}

async fn change(
    State(state): State<AppState>,
    _: Caller<Admin>,
    Whole(body): Whole,
) -> Result<Json<TimerSwitches>, ApiError> {
    let change: Change = serde_json::from_slice(&body).map_err(|error| {
        ApiError::bad_request(format!("the body must be {{\"schedule\":bool,\"fire\":bool}}: {error}"))
    })?;
    let known = state.timers.switches();
    let switches = TimerSwitches {
        schedule: change.schedule.unwrap_or(known.schedule),
        fire: change.fire.unwrap_or(known.fire),
    };
    tenants::put_switches(&state, switches).await?;
    Ok(Json(switches))
}
