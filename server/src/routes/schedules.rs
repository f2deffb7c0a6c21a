//! `/v2/schedules`.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use chronq::Name;
use chronq::contract::{limits, paths};
use chronq::schedule::{Schedule, ScheduleInfo, ScheduleRun};
use http::{HeaderMap, StatusCode};

use super::body::read_body;
use super::path::Path;
use crate::auth::{Authorized, Read, ReadWrite, Write};
use crate::error::ApiError;
use crate::service::schedules::{self, Put, ScheduleError};
use crate::state::AppState;

/// A schedule's body grows when it is written as JSON, six bytes for one at worst.
const MAX_PUT_BYTES: usize = 6 * limits::MAX_BODY_BYTES + 65_536;

/// The routes.
pub(super) fn router() -> Router<AppState> {
    let one = format!("{}/{{name}}", paths::SCHEDULES);
    Router::new()
        .route(paths::SCHEDULES, get(list).post(put))
        .route(&one, get(find).delete(remove))
        .route(&format!("{one}/run"), post(run))
}

async fn put(
    State(state): State<AppState>,
    _: Authorized<Write>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let body = read_body(&headers, body, MAX_PUT_BYTES).await?;
    let schedule = Schedule::from_json(&body)?;
    Ok(match schedules::put(&state, schedule).await? {
        Put::Made(info) => (StatusCode::CREATED, Json(info)).into_response(),
        Put::Changed(info) => Json(info).into_response(),
    })
}

async fn list(
    State(state): State<AppState>,
    _: Authorized<Read>,
) -> Result<Json<Vec<ScheduleInfo>>, ApiError> {
    Ok(Json(schedules::list(&state).await?))
}

async fn find(
    State(state): State<AppState>,
    _: Authorized<Read>,
    Path(name): Path<String>,
) -> Result<Json<ScheduleInfo>, ApiError> {
    Ok(Json(schedules::get(&state, &known(&name)?).await?))
}

async fn remove(
    State(state): State<AppState>,
    _: Authorized<ReadWrite>,
    Path(name): Path<String>,
) -> Result<Json<serde_json::Value>, ApiError> {
    let name = known(&name)?;
    schedules::delete(&state, &name).await?;
    Ok(Json(serde_json::json!({ "name": name, "deleted": true })))
}

async fn run(
    State(state): State<AppState>,
    _: Authorized<Write>,
    Path(name): Path<String>,
) -> Result<Json<ScheduleRun>, ApiError> {
    Ok(Json(schedules::run_now(&state, &known(&name)?).await?))
}

/// What is no name names no schedule.
fn known(name: &str) -> Result<Name, ApiError> {
    Name::parse("name", name).map_err(|_| ApiError::not_found(format!("unknown schedule: \"{name}\"")))
}

impl From<ScheduleError> for ApiError {
    fn from(error: ScheduleError) -> Self {
        match error {
            ScheduleError::Refused(input) => input.into(),
            ScheduleError::NotFound(_) => Self::not_found(error.to_string()),
            ScheduleError::UnknownQueue(_) | ScheduleError::QueueDisabled(_) => {
                Self::bad_request(error.to_string())
            }
            ScheduleError::Store(error) => error.into(),
        }
    }
}
