//! `/openapi.json`, open: it says nothing of this server's data.

use axum::Router;
use axum::response::Json;
use axum::routing::get;
use chronq::contract::paths;

use crate::openapi;
use crate::state::AppState;

/// The route.
pub(super) fn router() -> Router<AppState> {
    Router::new().route(paths::OPENAPI, get(async || Json(openapi::document())))
}
