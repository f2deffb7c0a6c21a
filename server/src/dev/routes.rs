//! `/dev/inbox/…` and `/dev/clock/advance`.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use axum::{Json, Router};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::inbox::{Inboxes, Recorded, ScriptedAnswer};
use crate::error::ApiError;
use crate::routes::body::read_body;
use crate::state::AppState;

/// More than any delivery has.
const MAX_INBOX_BODY_BYTES: usize = 16 * 1_024 * 1_024;
const SETTLE_PATIENCE: Duration = Duration::from_secs(2);
const INBOX: &str = "/dev/inbox/";

pub(crate) fn router() -> Router<AppState> {
    Router::new()
        .route("/dev/inbox/{*rest}", any(inbox))
        .route("/dev/clock/advance", post(advance))
        .merge(super::timers::router())
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    respond: Vec<ScriptedAnswer>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    ms: u64,
}

async fn inbox(State(state): State<AppState>, request: Request) -> Result<Response, ApiError> {
    let inboxes = state.inboxes.as_ref().ok_or_else(|| ApiError::not_found("no inboxes"))?;
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let rest = path.strip_prefix(INBOX).unwrap_or_default();
    let (name, below) = rest.split_once('/').unwrap_or((rest, ""));
    let body = read_body(&parts.headers, body, MAX_INBOX_BODY_BYTES).await?;
    match (&parts.method, below) {
        (&Method::GET, "requests") => return Ok(Json(inboxes.requests(name)).into_response()),
        (&Method::DELETE, "requests") => inboxes.clear(name),
        (&Method::PUT, "script") => {
            let script: Script = json_body(&body)?;
            inboxes.script(name, script.respond);
        }
        _ => {
            let target = parts.uri.path_and_query().map_or(path, |target| target.as_str());
            let recorded = Recorded::new(&parts.method, target, &parts.headers, &body);
            return Ok(answer(inboxes, name, recorded).await);
        }
    }
    Ok(Json(json!({})).into_response())
}

async fn answer(inboxes: &Inboxes, name: &str, recorded: Recorded) -> Response {
    let scripted = inboxes.receive(name, recorded);
    tokio::time::sleep(Duration::from_millis(scripted.delay_ms)).await;
    let mut response = Response::builder().status(scripted.status);
    for (name, value) in &scripted.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(scripted.body)).unwrap_or_else(|error| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the script is no HTTP: {error}"))
            .into_response()
    })
}

async fn advance(State(state): State<AppState>, body: Bytes) -> Result<Json<Value>, ApiError> {
    let advance: Advance = json_body(&body)?;
    // A claim's lease is kept by this clock: moved past it, an attempt under way would count as lost and
    // be made twice. An attempt that takes longer than this is made again, as after a real week.
    let _ = tokio::time::timeout(SETTLE_PATIENCE, state.engine.quiet()).await;
    state.clock.advance(Duration::from_millis(advance.ms));
    state.timers.wake.now();
    Ok(Json(json!({ "now": state.clock.now_ms() })))
}

fn json_body<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| ApiError::bad_request(format!("body: {error}")))
}
