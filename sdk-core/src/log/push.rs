//! Configure a queue of the log, and append to it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::contract::{Method, paths};
use crate::error::Error;
use crate::input::InvalidInput;
use crate::json::Json;
use crate::json::shape::{COUNT, Shape, required};
use crate::mint::Mint;
use crate::operation::{self, Circumstances, Endpoint, Operation, typed};
use crate::retry::Idempotence;
use crate::timer::rules;
use crate::wire::{Request, Response};

use super::find::check_queue;

/// Sets a queue's options; what is not given keeps the server's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configure {
    /// The queue, created where it does not exist.
    pub queue: String,
    /// Payloads are sealed at rest; a timer's when it is scheduled.
    pub encryption_enabled: Option<bool>,
    /// How long frames are kept; 0 is for ever.
    pub retention_seconds: Option<u64>,
    /// How long a pop's lease holds.
    pub lease_seconds: Option<u64>,
    /// Failed acks before a message becomes a dead letter.
    pub retry_limit: Option<u32>,
}

/// A queue's options in force, as the server spells them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Configured {
    /// Always true.
    pub configured: bool,
    /// The queue.
    pub queue: String,
    /// The options.
    pub options: Value,
}

static CONFIGURED: Shape = Shape::Object(&[
    required("configured", Shape::Flag),
    required("queue", Shape::Text),
    required("options", Shape::Any),
]);

impl Operation for Configure {
    type Output = Configured;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        check_queue(&self.queue)?;
        let options = Json::object_of_given([
            ("encryptionEnabled", self.encryption_enabled.into()),
            ("retentionSeconds", self.retention_seconds.into()),
            ("leaseTime", self.lease_seconds.into()),
            ("retryLimit", self.retry_limit.into()),
        ]);
        let body = Json::object([("queue", self.queue.as_str().into()), ("options", options)]);
        Ok(endpoint.json_request(Method::Post, paths::LOG_CONFIGURE, &body))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        if !(200..300).contains(&response.status) {
            return Err(operation::refusal(response, circumstances));
        }
        operation::read("a queue's configuration", &CONFIGURED, response).map(Some)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

/// One message to append.
#[derive(Clone, Debug, PartialEq)]
pub struct PushItem {
    /// The queue.
    pub queue: String,
    /// The partition; `Default` where none is given.
    pub partition: Option<String>,
    /// What the message holds: `serde_json::json!(…).into()`.
    pub payload: Json,
    /// Minted where none is given.
    pub transaction_id: Option<String>,
}

impl PushItem {
    fn to_json(&self) -> Json {
        let mut item = Json::object_of_given([
            ("queue", self.queue.as_str().into()),
            ("partition", self.partition.as_deref().into()),
            ("transactionId", self.transaction_id.as_deref().into()),
        ]);
        item.put("payload", self.payload.clone());
        item
    }
}

/// A message that was appended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pushed {
    /// Place in the call, from 0.
    pub index: usize,
    /// The message's id.
    pub message_id: String,
    /// Its transaction id.
    pub transaction_id: String,
    /// The queue.
    #[serde(rename = "queueName")]
    pub queue: String,
    /// `queued`.
    pub status: String,
}

/// Appends messages to the log. Not repeated after a lost answer: the log takes a transaction id twice.
#[derive(Clone, Debug, PartialEq)]
pub struct Push {
    /// The messages.
    pub items: Vec<PushItem>,
}

static PUSHED: Shape = Shape::Object(&[
    required("index", COUNT),
    required("message_id", Shape::Text),
    required("transaction_id", Shape::Text),
    required("queueName", Shape::Text),
    required("status", Shape::Text),
]);

impl Operation for Push {
    type Output = Vec<Pushed>;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Unsafe
    }

    fn prepare(&mut self, mint: &mut Mint) {
        for item in &mut self.items {
            if item.transaction_id.is_none() {
                item.transaction_id = Some(mint.uuid_v7());
            }
        }
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        if self.items.is_empty() {
            return Err(InvalidInput::new("items", "items must hold at least one message").into());
        }
        for (index, item) in self.items.iter().enumerate() {
            if !rules::is_queue(&item.queue) {
                let error =
                    InvalidInput::with_rule("queue", "must be 1 to 255 bytes without NUL", &item.queue);
                return Err(error.at_index(index).into());
            }
        }
        let items = self.items.iter().map(PushItem::to_json).collect::<Vec<_>>();
        Ok(endpoint.json_request(Method::Post, paths::LOG_PUSH, &Json::object([("items", items.into())])))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        if !(200..300).contains(&response.status) {
            return Err(operation::refusal(response, circumstances));
        }
        operation::read("a push", &Shape::List(&PUSHED), response).map(Some)
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
        CONFIGURED.holds::<Configured>();
        PUSHED.holds::<Pushed>();
    }
}
