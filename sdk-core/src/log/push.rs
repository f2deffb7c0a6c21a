//! Configure a queue of the log, and append to it.

use bytes::Bytes;
use http::{Method, Request, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::contract::paths;
use crate::error::Error;
use crate::input::InvalidInput;
use crate::mint::Mint;
use crate::operation::{self, Circumstances, Endpoint, Operation, Parsed};
use crate::retry::Idempotence;
use crate::timer::rules;

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

impl Operation for Configure {
    type Output = Configured;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Options {
            #[serde(skip_serializing_if = "Option::is_none")]
            encryption_enabled: Option<bool>,
            #[serde(skip_serializing_if = "Option::is_none")]
            retention_seconds: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            lease_time: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            retry_limit: Option<u32>,
        }

        check_queue(&self.queue)?;
        let options = Options {
            encryption_enabled: self.encryption_enabled,
            retention_seconds: self.retention_seconds,
            lease_time: self.lease_seconds,
            retry_limit: self.retry_limit,
        };
        let body = serde_json::json!({"queue": self.queue, "options": serde_json::to_value(options).unwrap_or_default()});
        endpoint.json_request(Method::POST, paths::LOG_CONFIGURE, &body)
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        if !response.status().is_success() {
            return Err(operation::refusal(response, circumstances));
        }
        operation::read_json("a queue's configuration", response).map(Parsed::Done)
    }
}

/// One message to append.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushItem {
    /// The queue.
    pub queue: String,
    /// The partition; `Default` where none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// What the message holds.
    pub payload: Value,
    /// Minted where none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<String>,
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

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
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
        endpoint.json_request(Method::POST, paths::LOG_PUSH, &serde_json::json!({"items": self.items}))
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        if !response.status().is_success() {
            return Err(operation::refusal(response, circumstances));
        }
        operation::read_json("a push", response).map(Parsed::Done)
    }
}
