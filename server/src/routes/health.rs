//! `GET /health` and `GET /ready`: open to all, for the machinery around the server.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use chronq::contract::paths;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::state::AppState;

pub(super) fn router() -> Router<AppState> {
    Router::new().route(paths::HEALTH, get(health)).route(paths::READY, get(ready))
}

/// The process answers.
async fn health() -> Json<Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

/// The store answers too.
async fn ready(State(state): State<AppState>) -> Result<Json<Value>, ApiError> {
    state.store.ping().await?;
    Ok(Json(json!({ "status": "ready" })))
}
