//! The server's reading of `POST /api/v1/timers`: the whole call becomes typed operations, or it is
//! refused whole, at the first failure in the order of the contract's table ("Validation").
//!
//! Pure: what the checks depend on (the horizon in force, which queues encrypt, how to unpack zstd)
//! is an argument.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::contract::{ErrorCode, TimerReason, limits};

use super::rules::{self, Delay};

/// What the checks depend on.
pub struct Rules<'a> {
    /// Farthest instant from now.
    pub horizon: Duration,
    /// Largest decoded payload, and largest that one may unpack to.
    pub max_payload_bytes: usize,
    /// Most operations in a call.
    pub max_operations: usize,
    /// Whether a queue encrypts at rest.
    pub encrypts: &'a dyn Fn(&str) -> bool,
    /// Unpacks a zstd frame, at most to the limit given.
    pub unpack: &'a dyn Fn(&[u8], usize) -> Unpacked,
}

/// What a zstd frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpacked {
    /// A frame within the limit.
    Fits,
    /// A frame that unpacks to more.
    TooLarge,
    /// No zstd frame.
    NotZstd,
}

/// One operation of an accepted call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimerOp {
    /// Schedule or reschedule: the same upsert.
    Put(Put),
    /// Cancel.
    Cancel {
        /// The queue.
        queue: String,
        /// The timer's key.
        timer_key: String,
        /// The transaction id to echo.
        txn: Option<String>,
    },
}

/// The content of an upsert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// The queue.
    pub queue: String,
    /// The timer's key.
    pub timer_key: String,
    /// The partition, default filled in.
    pub partition: String,
    /// From now.
    pub delay: Delay,
    /// The transaction id.
    pub txn: String,
    /// The decoded payload.
    pub payload: Bytes,
    /// The payload is a zstd frame.
    pub zstd: bool,
    /// The caller has encrypted it.
    pub encrypted: bool,
}

impl TimerOp {
    /// Queue and key.
    pub fn identity(&self) -> (&str, &str) {
        match self {
            Self::Put(put) => (&put.queue, &put.timer_key),
            Self::Cancel { queue, timer_key, .. } => (queue, timer_key),
        }
    }
}

/// Why a whole call is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Status of the answer.
    pub status: u16,
    /// The code.
    pub error: ErrorCode,
    /// The finer word.
    pub reason: TimerReason,
    /// One sentence that names the operation's index.
    pub detail: String,
}

/// The queues that a body names, as far as it can be read: what a caller has to look up before
/// [`accept`] can ask whether they encrypt.
pub fn queues_named(body: &Value) -> HashSet<&str> {
    let operations = operations_of(body).map_or(&[][..], Vec::as_slice);
    operations.iter().filter_map(|operation| operation.get("queue")?.as_str()).collect()
}

/// Reads a call that is JSON already.
///
/// # Errors
/// The first failure in the order of the table.
pub fn accept(body: &Value, rules: &Rules<'_>) -> Result<Vec<TimerOp>, Refused> {
    let operations = operations_of(body).ok_or_else(bad_body)?;
    if operations.len() > rules.max_operations {
        let (got, most) = (operations.len(), rules.max_operations);
        return Err(bad(
            TimerReason::TooManyOps,
            format!("the call holds {got} operations, at most {most} are allowed"),
        ));
    }
    let accepted = operations
        .iter()
        .enumerate()
        .map(|(index, operation)| Reader { index, rules }.operation(operation))
        .collect::<Result<Vec<_>, _>>()?;
    let mut seen = HashSet::with_capacity(accepted.len());
    for (index, operation) in accepted.iter().enumerate() {
        if !seen.insert(operation.identity()) {
            let (queue, key) = operation.identity();
            let what =
                format!("names timer \"{key}\" of queue \"{queue}\", which an earlier operation names too");
            return Err(at(index, TimerReason::DuplicateKey, &what));
        }
    }
    Ok(accepted)
}

/// The refusal of a body that is no JSON.
pub fn bad_body() -> Refused {
    let detail = "the body must be {\"operations\":[…]} or an array of operations".to_owned();
    bad(TimerReason::BadBody, detail)
}

fn operations_of(body: &Value) -> Option<&Vec<Value>> {
    match body {
        Value::Array(operations) => Some(operations),
        Value::Object(fields) => fields.get("operations")?.as_array(),
        _ => None,
    }
}

fn bad(reason: TimerReason, detail: String) -> Refused {
    let (status, error) = match reason {
        TimerReason::Horizon => (403, ErrorCode::TimerHorizonExceeded),
        TimerReason::PayloadTooLarge => (413, ErrorCode::PayloadTooLarge),
        TimerReason::BadBody
        | TimerReason::TooManyOps
        | TimerReason::BadOp
        | TimerReason::ServerOwnedField
        | TimerReason::QueueRequired
        | TimerReason::KeyRequired
        | TimerReason::BadPartition
        | TimerReason::DelayRequired
        | TimerReason::TxnRequired
        | TimerReason::PayloadRequired
        | TimerReason::PayloadNotBase64
        | TimerReason::PayloadNotZstd
        | TimerReason::EncryptedConflict
        | TimerReason::DuplicateKey => (400, ErrorCode::TimersBadRequest),
    };
    Refused { status, error, reason, detail }
}

fn at(index: usize, reason: TimerReason, what: &str) -> Refused {
    bad(reason, format!("operation {index} {what}"))
}

/// Reads one operation, through all its rows.
struct Reader<'a> {
    index: usize,
    rules: &'a Rules<'a>,
}

impl Reader<'_> {
    fn refuse(&self, reason: TimerReason, what: &str) -> Refused {
        at(self.index, reason, what)
    }

    fn operation(&self, operation: &Value) -> Result<TimerOp, Refused> {
        let not_an_op = || {
            self.refuse(TimerReason::BadOp, "must be an object whose op is schedule, reschedule or cancel")
        };
        let fields = operation.as_object().ok_or_else(not_an_op)?;
        let put = match text(fields, "op") {
            Some("schedule" | "reschedule") => true,
            Some("cancel") => false,
            _ => return Err(not_an_op()),
        };
        if let Some(field) = fields.keys().find(|field| rules::is_server_owned(field)) {
            let what = format!("supplies {field}, which only the server may set");
            return Err(self.refuse(TimerReason::ServerOwnedField, &what));
        }
        let queue = text(fields, "queue").filter(|queue| rules::is_queue(queue)).ok_or_else(|| {
            let most = limits::MAX_TIMER_QUEUE_BYTES;
            self.refuse(TimerReason::QueueRequired, &format!("needs a queue of 1 to {most} bytes"))
        })?;
        let timer_key = text(fields, "timerKey").filter(|key| rules::is_timer_key(key)).ok_or_else(|| {
            let most = limits::MAX_TIMER_KEY_BYTES;
            self.refuse(TimerReason::KeyRequired, &format!("needs a timerKey of 1 to {most} bytes"))
        })?;
        let partition = match fields.get("partition") {
            None => limits::DEFAULT_PARTITION,
            Some(value) => value.as_str().filter(|name| rules::is_partition(name)).ok_or_else(|| {
                let most = limits::MAX_PARTITION_BYTES;
                self.refuse(
                    TimerReason::BadPartition,
                    &format!("has a partition that is not 1 to {most} bytes"),
                )
            })?,
        };
        if !put {
            let txn = text(fields, "txn").filter(|txn| !txn.is_empty()).map(str::to_owned);
            return Ok(TimerOp::Cancel { queue: queue.to_owned(), timer_key: timer_key.to_owned(), txn });
        }
        let delay = self.delay(fields)?;
        let txn = text(fields, "txn").filter(|txn| rules::is_txn(txn)).ok_or_else(|| {
            let most = limits::MAX_TXN_BYTES;
            self.refuse(TimerReason::TxnRequired, &format!("needs a txn of 1 to {most} bytes"))
        })?;
        let zstd = flag(fields, "payloadZstd");
        let payload = self.payload(fields, zstd)?;
        let encrypted = flag(fields, "encrypted");
        if encrypted && (self.rules.encrypts)(queue) {
            let what = format!("sets encrypted, but queue \"{queue}\" encrypts at rest: the server sets it");
            return Err(self.refuse(TimerReason::EncryptedConflict, &what));
        }
        Ok(TimerOp::Put(Put {
            queue: queue.to_owned(),
            timer_key: timer_key.to_owned(),
            partition: partition.to_owned(),
            delay,
            txn: txn.to_owned(),
            payload: Bytes::from(payload),
            zstd,
            encrypted,
        }))
    }

    fn delay(&self, fields: &Map<String, Value>) -> Result<Delay, Refused> {
        let delay = fields
            .get("delayMs")
            .and_then(Value::as_f64)
            .and_then(Delay::from_millis_f64)
            .ok_or_else(|| {
                self.refuse(TimerReason::DelayRequired, "needs delayMs, a number of milliseconds from now")
            })?;
        if delay.is_beyond(self.rules.horizon) {
            let what = format!("is beyond the horizon of {} seconds", self.rules.horizon.as_secs());
            return Err(self.refuse(TimerReason::Horizon, &what));
        }
        Ok(delay)
    }

    fn payload(&self, fields: &Map<String, Value>, zstd: bool) -> Result<Vec<u8>, Refused> {
        let encoded = text(fields, "payload")
            .ok_or_else(|| self.refuse(TimerReason::PayloadRequired, "needs a payload, as base64 text"))?;
        let payload = rules::decode_payload(encoded).ok_or_else(|| {
            self.refuse(TimerReason::PayloadNotBase64, "has a payload that is not standard padded base64")
        })?;
        let most = self.rules.max_payload_bytes;
        let unpacked = if zstd { (self.rules.unpack)(&payload, most) } else { Unpacked::Fits };
        if unpacked == Unpacked::NotZstd {
            return Err(self.refuse(TimerReason::PayloadNotZstd, "has a payload that is not a zstd frame"));
        }
        if payload.len() > most || unpacked == Unpacked::TooLarge {
            let what = format!("has a payload over {most} bytes");
            return Err(self.refuse(TimerReason::PayloadTooLarge, &what));
        }
        Ok(payload)
    }
}

/// A text field; a wrong JSON type is answered like a missing field.
fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str()
}

fn flag(fields: &Map<String, Value>, name: &str) -> bool {
    fields.get(name).and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
#[path = "accept_tests.rs"]
mod tests;
