//! Publishing up to a hundred messages in one request (contract/http-queue.md, "Answers").

use crate::contract::{ErrorCode, Method, limits, paths};
use crate::error::{Error, ErrorKind};
use crate::ids::{MessageId, Name};
use crate::input::InvalidInput;
use crate::json::Json;
use crate::json::shape::{Shape, required};
use crate::mint::Mint;
use crate::operation::{Circumstances, Endpoint, Operation, read, refusal, typed};
use crate::publish::{PUBLISHED, Publish, Published};
use crate::retry::Idempotence;
use crate::wire::{Request, Response};

/// Several messages, validated as a whole, queued each on its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// 1 to 100 messages, 1 MiB together as they are written.
    pub entries: Vec<Publish>,
}

/// Why one entry of a batch was not queued although the batch was taken: its queue is unknown or disabled.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EntryError {
    /// The server's sentence, such as `unknown queue: "orders"`.
    pub error: String,
}

/// What became of one entry.
pub type EntryResult = Result<Published, EntryError>;

/// An entry as it stands in the request's JSON. `headers` holds the same option headers that a
/// single publish reads, and `content-type`.
#[cfg(feature = "server")]
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireEntry {
    destination: String,
    #[serde(default)]
    queue: Option<String>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default, deserialize_with = "received::pairs")]
    headers: Vec<(String, String)>,
}

/// An entry as it stands in the answer's JSON.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
enum WireResult {
    #[serde(rename_all = "camelCase")]
    Queued {
        message_id: MessageId,
        queue: Name,
        deduplicated: bool,
    },
    Refused(EntryError),
}

impl Operation for Batch {
    type Output = Vec<EntryResult>;

    fn idempotence(&self) -> Idempotence {
        let safe = self.entries.iter().all(|entry| entry.idempotence() == Idempotence::Safe);
        if safe { Idempotence::Safe } else { Idempotence::Unsafe }
    }

    fn prepare(&mut self, mint: &mut Mint) {
        for entry in &mut self.entries {
            entry.prepare(mint);
        }
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        check_count(self.entries.len())?;
        let mut entries = Vec::with_capacity(self.entries.len());
        for (index, entry) in self.entries.iter().enumerate() {
            entries.push(write_entry(entry).map_err(|error| error.at_index(index))?);
        }
        let request = endpoint.json_request(Method::Post, paths::BATCH, &entries.into());
        if request.body.len() > limits::MAX_BODY_BYTES {
            let message = format!(
                "a batch must be at most {} bytes as JSON, this is {}",
                limits::MAX_BODY_BYTES,
                request.body.len()
            );
            return Err(Error::new(ErrorKind::TooLarge, ErrorCode::PayloadTooLarge, message));
        }
        Ok(request)
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        let results = read_results(response, circumstances)?;
        if results.len() != self.entries.len() {
            let message =
                format!("the answer to a batch of {} has {} entries", self.entries.len(), results.len());
            return Err(Error::protocol(message));
        }
        Ok(Some(results.into()))
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        let results: Vec<WireResult> = typed(&answer)?;
        Ok(results.into_iter().map(WireResult::into_result).collect())
    }
}

static REFUSED: Shape = Shape::Object(&[required("error", Shape::Text)]);

/// Reads a batch's answer: what a publish answers for each entry, or why it was not queued.
fn read_results(response: &Response, circumstances: Circumstances) -> Result<Vec<Json>, Error> {
    if response.status != 200 {
        return Err(refusal(response, circumstances));
    }
    let Json::List(results) = read("batch", &Shape::List(&Shape::Any), response)? else {
        return Ok(Vec::new());
    };
    let fit = |result: Json| {
        let shape = if result.get("error").is_some() { &REFUSED } else { &PUBLISHED };
        shape.fit(result).map_err(|fault| {
            Error::protocol(["the answer to batch is not what the contract says: ", &fault].concat())
        })
    };
    results.into_iter().map(fit).collect()
}

/// Reads the answer to a single publish that travelled as a batch of one. A refused entry is the
/// refusal that the single publish would have met.
pub(crate) fn read_batch_of_one(response: &Response, circumstances: Circumstances) -> Result<Json, Error> {
    let mut results = read_results(response, circumstances)?;
    let (Some(result), true) = (results.pop(), results.is_empty()) else {
        return Err(Error::protocol("the answer to a batch of one does not have one entry"));
    };
    match result.text("error") {
        None => Ok(result),
        Some(refused) => Err(Error::new(ErrorKind::InvalidInput(None), ErrorCode::InvalidInput, refused)
            .with_context(|context| context.status = Some(response.status))),
    }
}

/// The answer's body for these results.
pub fn results_to_json(results: &[EntryResult]) -> serde_json::Value {
    let wire: Vec<WireResult> = results
        .iter()
        .map(|result| match result.clone() {
            Ok(Published { message_id, queue, deduplicated }) => {
                WireResult::Queued { message_id, queue, deduplicated }
            }
            Err(refused) => WireResult::Refused(refused),
        })
        .collect();
    serde_json::json!(wire)
}

impl WireResult {
    fn into_result(self) -> EntryResult {
        match self {
            Self::Queued { message_id, queue, deduplicated } => {
                Ok(Published { message_id, queue, deduplicated })
            }
            Self::Refused(refused) => Err(refused),
        }
    }
}

fn check_count(count: usize) -> Result<(), InvalidInput> {
    if (1..=limits::MAX_BATCH_ENTRIES).contains(&count) {
        return Ok(());
    }
    let rule = format!("must have 1 to {} entries", limits::MAX_BATCH_ENTRIES);
    Err(InvalidInput::with_rule("batch", rule, &count.to_string()))
}

/// An entry as it stands in the request's JSON. `headers` holds the same option headers that a single publish
/// reads, and `content-type`.
fn write_entry(entry: &Publish) -> Result<Json, Error> {
    let body = entry.content.checked_body("body")?;
    let body =
        String::from_utf8(body.into()).map_err(|_| InvalidInput::new("body", "body must be valid UTF-8"))?;
    let mut headers = entry.options.to_headers_without_queue()?;
    if let Some(content_type) = entry.content.checked_content_type()? {
        headers.push(("content-type".to_owned(), content_type.to_owned()));
    }
    let headers = headers.into_iter().map(|(name, value)| (name, value.into())).collect();
    Ok(Json::object_of_given([
        ("destination", entry.destination.as_str().into()),
        ("queue", entry.options.queue.as_ref().map(Name::as_str).into()),
        ("body", body.into()),
        ("headers", Json::Object(headers)),
    ]))
}

/// The server's direction: a batch read from a request.
#[cfg(feature = "server")]
mod received {
    use std::fmt;

    use serde::Deserializer;
    use serde::de::{MapAccess, Visitor};
    use serde_json::value::RawValue;

    use super::{Batch, WireEntry, check_count};
    use crate::destination::Destination;
    use crate::ids::Name;
    use crate::input::InvalidInput;
    use crate::publish::{self, Content, Publish, PublishOptions};

    impl Batch {
        /// Reads a batch from a request's body, as a whole.
        ///
        /// # Errors
        /// [`InvalidInput`] naming the entry's index, from 0, and the option.
        pub fn from_json(body: &[u8]) -> Result<Self, InvalidInput> {
            let array: Vec<&RawValue> = serde_json::from_slice(body).map_err(|error| {
                InvalidInput::new("body", format!("body must be a JSON array of publishes: {error}"))
            })?;
            check_count(array.len())?;
            let entries = array
                .into_iter()
                .enumerate()
                .map(|(index, entry)| read_entry(entry.get()).map_err(|error| error.at_index(index)))
                .collect::<Result<_, _>>()?;
            Ok(Self { entries })
        }
    }

    /// The members of an object, also those whose name stands in it twice.
    pub(super) fn pairs<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(String, String)>, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Vec<(String, String)>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Members)
    }

    fn read_entry(text: &str) -> Result<Publish, InvalidInput> {
        let entry: WireEntry = serde_json::from_str(text).map_err(|error| {
            InvalidInput::new("entry", format!("must be {{destination, queue?, body?, headers?}}: {error}"))
        })?;
        let destination = Destination::parse("destination", &entry.destination)?;
        let queue = entry.queue.as_deref().map(|queue| Name::parse("queue", queue)).transpose()?;
        let pairs = entry.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let options = PublishOptions::from_headers(pairs)?.with_queue_of("entry", queue)?;
        let body = entry.body.unwrap_or_default();
        let is_content_type = |name: &str| name.eq_ignore_ascii_case("content-type");
        let content_types = entry.headers.iter().filter(|(name, _)| is_content_type(name));
        let content_type = publish::agreed_content_type(content_types.map(|(_, value)| value.as_str()))?;
        let content = Content::received(body.into(), content_type.map(ToOwned::to_owned));
        Ok(Publish { destination, content, options })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_are_of_the_shapes() {
        REFUSED.holds::<EntryError>();
    }
}
