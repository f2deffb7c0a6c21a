//! `/v2/queues`.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use chronq::Name;
use chronq::contract::{limits, paths};
use chronq::queue::{Queue, QueueSettings};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::body::read_body;
use super::path::Path;
use crate::auth::{Authorized, Read, ReadWrite, Write};
use crate::error::ApiError;
use crate::service::queues::{self, Put};
use crate::state::AppState;

pub(super) fn router() -> Router<AppState> {
    Router::new()
        .route(paths::QUEUES, get(list))
        .route(&format!("{}/{{name}}", paths::QUEUES), get(find).put(put).delete(delete))
}

async fn list(State(state): State<AppState>, _: Authorized<Read>) -> Result<Json<Vec<Queue>>, ApiError> {
    Ok(Json(queues::list(&state).await?))
}

async fn find(
    State(state): State<AppState>,
    _: Authorized<Read>,
    Path(name): Path<String>,
) -> Result<Json<Queue>, ApiError> {
    Ok(Json(queues::get(&state, &known(&name)?).await?))
}

async fn put(
    State(state): State<AppState>,
    _: Authorized<Write>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let name = Name::parse("name", &name)?;
    let body = read_body(&headers, body, limits::MAX_BODY_BYTES).await?;
    let settings = QueueSettings::from_json(&body)?;
    Ok(match queues::put(&state, name, settings).await? {
        Put::Made(queue) => (StatusCode::CREATED, Json(queue)).into_response(),
        Put::Changed(queue) => Json(queue).into_response(),
    })
}

async fn delete(
    State(state): State<AppState>,
    _: Authorized<ReadWrite>,
    Path(name): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let name = known(&name)?;
    queues::delete(&state, &name).await?;
    Ok(Json(json!({ "name": name, "deleted": true })))
}

/// What is no name names no queue.
fn known(name: &str) -> Result<Name, ApiError> {
    Name::parse("name", name).map_err(|_| ApiError::not_found(format!("no such queue: \"{name}\"")))
}
