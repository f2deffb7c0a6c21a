//! `/metrics`, for a scraper with a token that may read.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use chronq::contract::paths;
use http::{HeaderValue, header};

use crate::auth::{Authorized, Read};
use crate::error::ApiError;
use crate::metrics::CONTENT_TYPE;
use crate::service;
use crate::state::AppState;

/// The route.
pub(super) fn router() -> Router<AppState> {
    Router::new().route(paths::METRICS, get(metrics))
}

async fn metrics(State(state): State<AppState>, _: Authorized<Read>) -> Result<Response, ApiError> {
    let text = service::metrics::page(&state).await?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE))], text).into_response())
}
