//! The log's routes (contract/timers.md, "The log").

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use chronq::Instant;
use chronq::contract::{limits, paths};
use chronq::log::{AckResult, Configured, Pushed};
use chronq::timer::rules;
use http::{HeaderMap, StatusCode, Uri};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::body::{Whole, read_body};
use super::coded::{Caller, Query};
use super::path::Path;
use crate::auth::{Admin, Read, ReadWrite, Write};
use crate::error::ApiError;
use crate::service::log::{self, PushItem};
use crate::state::AppState;
use crate::store::log::{DeadLetterQuery, Frame, FrameQuery, LogOptions, PopRequest, QUEUE_MODE};

const MAX_PUSH_BODY_BYTES: usize = 64 * 1_024 * 1_024;
const MAX_POP_BATCH: u32 = 1_000;
/// A pop that leaves its size to the server.
const AUTOPILOT_POP_BATCH: u32 = 100;
const DEFAULT_POP_TIMEOUT_MS: u32 = 30_000;
const MAX_POP_TIMEOUT_MS: u32 = 60_000;
/// How far back a search goes that names neither an instant nor a transaction id: an hour.
const DEFAULT_SEARCH_US: i64 = 3_600_000_000;

pub(super) fn router() -> Router<AppState> {
    Router::new()
        .route(paths::LOG_CONFIGURE, post(configure))
        .route(paths::LOG_PUSH, post(push))
        .route(&format!("{}/{{queue}}", paths::LOG_POP_QUEUE), get(pop))
        .route(&format!("{}/{{queue}}/partition/{{partition}}", paths::LOG_POP_QUEUE), get(pop_partition))
        .route(paths::LOG_ACK, post(ack))
        .route(paths::LOG_ACK_BATCH, post(ack_batch))
        .route("/api/v1/lease/{lease}/extend", post(extend))
        .route(paths::LOG_MESSAGES, get(messages))
        .route(&format!("{}/{{partition_id}}/{{txn}}", paths::LOG_MESSAGES), get(message))
        .route(paths::LOG_DLQ, get(dead_letters))
        .route(&format!("{}/{{id}}/replay", paths::LOG_DLQ), post(replay))
        .route(&format!("{}/{{queue}}", paths::LOG_RESOURCES_QUEUES), delete(delete_queue))
}

fn json_body<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| ApiError::bad_request(format!("body: {error}")))
}

fn queue_name(queue: String) -> Result<String, ApiError> {
    if rules::is_queue(&queue) {
        return Ok(queue);
    }
    let most = limits::MAX_TIMER_QUEUE_BYTES;
    Err(ApiError::bad_request(format!("queue must be 1 to {most} bytes without NUL")))
}

fn partition_name(partition: Option<String>) -> Result<Option<String>, ApiError> {
    if partition.as_deref().is_none_or(rules::is_partition) {
        return Ok(partition);
    }
    let most = limits::MAX_PARTITION_BYTES;
    Err(ApiError::bad_request(format!("partition must be 1 to {most} bytes without NUL")))
}

#[derive(Deserialize)]
struct ConfigureBody {
    queue: String,
    #[serde(default)]
    options: Option<ConfigureOptions>,
}

/// Options of the public broker. Those that this log has are kept; of the others only the value that
/// means "off" is taken, so that nobody believes in what is not done.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ConfigureOptions {
    encryption_enabled: Option<bool>,
    retention_seconds: Option<u32>,
    lease_time: Option<u32>,
    retry_limit: Option<u32>,
    #[serde(flatten)]
    others: serde_json::Map<String, Value>,
}

/// Options of the public broker that change what a queue does, and that this log does not have.
const NOT_OFFERED: &[&str] =
    &["delayedProcessing", "windowBuffer", "maxSize", "completedRetentionSeconds", "priority"];

async fn configure(
    State(state): State<AppState>,
    caller: Caller<ReadWrite>,
    Whole(body): Whole,
) -> Result<Json<Configured>, ApiError> {
    let body: ConfigureBody = json_body(&body)?;
    let queue = queue_name(body.queue)?;
    let given = body.options.unwrap_or_default();
    let is_on =
        |value: &Value| !matches!(value, Value::Null | Value::Bool(false)) && value.as_f64() != Some(0.0);
    if let Some(name) = NOT_OFFERED.iter().find(|name| given.others.get(**name).is_some_and(is_on)) {
        return Err(ApiError::bad_request(format!(
            "option {name} is not offered: leave it out or set it to 0"
        )));
    }
    let default = LogOptions::default();
    let options = LogOptions {
        encrypts: given.encryption_enabled.unwrap_or(default.encrypts),
        retention_seconds: given.retention_seconds.unwrap_or(default.retention_seconds),
        lease_seconds: given.lease_time.unwrap_or(default.lease_seconds).max(1),
        retry_limit: given.retry_limit.unwrap_or(default.retry_limit),
    };
    let in_force = json!({
        "encryptionEnabled": options.encrypts,
        "retentionSeconds": options.retention_seconds,
        "leaseTime": options.lease_seconds,
        "retryLimit": options.retry_limit,
    });
    log::configure(&state, &caller.identity, &queue, options).await?;
    Ok(Json(Configured { configured: true, queue, options: in_force }))
}

#[derive(Deserialize)]
struct PushBody {
    items: Vec<PushBodyItem>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PushBodyItem {
    queue: String,
    #[serde(default)]
    partition: Option<String>,
    #[serde(default)]
    payload: Option<Box<RawValue>>,
    #[serde(default)]
    transaction_id: Option<String>,
}

async fn push(
    State(state): State<AppState>,
    caller: Caller<Write>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let body = read_body(&headers, body, MAX_PUSH_BODY_BYTES).await?;
    let body: PushBody = json_body(&body)?;
    let mut items = Vec::with_capacity(body.items.len());
    for (index, item) in body.items.into_iter().enumerate() {
        let txn = item.transaction_id.filter(|txn| !txn.is_empty());
        let txn = txn.unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
        if !rules::is_txn(&txn) {
            let most = limits::MAX_TXN_BYTES;
            let sentence = format!("item {index}: transactionId must be at most {most} bytes without NUL");
            return Err(ApiError::bad_request(sentence));
        }
        let partition =
            partition_name(item.partition)?.unwrap_or_else(|| limits::DEFAULT_PARTITION.to_owned());
        let payload =
            item.payload.map_or_else(|| b"null".to_vec(), |payload| payload.get().as_bytes().to_vec());
        items.push(PushItem { queue: queue_name(item.queue)?, partition, payload, txn });
    }
    let names: Vec<_> = items.iter().map(|item| (item.queue.clone(), item.txn.clone())).collect();
    let ids = log::push(&state, &caller.identity, items).await?;
    let pushed = names.into_iter().zip(ids).enumerate().map(|(index, ((queue, transaction_id), id))| {
        Pushed { index, message_id: id.to_string(), transaction_id, queue, status: "queued".to_owned() }
    });
    Ok((StatusCode::CREATED, Json(pushed.collect::<Vec<_>>())).into_response())
}

async fn pop(
    state: State<AppState>,
    caller: Caller<ReadWrite>,
    uri: Uri,
    Path(queue): Path<String>,
) -> Result<Response, ApiError> {
    take(state, caller, uri, queue, None).await
}

async fn pop_partition(
    state: State<AppState>,
    caller: Caller<ReadWrite>,
    uri: Uri,
    Path((queue, partition)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    take(state, caller, uri, queue, Some(partition)).await
}

/// A popped message; the set of fields is the public broker's.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PopMessage<'a> {
    id: String,
    transaction_id: &'a str,
    data: Box<RawValue>,
    producer_sub: Option<&'a str>,
    created_at: Instant,
    partition_id: String,
    partition: &'a str,
    lease_id: Option<String>,
    consumer_group: &'a str,
}

/// What a pop took.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PopAnswer<'a> {
    success: bool,
    queue: &'a str,
    partition: &'a str,
    partition_id: String,
    lease_id: Option<String>,
    consumer_group: &'a str,
    messages: Vec<PopMessage<'a>>,
}

async fn take(
    State(state): State<AppState>,
    caller: Caller<ReadWrite>,
    uri: Uri,
    queue: String,
    partition: Option<String>,
) -> Result<Response, ApiError> {
    let query = Query::of(&uri);
    let default_batch = if query.flag("autopilot") { AUTOPILOT_POP_BATCH } else { 1 };
    let timeout_ms = query.clamped("timeout", DEFAULT_POP_TIMEOUT_MS, MAX_POP_TIMEOUT_MS);
    let wait = if query.flag("wait") { Duration::from_millis(timeout_ms.into()) } else { Duration::ZERO };
    let group = query.text("consumerGroup").unwrap_or(QUEUE_MODE).to_owned();
    let from_end =
        query.text("subscriptionMode") == Some("new") || query.text("subscriptionFrom") == Some("now");
    let request = PopRequest {
        tenant: caller.identity.tenant.clone(),
        queue: queue_name(queue)?,
        partition: partition_name(partition)?,
        group: group.clone(),
        batch: query.clamped("batch", default_batch, MAX_POP_BATCH),
        from_end,
        auto_ack: query.flag("autoAck"),
    };
    let Some(mut taken) = log::pop(&state, request, wait).await? else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let lease = taken.lease.map(|lease| lease.to_string());
    let data: Vec<_> =
        taken.frames.iter_mut().map(|frame| log::data(&state, &caller.identity, frame)).collect();
    let messages: Vec<_> = taken
        .frames
        .iter()
        .zip(data)
        .map(|(frame, data)| PopMessage {
            id: frame.message_id.to_string(),
            transaction_id: &frame.txn,
            data,
            producer_sub: frame.producer.as_deref(),
            created_at: Instant::from_micros(frame.created_us),
            partition_id: frame.partition_id.to_string(),
            partition: &frame.partition,
            lease_id: lease.clone(),
            consumer_group: &group,
        })
        .collect();
    let Some(first) = taken.frames.first() else { return Ok(StatusCode::NO_CONTENT.into_response()) };
    let answer = PopAnswer {
        success: true,
        queue: &first.queue,
        partition: &first.partition,
        partition_id: first.partition_id.to_string(),
        lease_id: lease.clone(),
        consumer_group: &group,
        messages,
    };
    Ok(Json(answer).into_response())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AckBody {
    #[serde(default)]
    transaction_id: Option<String>,
    #[serde(default)]
    partition_id: Option<String>,
    #[serde(default)]
    lease_id: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    consumer_group: Option<String>,
    #[serde(default)]
    error: Option<String>,
}

impl AckBody {
    fn read(self, group: Option<&str>) -> Result<crate::store::log::AckWrite, ApiError> {
        let group = self.consumer_group.or_else(|| group.map(str::to_owned));
        log::read_ack(self.transaction_id, self.partition_id, group, self.lease_id, self.status, self.error)
    }
}

async fn ack(
    State(state): State<AppState>,
    caller: Caller<ReadWrite>,
    Whole(body): Whole,
) -> Result<Json<Vec<AckResult>>, ApiError> {
    let ack = json_body::<AckBody>(&body)?.read(None)?;
    log::ack(&state, &caller.identity, vec![ack]).await.map(Json)
}

async fn ack_batch(
    State(state): State<AppState>,
    caller: Caller<ReadWrite>,
    Whole(body): Whole,
) -> Result<Json<Vec<AckResult>>, ApiError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Batch {
        acknowledgments: Vec<AckBody>,
        #[serde(default)]
        consumer_group: Option<String>,
    }

    let batch: Batch = json_body(&body)?;
    let group = batch.consumer_group.as_deref();
    let acks = batch.acknowledgments.into_iter().map(|ack| ack.read(group)).collect::<Result<_, _>>()?;
    log::ack(&state, &caller.identity, acks).await.map(Json)
}

async fn extend(
    State(state): State<AppState>,
    caller: Caller<ReadWrite>,
    Path(lease): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let until = match lease.parse() {
        Ok(id) => log::extend(&state, &caller.identity, id).await?,
        Err(_) => None,
    };
    let renewed = u8::from(until.is_some());
    Ok(Json(json!({"leaseId": lease, "success": until.is_some(), "renewed": renewed, "newExpiresAt": until,
                   "error": until.is_none().then_some("the lease is not held")})))
}

/// A message as a search finds it: the core's `LogMessage`, its data untouched.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FoundMessage {
    id: String,
    transaction_id: String,
    queue: String,
    partition: String,
    partition_id: String,
    offset: i64,
    data: Box<RawValue>,
    producer_sub: Option<String>,
    created_at: Instant,
}

fn found(state: &AppState, caller: &crate::auth::Identity, mut frame: Frame) -> FoundMessage {
    let data = log::data(state, caller, &mut frame);
    FoundMessage {
        id: frame.message_id.to_string(),
        transaction_id: frame.txn,
        queue: frame.queue,
        partition: frame.partition,
        partition_id: frame.partition_id.to_string(),
        offset: frame.offset,
        data,
        producer_sub: frame.producer,
        created_at: Instant::from_micros(frame.created_us),
    }
}

async fn messages(
    State(state): State<AppState>,
    caller: Caller<Read>,
    uri: Uri,
) -> Result<Response, ApiError> {
    #[derive(Serialize)]
    struct Messages {
        messages: Vec<FoundMessage>,
    }

    let query = Query::of(&uri);
    let instant = |name: &str| query.text(name).map(|text| Instant::parse(name, text)).transpose();
    let queue = query.text("queue").ok_or_else(|| ApiError::bad_request("queue is required"))?;
    let txn = query.text("transactionId").map(str::to_owned);
    let recently = || state.clock.now_micros() - DEFAULT_SEARCH_US;
    let from_us = match instant("from")? {
        Some(from) => Some(from.micros()),
        None => txn.is_none().then(recently),
    };
    let search = FrameQuery {
        queue: queue_name(queue.to_owned())?,
        txn,
        partition: query.text("partition").map(str::to_owned),
        from_us,
        to_us: instant("to")?.map(Instant::micros),
        limit: query.clamped("limit", 100, 1_000),
    };
    let frames = log::find(&state, &caller.identity, search).await?;
    let messages = frames.into_iter().map(|frame| found(&state, &caller.identity, frame)).collect();
    Ok(Json(Messages { messages }).into_response())
}

async fn message(
    State(state): State<AppState>,
    caller: Caller<Read>,
    Path((partition_id, txn)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let frame = log::newest(&state, &caller.identity, &partition_id, &txn).await?;
    Ok(Json(found(&state, &caller.identity, frame)).into_response())
}

#[derive(Serialize)]
struct Letters<T> {
    messages: Vec<T>,
    total: u64,
}

async fn dead_letters(
    State(state): State<AppState>,
    caller: Caller<Read>,
    uri: Uri,
) -> Result<Response, ApiError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Dead {
        id: String,
        queue: String,
        partition: String,
        partition_id: Option<String>,
        consumer_group: String,
        offset: i64,
        transaction_id: String,
        message_id: String,
        payload: Box<RawValue>,
        producer_sub: Option<String>,
        error: Option<String>,
        attempts: u32,
        created_at: Instant,
        failed_at: Instant,
    }

    let query = Query::of(&uri);
    let offset = query.text("offset").and_then(|text| text.parse().ok()).unwrap_or(0);
    let search = DeadLetterQuery {
        queue: query.text("queue").map(str::to_owned),
        group: query.text("consumerGroup").map(str::to_owned),
        partition: query.text("partition").map(str::to_owned),
        limit: query.clamped("limit", 100, 1_000),
        offset,
    };
    let (letters, total) = log::dead_letters(&state, &caller.identity, search).await?;
    let messages: Vec<_> = letters
        .into_iter()
        .map(|mut letter| {
            let payload = log::data(&state, &caller.identity, &mut letter.frame);
            let frame = letter.frame;
            Dead {
                id: letter.id.to_string(),
                queue: frame.queue,
                partition: frame.partition,
                partition_id: (frame.partition_id > 0).then(|| frame.partition_id.to_string()),
                consumer_group: letter.group,
                offset: frame.offset,
                transaction_id: frame.txn,
                message_id: frame.message_id.to_string(),
                payload,
                producer_sub: frame.producer,
                error: letter.error,
                attempts: letter.attempts,
                created_at: Instant::from_micros(frame.created_us),
                failed_at: Instant::from_micros(letter.failed_us),
            }
        })
        .collect();
    Ok(Json(Letters { messages, total }).into_response())
}

async fn replay(
    State(state): State<AppState>,
    caller: Caller<ReadWrite>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let message_id = log::replay(&state, &caller.identity, &id).await?;
    Ok(Json(json!({"replayed": true, "id": id, "messageId": message_id.to_string()})))
}

async fn delete_queue(
    State(state): State<AppState>,
    caller: Caller<Admin>,
    Path(queue): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let queue = queue_name(queue)?;
    let deleted = log::delete_queue(&state, &caller.identity, &queue).await?;
    Ok(Json(
        json!({"deleted": deleted.existed, "queue": queue, "messages": deleted.messages, "timers": deleted.timers}),
    ))
}
