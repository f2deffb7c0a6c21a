//! `/v2/messages/{id}`, `/v2/events`, and the event log in oRPC's envelope.

use axum::extract::{Query, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use chronq::contract::{MessageState, paths};
use chronq::message::{Events, Message};
use chronq::{InvalidInput, MessageId, Name};
use serde_json::{Value, json};

use super::body::Whole;
use super::path::Path;
use crate::auth::{Authorized, Read, ReadWrite};
use crate::error::ApiError;
use crate::service::messages;
use crate::state::AppState;
use crate::store::types::event::EventFilter;

/// A page of the event log unless another size is asked for.
const DEFAULT_LIMIT: u32 = 50;
/// More is cut to this.
const MAX_LIMIT: u32 = 1_000;

pub(super) fn router() -> Router<AppState> {
    let one = format!("{}/{{id}}", paths::MESSAGES);
    Router::new()
        .route(&one, get(find).delete(cancel))
        .route(&format!("{one}/retry"), post(retry))
        .route(paths::EVENTS, get(events))
        .route(paths::RPC_QUEUE_JOBS, post(rpc_jobs))
}

async fn find(
    State(state): State<AppState>,
    _: Authorized<Read>,
    Path(id): Path<String>,
) -> Result<Json<Message>, ApiError> {
    Ok(Json(messages::get(&state, &MessageId::new(id)?).await?))
}

async fn cancel(
    State(state): State<AppState>,
    _: Authorized<ReadWrite>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let id = MessageId::new(id)?;
    messages::cancel(&state, &id).await?;
    Ok(Json(json!({ "messageId": id, "state": MessageState::Cancelled })))
}

async fn retry(
    State(state): State<AppState>,
    _: Authorized<ReadWrite>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let id = MessageId::new(id)?;
    messages::retry(&state, &id).await?;
    Ok(Json(json!({ "messageId": id, "state": MessageState::Retry })))
}

/// What the event log is asked for, from a query or from JSON.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Filter {
    queue: Option<String>,
    state: Option<String>,
    label: Option<String>,
    cronjob: Option<String>,
    limit: Option<Number>,
    offset: Option<Number>,
}

/// A number, which a query spells as text.
#[derive(Debug, serde::Deserialize)]
#[serde(untagged)]
enum Number {
    Number(u64),
    Text(String),
}

impl Number {
    fn read(self, option: &str) -> Result<u32, InvalidInput> {
        let text = match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        };
        text.parse().map_err(|_| InvalidInput::with_rule(option, "must be a whole number", &text))
    }
}

impl Filter {
    fn read(self) -> Result<EventFilter, InvalidInput> {
        let name = |option: &str, text: Option<String>| {
            text.filter(|text| !text.is_empty()).map(|text| Name::parse(option, &text)).transpose()
        };
        let number =
            |option: &str, number: Option<Number>| number.map(|number| number.read(option)).transpose();
        let state = self.state.filter(|state| !state.is_empty());
        Ok(EventFilter {
            queue: name("queue", self.queue)?,
            state: state
                .map(|state| {
                    state
                        .parse::<MessageState>()
                        .map_err(|error| InvalidInput::new("state", error.to_string()))
                })
                .transpose()?,
            label: self.label.filter(|label| !label.is_empty()),
            schedule: name("cronjob", self.cronjob)?,
            limit: number("limit", self.limit)?.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT),
            offset: number("offset", self.offset)?.unwrap_or(0),
        })
    }
}

async fn events(
    State(state): State<AppState>,
    _: Authorized<Read>,
    filter: Result<Query<Filter>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<Events>, ApiError> {
    let Query(filter) = filter.map_err(|error| ApiError::bad_request(error.body_text()))?;
    Ok(Json(messages::events(&state, filter.read()?).await?))
}

/// oRPC's envelope: `{"json": …}` in and out.
#[derive(Debug, Default, serde::Deserialize)]
struct Envelope {
    #[serde(default)]
    json: Filter,
}

async fn rpc_jobs(
    State(state): State<AppState>,
    _: Authorized<Read>,
    Whole(body): Whole,
) -> Result<Json<Value>, ApiError> {
    let envelope: Envelope = serde_json::from_slice(&body)
        .map_err(|error| ApiError::bad_request(format!("body must be {{\"json\":{{…}}}}: {error}")))?;
    let events = messages::events(&state, envelope.json.read()?).await?;
    Ok(Json(json!({ "json": events })))
}
