//! Peek at one timer, list those of a queue.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::contract::{Method, limits, paths};
use crate::error::Error;
use crate::ids::escape_segment;
use crate::instant::Instant;
use crate::json::Json;
use crate::json::shape::{COUNT, Shape, nullable, required};
use crate::operation::{self, Circumstances, Endpoint, Operation, typed};
use crate::retry::Idempotence;
use crate::wire::{Request, Response};

use super::rules;
use super::write::{check_identity, check_queue, timer_path};

/// A pending timer, without its payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TimerRow {
    /// The queue.
    pub queue: String,
    /// The timer's key.
    pub timer_key: String,
    /// The partition that the frame will enter.
    pub partition: String,
    /// Not before this instant.
    pub deliver_at: Instant,
    /// The transaction id that the frame will carry.
    pub txn: String,
    /// The id that the frame will have.
    pub message_id: String,
    /// The payload is a zstd frame.
    pub payload_zstd: bool,
    /// The payload is encrypted, by the server at rest or by the caller.
    pub encrypted: bool,
    /// Who scheduled it, attested by the server.
    pub producer_sub: Option<String>,
    /// Fires that failed for good.
    pub attempts: u32,
    /// Why the last one failed.
    pub last_error: Option<String>,
    /// In somebody's hands: a cancel would be too late. A timer in backoff is not.
    pub claimed: bool,
    /// First scheduled.
    pub created_at: Instant,
    /// Last replaced.
    pub updated_at: Instant,
}

static ROW: Shape = Shape::Object(&[
    required("queue", Shape::Text),
    required("timerKey", Shape::Text),
    required("partition", Shape::Text),
    required("deliverAt", Shape::Instant),
    required("txn", Shape::Text),
    required("messageId", Shape::Text),
    required("payloadZstd", Shape::Flag),
    required("encrypted", Shape::Flag),
    nullable("producerSub", Shape::Text),
    required("attempts", COUNT),
    nullable("lastError", Shape::Text),
    required("claimed", Shape::Flag),
    required("createdAt", Shape::Instant),
    required("updatedAt", Shape::Instant),
]);

/// The wire's spelling of a peek, keys in the order of the seed.
static PEEKED: Shape = Shape::Object(&[
    required("found", Shape::Flag),
    required("queue", Shape::Text),
    required("timerKey", Shape::Text),
    required("partition", Shape::Text),
    required("deliverAt", Shape::Instant),
    required("txn", Shape::Text),
    required("messageId", Shape::Text),
    required("payload", Shape::Text),
    required("payloadZstd", Shape::Flag),
    required("encrypted", Shape::Flag),
    nullable("producerSub", Shape::Text),
    required("attempts", COUNT),
    nullable("lastError", Shape::Text),
    required("claimed", Shape::Flag),
    required("createdAt", Shape::Instant),
    required("updatedAt", Shape::Instant),
]);

static FOUND: Shape = Shape::Object(&[required("found", Shape::Flag)]);

static PAGE: Shape = Shape::Object(&[
    required("rows", Shape::List(&ROW)),
    required("truncated", Shape::Flag),
    nullable("nextAfter", Shape::Text),
]);

/// A pending timer with its payload as stored: peek never decrypts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeekedTimer {
    /// Everything but the payload.
    pub row: TimerRow,
    /// The payload as stored.
    pub payload: Bytes,
}

/// The same as a type.
#[expect(clippy::struct_excessive_bools, reason = "the wire's shape")]
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PeekWire {
    found: bool,
    queue: String,
    timer_key: String,
    partition: String,
    deliver_at: Instant,
    txn: String,
    message_id: String,
    payload: String,
    payload_zstd: bool,
    encrypted: bool,
    producer_sub: Option<String>,
    attempts: u32,
    last_error: Option<String>,
    claimed: bool,
    created_at: Instant,
    updated_at: Instant,
}

/// The peek of a timer that is there, as it stands on the wire.
impl Serialize for PeekedTimer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.row.clone();
        PeekWire {
            found: true,
            queue: row.queue,
            timer_key: row.timer_key,
            partition: row.partition,
            deliver_at: row.deliver_at,
            txn: row.txn,
            message_id: row.message_id,
            payload: rules::encode_payload(&self.payload),
            payload_zstd: row.payload_zstd,
            encrypted: row.encrypted,
            producer_sub: row.producer_sub,
            attempts: row.attempts,
            last_error: row.last_error,
            claimed: row.claimed,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
        .serialize(serializer)
    }
}

impl PeekedTimer {
    fn from_wire(wire: PeekWire) -> Result<Self, Error> {
        let payload = rules::decode_payload(&wire.payload)
            .ok_or_else(|| Error::protocol("the payload of a peeked timer is not base64"))?;
        let row = TimerRow {
            queue: wire.queue,
            timer_key: wire.timer_key,
            partition: wire.partition,
            deliver_at: wire.deliver_at,
            txn: wire.txn,
            message_id: wire.message_id,
            payload_zstd: wire.payload_zstd,
            encrypted: wire.encrypted,
            producer_sub: wire.producer_sub,
            attempts: wire.attempts,
            last_error: wire.last_error,
            claimed: wire.claimed,
            created_at: wire.created_at,
            updated_at: wire.updated_at,
        };
        Ok(Self { row, payload: Bytes::from(payload) })
    }
}

/// One pending timer with its payload, or `None`. A miss is an answer, not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peek {
    /// The queue.
    pub queue: String,
    /// The timer's key.
    pub timer_key: String,
}

impl Operation for Peek {
    type Output = Option<PeekedTimer>;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        check_identity(&self.queue, &self.timer_key)?;
        Ok(endpoint.request(Method::Get, &timer_path(&self.queue, &self.timer_key), Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        if response.status != 200 {
            return Err(operation::refusal(response, circumstances));
        }
        let found = operation::read("a peek", &FOUND, response)?;
        if found.get("found") != Some(&Json::Flag(true)) {
            return Ok(Some(Json::Null));
        }
        let timer = operation::read("a peek", &PEEKED, response)?;
        if timer.text("payload").and_then(rules::decode_payload).is_none() {
            return Err(Error::protocol("the payload of a peeked timer is not base64"));
        }
        Ok(Some(timer))
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        let wire: Option<PeekWire> = typed(&answer)?;
        wire.map(PeekedTimer::from_wire).transpose()
    }
}

/// A page of a queue's pending timers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TimerPage {
    /// In ascending byte order of their keys.
    pub rows: Vec<TimerRow>,
    /// Whether there are more.
    pub truncated: bool,
    /// The cursor of the next page, where there is one.
    pub next_after: Option<String>,
}

/// One page of the pending timers of a queue. There is no list over queues, on purpose: it would be a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The queue.
    pub queue: String,
    /// Only keys after this one.
    pub after: Option<String>,
    /// Rows of a page, 100 where none is given; the server clamps it to 1..=1000.
    pub limit: Option<u32>,
}

impl List {
    /// The page after this one, or `None` where it was the last.
    #[must_use]
    pub fn next(&self, page: &TimerPage) -> Option<Self> {
        let after = page.next_after.clone().filter(|_| page.truncated)?;
        Some(Self { after: Some(after), ..self.clone() })
    }
}

impl Operation for List {
    type Output = TimerPage;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        check_queue(&self.queue)?;
        let path = [paths::TIMERS, "/", &escape_segment(&self.queue)].concat();
        let limit = self.limit.map(|limit| limit.clamp(1, limits::MAX_TIMER_LIST_LIMIT).to_string());
        let query = [("after", self.after.as_deref()), ("limit", limit.as_deref())];
        Ok(endpoint.request(Method::Get, &operation::with_query(&path, &query), Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        if response.status != 200 {
            return Err(operation::refusal(response, circumstances));
        }
        let page = operation::read("a list of timers", &PAGE, response)?;
        if page.get("truncated") != Some(&Json::Flag(page.text("nextAfter").is_some())) {
            return Err(Error::protocol(
                "a page of timers contradicts itself: truncated and nextAfter disagree",
            ));
        }
        Ok(Some(page))
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_are_of_the_shapes() {
        PEEKED.holds::<PeekWire>();
        PAGE.holds::<TimerPage>();
    }
}
