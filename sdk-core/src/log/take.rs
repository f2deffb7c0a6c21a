//! Take messages under a lease, and settle them.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::contract::{Method, paths};
use crate::error::Error;
use crate::ids::escape_segment;
use crate::input::InvalidInput;
use crate::instant::Instant;
use crate::json::Json;
use crate::json::shape::{COUNT, Shape, nullable, required};
use crate::operation::{self, Circumstances, Endpoint, Operation, typed};
use crate::retry::Idempotence;
use crate::timer::rules;
use crate::wire::{Request, Response};

use super::find::check_queue;

/// Takes messages of one partition under a lease. Not repeated after a lost answer: what that answer
/// held stays leased until the lease passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pop {
    /// The queue.
    pub queue: String,
    /// The partition; any where none is given.
    pub partition: Option<String>,
    /// Most messages; 1 where none is given.
    pub batch: Option<u32>,
    /// How long to wait for the first message; not at all where none is given.
    pub wait: Option<Duration>,
    /// The consumer group; each has its own place in the log.
    pub consumer_group: Option<String>,
    /// Commit at delivery: no lease, nothing to ack, at most once.
    pub auto_ack: bool,
}

/// What a pop took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Popped {
    /// Always true.
    pub success: bool,
    /// The queue.
    pub queue: String,
    /// The partition.
    pub partition: String,
    /// The partition's id.
    pub partition_id: String,
    /// The lease; none under `auto_ack`.
    pub lease_id: Option<String>,
    /// The consumer group.
    pub consumer_group: Option<String>,
    /// The messages, in order.
    pub messages: Vec<PoppedMessage>,
}

/// A message under a lease.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PoppedMessage {
    /// The frame's id.
    pub id: String,
    /// The transaction id.
    pub transaction_id: String,
    /// The payload: parsed JSON, or `{"_raw_b64":…}` where it is none.
    pub data: serde_json::Value,
    /// Who produced it, attested by the server.
    pub producer_sub: Option<String>,
    /// When it entered the log.
    pub created_at: Instant,
    /// The partition's id.
    pub partition_id: String,
    /// The partition.
    pub partition: String,
    /// The lease; none under `auto_ack`.
    pub lease_id: Option<String>,
    /// The consumer group.
    pub consumer_group: Option<String>,
}

static POPPED: Shape = Shape::Object(&[
    required("success", Shape::Flag),
    required("queue", Shape::Text),
    required("partition", Shape::Text),
    required("partitionId", Shape::Text),
    nullable("leaseId", Shape::Text),
    nullable("consumerGroup", Shape::Text),
    required("messages", Shape::List(&POPPED_MESSAGE)),
]);

static POPPED_MESSAGE: Shape = Shape::Object(&[
    required("id", Shape::Text),
    required("transactionId", Shape::Text),
    required("data", Shape::Any),
    nullable("producerSub", Shape::Text),
    required("createdAt", Shape::Instant),
    required("partitionId", Shape::Text),
    required("partition", Shape::Text),
    nullable("leaseId", Shape::Text),
    nullable("consumerGroup", Shape::Text),
]);

impl Operation for Pop {
    type Output = Option<Popped>;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Unsafe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        check_queue(&self.queue)?;
        let mut path = [paths::LOG_POP_QUEUE, "/", &escape_segment(&self.queue)].concat();
        if let Some(partition) = &self.partition {
            if !rules::is_partition(partition) {
                return Err(InvalidInput::with_rule("partition", "must be 1 to 255 bytes", partition).into());
            }
            path.push_str("/partition/");
            path.push_str(&escape_segment(partition));
        }
        let batch = self.batch.map(|batch| batch.to_string());
        let timeout = self.wait.map(|wait| crate::duration::millis(wait).to_string());
        let query = [
            ("batch", batch.as_deref()),
            ("wait", self.wait.map(|_| "true")),
            ("timeout", timeout.as_deref()),
            ("consumerGroup", self.consumer_group.as_deref()),
            ("autoAck", self.auto_ack.then_some("true")),
        ];
        Ok(endpoint.request(Method::Get, &operation::with_query(&path, &query), Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        match response.status {
            204 => Ok(Some(Json::Null)),
            200 => {
                let popped = operation::read("a pop", &POPPED, response)?;
                let is_empty = popped.get("messages") == Some(&Vec::new().into());
                Ok(Some(if is_empty { Json::Null } else { popped }))
            }
            _ => Err(operation::refusal(response, circumstances)),
        }
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

crate::contract::closed_words! {
    /// What became of a message in its consumer's hands.
    pub enum AckStatus ("status") {
        /// Done.
        Completed => "completed",
        /// Failed: delivered again until the queue's retry limit, then a dead letter.
        Failed => "failed",
        /// Delivered again, without spending an attempt.
        Retry => "retry",
        /// A dead letter at once.
        Dlq => "dlq",
    }
}

/// Settles one message under its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The message's transaction id.
    pub transaction_id: String,
    /// The partition's id.
    pub partition_id: String,
    /// The lease that the pop gave.
    pub lease_id: Option<String>,
    /// What became of it.
    pub status: AckStatus,
    /// The consumer group of the pop.
    pub consumer_group: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
}

impl Ack {
    /// The ack of a popped message.
    pub fn of(message: &PoppedMessage, status: AckStatus) -> Self {
        Self {
            transaction_id: message.transaction_id.clone(),
            partition_id: message.partition_id.clone(),
            lease_id: message.lease_id.clone(),
            status,
            consumer_group: message.consumer_group.clone(),
            error: None,
        }
    }
}

/// Whether the server took an ack: a lease that has passed is an answer, not an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AckResult {
    /// Place in the call, from 0.
    pub index: usize,
    /// The message's transaction id.
    pub transaction_id: String,
    /// Whether the ack was taken.
    pub success: bool,
    /// Why not.
    pub error: Option<String>,
}

static ACK_RESULT: Shape = Shape::Object(&[
    required("index", COUNT),
    required("transactionId", Shape::Text),
    required("success", Shape::Flag),
    nullable("error", Shape::Text),
]);

impl Operation for Ack {
    type Output = AckResult;

    /// Safe: a second ack finds the message settled, or its lease gone.
    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        if self.transaction_id.is_empty() {
            return Err(InvalidInput::new("transaction_id", "transaction_id must not be empty").into());
        }
        if self.partition_id.is_empty() {
            return Err(InvalidInput::new("partition_id", "partition_id must not be empty").into());
        }
        let body = Json::object_of_given([
            ("transactionId", self.transaction_id.as_str().into()),
            ("partitionId", self.partition_id.as_str().into()),
            ("leaseId", self.lease_id.as_deref().into()),
            ("status", self.status.as_str().into()),
            ("consumerGroup", self.consumer_group.as_deref().into()),
            ("error", self.error.as_deref().into()),
        ]);
        Ok(endpoint.json_request(Method::Post, paths::LOG_ACK, &body))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        if response.status != 200 {
            return Err(operation::refusal(response, circumstances));
        }
        let results = operation::read("an ack", &Shape::List(&ACK_RESULT), response)?;
        let Json::List(results) = results else { return Ok(Some(Json::Null)) };
        let [result] = <[Json; 1]>::try_from(results)
            .map_err(|_| Error::protocol("the answer to an ack must hold one result"))?;
        Ok(Some(result))
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
        POPPED.holds::<Popped>();
        ACK_RESULT.holds::<AckResult>();
    }
}
