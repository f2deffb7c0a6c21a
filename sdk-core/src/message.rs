//! Looking messages up, taking them back, retrying them, reading the event log (contract/http-queue.md, "Messages").

use bytes::Bytes;

use crate::contract::{MessageState, Method, paths};
use crate::destination::Destination;
use crate::error::{Error, ErrorKind};
use crate::ids::{MessageId, Name, escape_segment};
use crate::json::Json;
use crate::json::shape::{COUNT, Shape, nullable, required};
use crate::operation::{Circumstances, Endpoint, Operation, read_ok, refusal, typed, with_query};
use crate::retry::Idempotence;
use crate::wire::{Request, Response};

/// A message as its lookup shows it. Times are ISO 8601 in UTC.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Its id.
    pub message_id: MessageId,
    /// Its queue.
    pub queue: Name,
    /// Where it stands.
    pub state: MessageState,
    /// Its destination.
    pub url: Destination,
    /// Its labels.
    pub labels: Vec<String>,
    /// The schedule whose run it is.
    pub cronjob: Option<String>,
    /// When it was published.
    pub created_at: String,
    /// When its last attempt began.
    pub started_at: Option<String>,
    /// When it reached its final state.
    pub completed_at: Option<String>,
    /// Retries so far.
    pub retried: u32,
    /// Retries it may have.
    pub max_retries: u32,
    /// The last attempt's outcome.
    pub response: Option<AttemptResponse>,
}

/// What the last attempt brought. Status 0 means that no answer came; the body then says why.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptResponse {
    /// The destination's status, 0 for none.
    pub status: u16,
    /// Its headers, to 16 KiB.
    pub headers: std::collections::BTreeMap<String, String>,
    /// Its body, to 8 KiB.
    pub body: String,
    /// How long the attempt took, in milliseconds.
    pub duration_ms: u64,
    /// Whether the body was longer.
    pub truncated: bool,
}

const ATTEMPT_RESPONSE: Shape = Shape::Object(&[
    required("status", Shape::Count(u16::MAX as u64)),
    required("headers", Shape::Texts),
    required("body", Shape::Text),
    required("durationMs", Shape::Count(u64::MAX)),
    required("truncated", Shape::Flag),
]);

static MESSAGE: Shape = Shape::Object(&[
    required("messageId", Shape::Text),
    required("queue", Shape::Name),
    required("state", Shape::Word(MessageState::WORDS)),
    required("url", Shape::Url),
    required("labels", Shape::List(&Shape::Text)),
    nullable("cronjob", Shape::Text),
    required("createdAt", Shape::Text),
    nullable("startedAt", Shape::Text),
    nullable("completedAt", Shape::Text),
    required("retried", COUNT),
    required("maxRetries", COUNT),
    nullable("response", ATTEMPT_RESPONSE),
]);

static EVENTS: Shape =
    Shape::Object(&[required("jobs", Shape::List(&MESSAGE)), required("total", Shape::Count(u64::MAX))]);

fn message_path(id: &MessageId) -> String {
    format!("{}/{}", paths::MESSAGES, escape_segment(id.as_str()))
}

/// Looks a message up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetMessage {
    /// Its id.
    pub id: MessageId,
}

impl Operation for GetMessage {
    type Output = Message;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        Ok(endpoint.request(Method::Get, &message_path(&self.id), Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        read_ok("a lookup of a message", &MESSAGE, response, circumstances)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

/// Takes a message back that is `created` or `retry`. Another state is a conflict that says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelMessage {
    /// Its id.
    pub id: MessageId,
}

impl Operation for CancelMessage {
    type Output = ();

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        Ok(endpoint.request(Method::Delete, &message_path(&self.id), Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        if response.status == 200 {
            return Ok(Some(Json::Null));
        }
        let error = refusal(response, circumstances);
        // The attempt before was the one that cancelled; its answer was lost.
        let own = circumstances.earlier_attempt_may_have_acted
            && *error.kind() == ErrorKind::Conflict(Some(MessageState::Cancelled));
        if own { Ok(Some(Json::Null)) } else { Err(error) }
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

/// Gives a failed message one more attempt, under the same id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryMessage {
    /// Its id.
    pub id: MessageId,
}

impl Operation for RetryMessage {
    type Output = ();

    fn idempotence(&self) -> Idempotence {
        Idempotence::Unsafe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        Ok(endpoint.request(Method::Post, &format!("{}/retry", message_path(&self.id)), Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        if response.status == 200 { Ok(Some(Json::Null)) } else { Err(refusal(response, circumstances)) }
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

/// Reads the event log, newest first. What is not given does not filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListEvents {
    /// Only of this queue.
    pub queue: Option<Name>,
    /// Only in this state.
    pub state: Option<MessageState>,
    /// Only with this label.
    pub label: Option<String>,
    /// Only runs of this schedule.
    pub cronjob: Option<Name>,
    /// Page size.
    pub limit: Option<u32>,
    /// Messages to skip.
    pub offset: Option<u64>,
}

/// A page of the event log.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Events {
    /// The page, newest first.
    pub jobs: Vec<Message>,
    /// How many fit the filters in all.
    pub total: u64,
}

impl Operation for ListEvents {
    type Output = Events;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        let limit = self.limit.map(|limit| limit.to_string());
        let offset = self.offset.map(|offset| offset.to_string());
        let pairs = [
            ("queue", self.queue.as_ref().map(Name::as_str)),
            ("state", self.state.map(MessageState::as_str)),
            ("label", self.label.as_deref()),
            ("cronjob", self.cronjob.as_ref().map(Name::as_str)),
            ("limit", limit.as_deref()),
            ("offset", offset.as_deref()),
        ];
        Ok(endpoint.request(Method::Get, &with_query(paths::EVENTS, &pairs), Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        read_ok("the event log", &EVENTS, response, circumstances)
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
        MESSAGE.holds::<Message>();
        EVENTS.holds::<Events>();
    }
}
