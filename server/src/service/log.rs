//! The log: configure, push, pop, ack, look up, dead letters.

use std::sync::Arc;
use std::time::Duration;

use chronq::Instant;
use chronq::log::{AckResult, AckStatus};
use chronq::timer::rules;
use http::StatusCode;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::auth::Identity;
use crate::error::ApiError;
use crate::state::AppState;
use crate::store::StoreError;
use crate::store::log::{
    AckWrite, Acked, DeadLetter, DeadLetterQuery, Frame, FrameQuery, LogDeleted, LogOptions, NewFrame,
    PopRequest, Replayed, Taken,
};
use crate::store::timers::Packing;
use crate::timers::payload;

/// Polling is the truth where another process appends; in this one, appends wake.
const POP_POLL: Duration = Duration::from_millis(500);

/// A message to append.
#[derive(Clone, Debug)]
pub struct PushItem {
    /// The queue.
    pub queue: String,
    /// The partition.
    pub partition: String,
    /// JSON as it was written.
    pub payload: Vec<u8>,
    /// The transaction id.
    pub txn: String,
}

/// Creates a queue or replaces its options.
///
/// # Errors
/// 400 where encryption is asked of a server without a key; store trouble.
pub async fn configure(
    state: &AppState,
    caller: &Identity,
    queue: &str,
    options: LogOptions,
) -> Result<(), ApiError> {
    if options.encrypts && state.timers.keys.is_empty() {
        return Err(ApiError::bad_request(
            "encryptionEnabled needs a key to seal with: start the server with CHRONQ_DATA_KEY=ID:BASE64",
        ));
    }
    state.store.configure_log(&caller.tenant, queue, options).await.map_err(unavailable)
}

/// Appends messages, in order; answers their ids.
///
/// # Errors
/// 413, or store trouble; nothing was appended then.
pub async fn push(state: &AppState, caller: &Identity, items: Vec<PushItem>) -> Result<Vec<Uuid>, ApiError> {
    let most = state.config.timers.max_payload_bytes;
    if let Some(index) = items.iter().position(|item| item.payload.len() > most) {
        let sentence = format!("item {index} has a payload over {most} bytes");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, sentence));
    }
    let queues = items.iter().map(|item| item.queue.clone()).collect::<std::collections::HashSet<_>>();
    let options =
        state.store.log_options(&caller.tenant, queues.into_iter().collect()).await.map_err(unavailable)?;
    let mut frames = Vec::with_capacity(items.len());
    for item in items {
        let sealed = options.iter().any(|(queue, options)| *queue == item.queue && options.encrypts);
        let payload = if sealed {
            let sealed = state.timers.keys.seal(&caller.tenant, &item.queue, &item.payload);
            sealed.ok_or_else(|| {
                tracing::error!(
                    queue = item.queue,
                    "the queue encrypts at rest and CHRONQ_DATA_KEY is not set"
                );
                ApiError::unavailable()
            })?
        } else {
            item.payload
        };
        frames.push(NewFrame {
            queue: item.queue,
            partition: item.partition,
            message_id: Uuid::now_v7(),
            txn: item.txn,
            payload,
            packing: Packing { sealed, ..Packing::default() },
        });
    }
    let ids = frames.iter().map(|frame| frame.message_id).collect();
    let producer = Some(Arc::clone(&caller.name));
    state.store.append(&caller.tenant, producer, frames).await.map_err(unavailable)?;
    Ok(ids)
}

/// Takes messages; waits up to `wait` for the first.
///
/// # Errors
/// Only store trouble.
pub async fn pop(state: &AppState, request: PopRequest, wait: Duration) -> Result<Option<Taken>, ApiError> {
    let deadline = tokio::time::Instant::now() + wait;
    let mut appended = state.store.appended();
    loop {
        // Subscribe before you look.
        appended.borrow_and_update();
        if let Some(taken) = state.store.pop(request.clone()).await.map_err(unavailable)? {
            return Ok(Some(taken));
        }
        let left = deadline.saturating_duration_since(tokio::time::Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        tokio::select! {
            _ = appended.changed() => {}
            () = tokio::time::sleep(left.min(POP_POLL)) => {}
            () = state.background.stop().cancelled() => return Ok(None),
        }
    }
}

/// Settles messages; one result per ack, in order.
///
/// # Errors
/// Only store trouble.
pub async fn ack(
    state: &AppState,
    caller: &Identity,
    acks: Vec<AckWrite>,
) -> Result<Vec<AckResult>, ApiError> {
    let txns: Vec<String> = acks.iter().map(|ack| ack.txn.clone()).collect();
    let acked = state.store.ack(&caller.tenant, acks).await.map_err(unavailable)?;
    let results = txns.into_iter().zip(acked).enumerate().map(|(index, (transaction_id, acked))| {
        let error = match acked {
            Acked::Taken => None,
            Acked::NoLease => Some("the lease is not held: it has passed, or was never given".to_owned()),
            Acked::NoMessage => {
                Some("no unsettled message with this transactionId under the lease".to_owned())
            }
        };
        AckResult { index, transaction_id, success: error.is_none(), error }
    });
    Ok(results.collect())
}

/// Prolongs a lease.
///
/// # Errors
/// Only store trouble.
pub async fn extend(state: &AppState, caller: &Identity, lease: Uuid) -> Result<Option<Instant>, ApiError> {
    let until = state.store.extend_lease(&caller.tenant, lease).await.map_err(unavailable)?;
    Ok(until.map(Instant::from_micros))
}

/// Looks messages up, oldest first.
///
/// # Errors
/// Only store trouble.
pub async fn find(state: &AppState, caller: &Identity, query: FrameQuery) -> Result<Vec<Frame>, ApiError> {
    state.store.frames(&caller.tenant, query).await.map_err(unavailable)
}

/// The newest message of a partition with a transaction id.
///
/// # Errors
/// 404, or store trouble.
pub async fn newest(
    state: &AppState,
    caller: &Identity,
    partition_id: &str,
    txn: &str,
) -> Result<Frame, ApiError> {
    let unknown = || ApiError::not_found("no such message");
    let partition_id = partition_id.parse().map_err(|_| unknown())?;
    let found = state.store.newest_frame(&caller.tenant, partition_id, txn).await.map_err(unavailable)?;
    found.ok_or_else(unknown)
}

/// Dead letters, newest first, and how many there are.
///
/// # Errors
/// Only store trouble.
pub async fn dead_letters(
    state: &AppState,
    caller: &Identity,
    query: DeadLetterQuery,
) -> Result<(Vec<DeadLetter>, u64), ApiError> {
    state.store.dead_letters(&caller.tenant, query).await.map_err(unavailable)
}

/// Appends a dead letter again.
///
/// # Errors
/// 404, 409 for a timer's, or store trouble.
pub async fn replay(state: &AppState, caller: &Identity, id: &str) -> Result<Uuid, ApiError> {
    let unknown = || ApiError::not_found(format!("no such dead letter: \"{id}\""));
    let number = id.parse().map_err(|_| unknown())?;
    match state.store.replay(&caller.tenant, number, Uuid::now_v7()).await.map_err(unavailable)? {
        Replayed::Appended(message_id) => Ok(message_id),
        Replayed::Unknown => Err(unknown()),
        Replayed::NotReplayable => {
            let code = chronq::contract::ErrorCode::DlqNotReplayable;
            let detail = "a timer's dead letter never had a consumer group: schedule it anew";
            Err(ApiError::coded(StatusCode::CONFLICT, code, Some(code.as_str()), detail))
        }
    }
}

/// Deletes a queue, its log and its timers.
///
/// # Errors
/// Only store trouble.
pub async fn delete_queue(state: &AppState, caller: &Identity, queue: &str) -> Result<LogDeleted, ApiError> {
    state.store.delete_log(&caller.tenant, queue).await.map_err(unavailable)
}

/// A frame's payload as its reader gets it.
pub fn data(state: &AppState, caller: &Identity, frame: &mut Frame) -> Box<RawValue> {
    let limit = state.config.timers.max_payload_bytes;
    let stored = std::mem::take(&mut frame.payload);
    payload::data(&state.timers.keys, &caller.tenant, &frame.queue, stored, frame.packing, limit)
}

/// An ack as it was sent, or what is wrong with it.
///
/// # Errors
/// 400 naming the field.
pub fn read_ack(
    txn: Option<String>,
    partition_id: Option<String>,
    group: Option<String>,
    lease: Option<String>,
    status: Option<String>,
    error: Option<String>,
) -> Result<AckWrite, ApiError> {
    let txn = txn
        .filter(|txn| rules::is_txn(txn))
        .ok_or_else(|| ApiError::bad_request("transactionId is required"))?;
    let partition_id = partition_id
        .ok_or_else(|| ApiError::bad_request("partitionId is required"))?
        .parse()
        // An id that no partition has is a lease that nobody holds, not a malformed call.
        .unwrap_or(i64::MIN);
    let status = match status {
        None => AckStatus::Completed,
        Some(word) => word
            .parse()
            .map_err(|error: chronq::contract::UnknownWord| ApiError::bad_request(error.to_string()))?,
    };
    let lease = lease.map(|lease| lease.parse().unwrap_or(Uuid::nil()));
    let group = group.filter(|group| !group.is_empty());
    let group = group.unwrap_or_else(|| crate::store::log::QUEUE_MODE.to_owned());
    Ok(AckWrite { txn, partition_id, group, lease, status, error })
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to map_err by name")]
fn unavailable(error: StoreError) -> ApiError {
    tracing::warn!(%error, "the store could not serve a call of the log");
    ApiError::unavailable()
}
