//! `/v2/topics`: URL groups.

use axum::body::Body;
use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use chronq::contract::{limits, paths};
use chronq::group::{Group, endpoints_from_json};
use chronq::{Destination, Name};
use http::HeaderMap;
use serde_json::{Value, json};

use super::body::read_body;
use super::path::Path;
use crate::auth::{Authorized, Read, ReadWrite, Write};
use crate::error::ApiError;
use crate::service::groups;
use crate::state::AppState;

pub(super) fn router() -> Router<AppState> {
    let one = format!("{}/{{name}}", paths::TOPICS);
    Router::new()
        .route(paths::TOPICS, get(list))
        .route(&one, get(find).delete(delete))
        .route(&format!("{one}/endpoints"), post(add).delete(remove))
}

async fn list(State(state): State<AppState>, _: Authorized<Read>) -> Result<Json<Vec<Group>>, ApiError> {
    Ok(Json(groups::list(&state).await?))
}

async fn find(
    State(state): State<AppState>,
    _: Authorized<Read>,
    Path(name): Path<String>,
) -> Result<Json<Group>, ApiError> {
    Ok(Json(groups::get(&state, &known(&name)?).await?))
}

async fn add(
    State(state): State<AppState>,
    _: Authorized<Write>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Group>, ApiError> {
    let name = Name::parse("name", &name)?;
    let urls = read_urls(&headers, body).await?;
    Ok(Json(groups::add(&state, name, urls).await?))
}

async fn remove(
    State(state): State<AppState>,
    _: Authorized<ReadWrite>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Group>, ApiError> {
    let name = known(&name)?;
    let urls = read_urls(&headers, body).await?;
    Ok(Json(groups::remove(&state, &name, urls).await?))
}

async fn delete(
    State(state): State<AppState>,
    _: Authorized<ReadWrite>,
    Path(name): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let name = known(&name)?;
    groups::delete(&state, &name).await?;
    Ok(Json(json!({ "name": name, "deleted": true })))
}

async fn read_urls(headers: &HeaderMap, body: Body) -> Result<Vec<Destination>, ApiError> {
    let body = read_body(headers, body, limits::MAX_BODY_BYTES).await?;
    Ok(endpoints_from_json(&body)?)
}

/// What is no name names no group.
fn known(name: &str) -> Result<Name, ApiError> {
    Name::parse("name", name).map_err(|_| ApiError::not_found(format!("no such URL group: \"{name}\"")))
}
