//! Peek at one timer, list those of a queue.

use bytes::Bytes;
use http::{Method, Request, Response};
use serde::{Deserialize, Serialize};

use crate::contract::{limits, paths};
use crate::error::Error;
use crate::ids::escape_segment;
use crate::instant::Instant;
use crate::operation::{self, Circumstances, Endpoint, Operation, Parsed};
use crate::retry::Idempotence;

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

/// A pending timer with its payload as stored: peek never decrypts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeekedTimer {
    /// Everything but the payload.
    pub row: TimerRow,
    /// The payload as stored.
    pub payload: Bytes,
}

/// The wire's spelling of a peek, keys in the order of the seed.
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

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        check_identity(&self.queue, &self.timer_key)?;
        endpoint.request(Method::GET, &timer_path(&self.queue, &self.timer_key), Bytes::new())
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        #[derive(Deserialize)]
        struct Found {
            found: bool,
        }

        if response.status() != 200 {
            return Err(operation::refusal(response, circumstances));
        }
        let Found { found } = operation::read_json("a peek", response)?;
        if !found {
            return Ok(Parsed::Done(None));
        }
        let wire: PeekWire = operation::read_json("a peek", response)?;
        Ok(Parsed::Done(Some(PeekedTimer::from_wire(wire)?)))
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

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        check_queue(&self.queue)?;
        let path = format!("{}/{}", paths::TIMERS, escape_segment(&self.queue));
        let limit = self.limit.map(|limit| limit.clamp(1, limits::MAX_TIMER_LIST_LIMIT).to_string());
        let query = [("after", self.after.as_deref()), ("limit", limit.as_deref())];
        endpoint.request(Method::GET, &operation::with_query(&path, &query), Bytes::new())
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        if response.status() != 200 {
            return Err(operation::refusal(response, circumstances));
        }
        let page: TimerPage = operation::read_json("a list of timers", response)?;
        if page.truncated != page.next_after.is_some() {
            return Err(Error::protocol(
                "a page of timers contradicts itself: truncated and nextAfter disagree",
            ));
        }
        Ok(Parsed::Done(page))
    }
}
