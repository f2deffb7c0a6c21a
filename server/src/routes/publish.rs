//! `POST /v2/publish/…` and `POST /v2/batch`.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use bytes::Bytes;
use chronq::InvalidInput;
use chronq::batch::{Batch, results_to_json};
use chronq::contract::{headers, limits, paths};
use chronq::group::PublishToGroup;
use chronq::publish::{
    Content, Publish, PublishOptions, PublishTarget, Published, agreed_content_type, check_utf8, is_form,
};
use http::{HeaderMap, StatusCode, Uri, header};
use serde_json::json;

use super::body::read_body;
use crate::auth::{Authorized, Write};
use crate::error::ApiError;
use crate::service;
use crate::state::AppState;

pub(super) fn router() -> Router<AppState> {
    Router::new()
        .route(paths::PUBLISH, post(publish))
        .route(&format!("{}{{*target}}", paths::PUBLISH), post(publish))
        .route(paths::BATCH, post(batch))
}

async fn publish(
    State(state): State<AppState>,
    _: Authorized<Write>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let content_type = content_type(&headers)?;
    // The target as it was written: the path has not been decoded, nor has anything been resolved.
    let raw = uri.path_and_query().map_or("", |target| target.as_str());
    let target = PublishTarget::parse(raw.strip_prefix(paths::PUBLISH).unwrap_or_default())?;
    let options = options(&headers)?;
    let body = read_body(&headers, body, limits::MAX_BODY_BYTES).await?;
    check_utf8("body", &body)?;
    let content = Content::received(body, content_type);
    match target {
        PublishTarget::Destination { queue, destination } => {
            let options = options.with_queue_of("path", queue)?;
            let publish = Publish { destination, content, options };
            Ok(answer(&service::publish::publish(&state, publish).await?))
        }
        PublishTarget::Group(group) => {
            let publish = PublishToGroup { group, content, options };
            let copies = service::publish::publish_to_group(&state, publish).await?;
            let status = status(copies.iter().all(|copy| copy.deduplicated));
            Ok((status, Json(copies)).into_response())
        }
    }
}

async fn batch(
    State(state): State<AppState>,
    _: Authorized<Write>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    content_type(&headers)?;
    refuse_options(&headers)?;
    let body: Bytes = read_body(&headers, body, limits::MAX_BODY_BYTES).await?;
    check_utf8("body", &body)?;
    let results = service::publish::publish_batch(&state, Batch::from_json(&body)?).await?;
    Ok(Json(results_to_json(&results)).into_response())
}

fn answer(published: &Published) -> Response {
    let body = json!({ "messageId": published.message_id, "queue": published.queue });
    (status(published.deduplicated), Json(body)).into_response()
}

/// 202 where nothing new was queued.
fn status(deduplicated: bool) -> StatusCode {
    if deduplicated { StatusCode::ACCEPTED } else { StatusCode::OK }
}

fn options(headers: &HeaderMap) -> Result<PublishOptions, InvalidInput> {
    PublishOptions::from_headers(headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))
}

/// Options belong to the entries: here they would change nothing, without a word.
fn refuse_options(headers: &HeaderMap) -> Result<(), InvalidInput> {
    options(headers)?;
    match headers.keys().find(|name| name.as_str().starts_with(headers::PREFIX)) {
        None => Ok(()),
        Some(name) => {
            let name = name.as_str();
            Err(InvalidInput::new(name, format!("{name} must stand in the headers of a batch's entries")))
        }
    }
}

/// A form is what a browser sends across sites without asking; everything else is taken as it is.
fn content_type(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let texts = headers.get_all(header::CONTENT_TYPE).iter().map(|value| {
        value.to_str().map_err(|_| InvalidInput::new("content-type", "content-type must be visible ASCII"))
    });
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    if texts.iter().any(|text| is_form(text)) {
        let sentence = "form content types are refused: send application/json, text/plain or the like";
        return Err(ApiError::new(StatusCode::FORBIDDEN, sentence));
    }
    Ok(agreed_content_type(texts)?.map(str::to_owned))
}
