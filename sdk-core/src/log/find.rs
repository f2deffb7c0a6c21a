//! Look a transaction id up in a queue's log.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::contract::{Method, paths};
use crate::error::Error;
use crate::instant::Instant;
use crate::json::Json;
use crate::json::shape::{Shape, nullable, required};
use crate::operation::{self, Circumstances, Endpoint, Operation, typed};
use crate::retry::Idempotence;
use crate::timer::rules;
use crate::wire::{Request, Response};

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

pub(crate) static LOG_MESSAGE: Shape = Shape::Object(&[
    required("id", Shape::Text),
    required("transactionId", Shape::Text),
    required("queue", Shape::Text),
    required("partition", Shape::Text),
    required("partitionId", Shape::Text),
    required("offset", Shape::Integer),
    required("data", Shape::Any),
    nullable("producerSub", Shape::Text),
    required("createdAt", Shape::Instant),
]);

static FOUND: Shape = Shape::Object(&[required("messages", Shape::List(&LOG_MESSAGE))]);

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

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
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
        Ok(endpoint.request(Method::Get, &operation::with_query(paths::LOG_MESSAGES, &query), Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        // A queue that does not exist yet holds nothing: the first fire creates it.
        if response.status == 404 {
            return Ok(Some(Vec::new().into()));
        }
        if response.status != 200 {
            return Err(operation::refusal(response, circumstances));
        }
        let Json::Object(answer) = operation::read("a search in the log", &FOUND, response)? else {
            return Ok(Some(Vec::new().into()));
        };
        // A server that does not know the parameter answers with everything: never take another
        // message for the one that was looked for.
        let lists =
            answer.into_iter().map(|(_, list)| if let Json::List(list) = list { list } else { Vec::new() });
        let found = lists.flatten().filter(|message| message.text("transactionId") == Some(&self.txn));
        Ok(Some(found.collect::<Vec<_>>().into()))
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

pub(super) fn check_queue(queue: &str) -> Result<(), Error> {
    Ok(crate::timer::check_queue(queue)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_are_of_the_shapes() {
        LOG_MESSAGE.holds::<LogMessage>();
    }
}
