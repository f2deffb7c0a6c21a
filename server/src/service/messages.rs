//! Looking messages up, taking them back, retrying them, reading the event log.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use chronq::MessageId;
use chronq::message::{AttemptResponse, Events, Message};
use uuid::Uuid;

use super::Refusal;
use crate::state::AppState;
use crate::store::StoreError;
use crate::store::types::claim::{self, Cancelled, RetriedByHand};
use crate::store::types::event::{self, EventFilter};
use crate::store::types::{Headers, UnixMillis};

/// One message.
///
/// # Errors
/// [`Refusal::NotFound`], also once retention has deleted it.
pub async fn get(state: &AppState, id: &MessageId) -> Result<Message, Refusal> {
    let found = state.store.message(uuid_of(id)?).await?;
    wire(found.ok_or_else(|| unknown(id))?)
}

/// Takes a message back that waits.
///
/// # Errors
/// [`Refusal::WrongState`] where it is too late, [`Refusal::NotFound`].
pub async fn cancel(state: &AppState, id: &MessageId) -> Result<(), Refusal> {
    match state.store.cancel(uuid_of(id)?).await? {
        Cancelled::Cancelled => Ok(()),
        Cancelled::NotFound => Err(unknown(id)),
        Cancelled::NotCancellable(state) => Err(Refusal::WrongState {
            id: id.clone(),
            state,
            rule: "only a message that is created or retry can be cancelled",
        }),
    }
}

/// Gives a failed message one more attempt, under the same id.
///
/// # Errors
/// [`Refusal::WrongState`] where it did not fail, [`Refusal::NotFound`].
pub async fn retry(state: &AppState, id: &MessageId) -> Result<(), Refusal> {
    match state.store.retry_failed(uuid_of(id)?).await? {
        RetriedByHand::Queued => Ok(()),
        RetriedByHand::NotFound => Err(unknown(id)),
        RetriedByHand::NotFailed(state) => {
            Err(Refusal::WrongState { id: id.clone(), state, rule: "only a failed message can be retried" })
        }
    }
}

/// A page of the event log.
///
/// # Errors
/// [`Refusal::Store`].
pub async fn events(state: &AppState, filter: EventFilter) -> Result<Events, Refusal> {
    let page = state.store.events(filter).await?;
    let jobs = page.messages.into_iter().map(wire).collect::<Result<_, _>>()?;
    Ok(Events { jobs, total: page.total })
}

/// What is no UUID is the id of no message.
fn uuid_of(id: &MessageId) -> Result<Uuid, Refusal> {
    id.as_str().parse().map_err(|_| unknown(id))
}

fn unknown(id: &MessageId) -> Refusal {
    Refusal::not_found("message", id.as_str())
}

fn wire(message: event::Message) -> Result<Message, Refusal> {
    Ok(Message {
        message_id: MessageId::new(message.id.to_string())?,
        queue: message.queue,
        state: message.state,
        url: message.destination,
        labels: message.labels,
        cronjob: message.schedule.map(|name| name.to_string()),
        created_at: iso(message.created_at)?,
        started_at: message.started_at.map(iso).transpose()?,
        completed_at: message.finished_at.map(iso).transpose()?,
        retried: message.retried,
        max_retries: message.max_retries,
        response: message.response.as_ref().map(wire_response),
    })
}

fn wire_response(response: &claim::AttemptResponse) -> AttemptResponse {
    AttemptResponse {
        status: response.status,
        headers: text_headers(&response.headers),
        body: String::from_utf8_lossy(&response.body).into_owned(),
        duration_ms: response.duration_ms,
        truncated: response.truncated,
    }
}

/// Headers as a JSON object; values of one name are joined as HTTP joins them (RFC 9110 section 5.3).
pub(crate) fn text_headers(headers: &Headers) -> BTreeMap<String, String> {
    let mut joined: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        joined
            .entry(name.clone())
            .and_modify(|known| {
                known.push_str(", ");
                known.push_str(value);
            })
            .or_insert_with(|| value.clone());
    }
    joined
}

/// An instant as the API shows it: `2026-10-16T23:32:52.604Z`.
fn iso(instant: UnixMillis) -> Result<String, Refusal> {
    DateTime::<Utc>::from_timestamp_millis(instant)
        .map(|instant| instant.to_rfc3339_opts(SecondsFormat::Millis, true))
        .ok_or_else(|| StoreError::Corrupt(format!("{instant} is no instant")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_iso_8601_in_utc_with_milliseconds() {
        assert_eq!(iso(1_792_193_572_604).expect("instant"), "2026-10-16T23:32:52.604Z");
    }

    #[test]
    fn repeated_headers_are_joined() {
        let pairs = [("set-cookie", "a"), ("x", "1"), ("set-cookie", "b")];
        let headers = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        assert_eq!(text_headers(&headers)["set-cookie"], "a, b");
    }
}
