//! Look a transaction id up in a queue's log.

use bytes::Bytes;
use http::{Method, Request, Response};
use serde::{Deserialize, Serialize};

use crate::contract::paths;
use crate::error::Error;
use crate::instant::Instant;
use crate::operation::{self, Circumstances, Endpoint, Operation, Parsed};
use crate::retry::Idempotence;
use crate::timer::rules;

/// A frame in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogMessage {
    /// The frame's id; of a delivered timer, the `messageId` that its schedule answered.
    pub id: String,
    /// The transaction id.
    pub transaction_id: String,
    /// The queue.
    pub queue: String,
    /// The partition.
    pub partition: String,
    /// The partition's id, as an ack names it.
    pub partition_id: String,
    /// Position within the partition, from 0.
    pub offset: i64,
    /// The payload: parsed JSON, or `{"_raw_b64":…}` where it is none.
    pub data: serde_json::Value,
    /// Who produced it, attested by the server.
    pub producer_sub: Option<String>,
    /// When it entered the log.
    pub created_at: Instant,
}

/// The frames of a queue that carry a transaction id, oldest first. More than one means that the id
/// was used again: nothing in the log prevents it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Find {
    /// The queue.
    pub queue: String,
    /// The transaction id.
    pub txn: String,
    /// Only frames that entered the log at this instant or later; `None` searches all of it.
    pub since: Option<Instant>,
}

impl Operation for Find {
    type Output = Vec<LogMessage>;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        check_queue(&self.queue)?;
        if !rules::is_txn(&self.txn) {
            let message = "txn must not be empty: without it every message would be found";
            return Err(crate::InvalidInput::new("txn", message).into());
        }
        let since = self.since.map(|since| since.to_string());
        let query = [
            ("queue", Some(self.queue.as_str())),
            ("transactionId", Some(self.txn.as_str())),
            ("from", since.as_deref()),
        ];
        endpoint.request(Method::GET, &operation::with_query(paths::LOG_MESSAGES, &query), Bytes::new())
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        #[derive(Deserialize)]
        struct Messages {
            messages: Vec<LogMessage>,
        }

        // A queue that does not exist yet holds nothing: the first fire creates it.
        if response.status() == 404 {
            return Ok(Parsed::Done(Vec::new()));
        }
        if response.status() != 200 {
            return Err(operation::refusal(response, circumstances));
        }
        let Messages { messages } = operation::read_json("a search in the log", response)?;
        // A server that does not know the parameter answers with everything: never take another
        // message for the one that was looked for.
        let found = messages.into_iter().filter(|message| message.transaction_id == self.txn);
        Ok(Parsed::Done(found.collect()))
    }
}

pub(super) fn check_queue(queue: &str) -> Result<(), Error> {
    Ok(crate::timer::check_queue(queue)?)
}
