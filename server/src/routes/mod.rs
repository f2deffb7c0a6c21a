//! The HTTP routes: one file per resource, each with its `router()`.
//!
//! A route reads its request into typed options, calls one function of `service/`, and writes the
//! answer. Who may call is said by the extractor [`Authorized`](crate::auth::Authorized).

pub mod admin_keys;
pub mod admin_tokens;
pub mod body;
mod coded;
mod health;
mod log;
mod messages;
mod metrics;
mod openapi;
mod path;
mod publish;
mod queues;
mod schedules;
mod system_timers;
mod tenants;
mod timers;
mod topics;

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use tower_http::catch_panic::CatchPanicLayer;

use crate::config::Mode;
use crate::dev;
use crate::error::ApiError;
use crate::state::AppState;

/// Every route of the server.
pub fn router(state: AppState) -> Router {
    let mut routes = Router::new()
        .merge(health::router())
        .merge(publish::router())
        .merge(messages::router())
        .merge(topics::router())
        .merge(queues::router())
        .merge(schedules::router())
        .merge(admin_tokens::router())
        .merge(admin_keys::router())
        .merge(metrics::router())
        .merge(openapi::router())
        .merge(timers::router())
        .merge(log::router())
        .merge(system_timers::router())
        .merge(tenants::router());
    if state.config.mode == Mode::Dev {
        routes = routes.merge(dev::router());
    }
    routes
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(CatchPanicLayer::custom(panicked))
        .with_state(state)
}

async fn not_found(request: Request) -> ApiError {
    ApiError::not_found(format!("no route {} {}", request.method(), request.uri().path()))
}

async fn method_not_allowed(request: Request) -> ApiError {
    let sentence = format!("{} is not allowed on {}", request.method(), request.uri().path());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, sentence)
}

/// A panic is a fault of ours; the one who called learns that, the log learns where.
fn panicked(_: Box<dyn std::any::Any + Send + 'static>) -> Response {
    tracing::error!("a route panicked");
    ApiError::internal().into_response()
}
