//! Queues and their settings (contract/http-queue.md, "Queues").

use std::time::Duration;

use bytes::Bytes;

use crate::contract::{Method, limits, paths};
use crate::duration;
use crate::error::Error;
use crate::ids::Name;
use crate::input::InvalidInput;
use crate::json::Json;
use crate::json::shape::{COUNT, Shape, optional, required};
use crate::operation::{Circumstances, Endpoint, Operation, deleted, read_if, read_ok, typed};
use crate::publish::options::check_retries;
use crate::retry::Idempotence;
use crate::wire::{Request, Response};

/// Settings of a queue; each is the default of what its messages do not say themselves. What is not
/// given keeps the built-in default.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct QueueSettings {
    /// Attempts after the first, 0 to 100; 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_limit: Option<u32>,
    /// Base of the wait between attempts, to 1 d; 10 s.
    #[serde(with = "grammar", skip_serializing_if = "Option::is_none")]
    pub retry_delay: Option<Duration>,
    /// Cap of that wait; 6 h.
    #[serde(with = "grammar", skip_serializing_if = "Option::is_none")]
    pub max_delay: Option<Duration>,
    /// Whether the wait doubles with each attempt; true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<bool>,
    /// Bound of one attempt, to 2 h; 30 s.
    #[serde(with = "grammar", skip_serializing_if = "Option::is_none")]
    pub expire: Option<Duration>,
    /// Deliveries at once, per process, 1 to 100; 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// How long finished messages are kept; 7 d.
    #[serde(with = "grammar", skip_serializing_if = "Option::is_none")]
    pub keep_completed: Option<Duration>,
    /// How long queued messages are kept; 14 d.
    #[serde(with = "grammar", skip_serializing_if = "Option::is_none")]
    pub keep_queued: Option<Duration>,
    /// Where failed messages go as new ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_letter_queue: Option<Name>,
    /// Whether publishes and schedules may put messages in; true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// A word for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Durations of settings are text in the grammar, in both directions.
mod grammar {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "the signature is serde's")]
    pub(super) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(duration) => serializer.serialize_str(&crate::duration::format(*duration)),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| crate::duration::parse("a duration", &text).map_err(serde::de::Error::custom))
            .transpose()
    }
}

impl QueueSettings {
    /// The settings that are durations, with the longest that each may be, milliseconds.
    fn durations(&self) -> [(&'static str, Option<Duration>, u64); 5] {
        [
            ("retryDelay", self.retry_delay, limits::MAX_RETRY_DELAY_MS),
            ("maxDelay", self.max_delay, limits::MAX_DELAY_MS),
            ("expire", self.expire, limits::MAX_TIMEOUT_MS),
            ("keepCompleted", self.keep_completed, 10 * limits::MAX_DELAY_MS),
            ("keepQueued", self.keep_queued, 10 * limits::MAX_DELAY_MS),
        ]
    }

    /// Holds the settings to the contract's limits.
    ///
    /// # Errors
    /// [`InvalidInput`] naming the setting as the wire spells it.
    pub fn check(&self) -> Result<(), InvalidInput> {
        if let Some(retries) = self.retry_limit {
            check_retries("retryLimit", i64::from(retries))?;
        }
        for (setting, value, max_ms) in self.durations() {
            value.map_or(Ok(()), |value| duration::check(setting, value, max_ms))?;
        }
        if let Some(concurrency) =
            self.concurrency.filter(|concurrency| !limits::CONCURRENCY.contains(concurrency))
        {
            return Err(InvalidInput::with_rule(
                "concurrency",
                "must be between 1 and 100",
                &concurrency.to_string(),
            ));
        }
        Ok(())
    }

    /// The body of a put: what is not given is left out.
    fn to_json(&self) -> Json {
        let duration = |value: Option<Duration>| value.map(duration::format);
        let members = [
            ("retryLimit", self.retry_limit.into()),
            ("retryDelay", duration(self.retry_delay).into()),
            ("maxDelay", duration(self.max_delay).into()),
            ("backoff", self.backoff.into()),
            ("expire", duration(self.expire).into()),
            ("concurrency", self.concurrency.into()),
            ("keepCompleted", duration(self.keep_completed).into()),
            ("keepQueued", duration(self.keep_queued).into()),
            ("deadLetterQueue", self.dead_letter_queue.as_ref().map(Name::as_str).into()),
            ("enabled", self.enabled.into()),
            ("description", self.description.as_deref().into()),
        ];
        Json::object_of_given(members)
    }

    /// Reads settings from a request's body; an empty body gives none.
    ///
    /// # Errors
    /// [`InvalidInput`] naming the setting.
    #[cfg(feature = "server")]
    pub fn from_json(body: &[u8]) -> Result<Self, InvalidInput> {
        let body = if body.iter().all(u8::is_ascii_whitespace) { b"{}".as_slice() } else { body };
        let settings: Self = serde_json::from_slice(body).map_err(|error| {
            wrong_duration(body).unwrap_or_else(|| {
                InvalidInput::new(
                    "settings",
                    format!("settings must be a JSON object of queue settings: {error}"),
                )
            })
        })?;
        settings.check()?;
        Ok(settings)
    }
}

/// The first duration of these settings that is outside the grammar: serde knows its place, not its name.
#[cfg(feature = "server")]
fn wrong_duration(body: &[u8]) -> Option<InvalidInput> {
    let settings: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(body).ok()?;
    QueueSettings::default().durations().into_iter().find_map(|(setting, ..)| {
        match settings.get(setting)? {
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => duration::parse(setting, text).err(),
            other => Some(InvalidInput::with_rule(
                setting,
                format!("{}, as text", duration::RULE),
                &other.to_string(),
            )),
        }
    })
}

/// A queue as the API shows it: every setting with the value in force.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// Its name.
    pub name: Name,
    /// The settings in force; a setting that was never put shows its default.
    #[serde(flatten)]
    pub settings: QueueSettings,
}

static QUEUE: Shape = Shape::Object(&[
    required("name", Shape::Name),
    optional("retryLimit", COUNT),
    optional("retryDelay", Shape::Duration),
    optional("maxDelay", Shape::Duration),
    optional("backoff", Shape::Flag),
    optional("expire", Shape::Duration),
    optional("concurrency", COUNT),
    optional("keepCompleted", Shape::Duration),
    optional("keepQueued", Shape::Duration),
    optional("deadLetterQueue", Shape::Name),
    optional("enabled", Shape::Flag),
    optional("description", Shape::Text),
]);

/// Whether an upsert made the thing or changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Upserted {
    /// 201.
    Made,
    /// 200.
    Changed,
}

fn queue_path(name: &Name) -> String {
    [paths::QUEUES, "/", name.as_str()].concat()
}

/// Makes a queue or changes its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutQueue {
    /// Its name.
    pub name: Name,
    /// Its settings; what is not given returns to its default.
    pub settings: QueueSettings,
}

impl Operation for PutQueue {
    type Output = Queue;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        self.settings.check()?;
        Ok(endpoint.json_request(Method::Put, &queue_path(&self.name), &self.settings.to_json()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        read_if(&[200, 201], "a put of a queue", &QUEUE, response, circumstances)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

/// Lists all queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListQueues;

impl Operation for ListQueues {
    type Output = Vec<Queue>;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        Ok(endpoint.request(Method::Get, paths::QUEUES, Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        read_ok("the list of queues", &Shape::List(&QUEUE), response, circumstances)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

/// Reads one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetQueue {
    /// Its name.
    pub name: Name,
}

impl Operation for GetQueue {
    type Output = Queue;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        Ok(endpoint.request(Method::Get, &queue_path(&self.name), Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        read_ok("a queue", &QUEUE, response, circumstances)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

/// Deletes a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteQueue {
    /// Its name.
    pub name: Name,
}

impl Operation for DeleteQueue {
    type Output = ();

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        Ok(endpoint.request(Method::Delete, &queue_path(&self.name), Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        deleted(response, circumstances)
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
        QUEUE.holds::<Queue>();
    }

    #[test]
    fn a_queue_reads_back_as_it_is_shown() {
        let settings = QueueSettings {
            retry_limit: Some(9),
            retry_delay: Some(Duration::from_secs(42)),
            dead_letter_queue: Some("dead".parse().expect("name")),
            ..QueueSettings::default()
        };
        let queue = Queue { name: "orders".parse().expect("name"), settings };
        let json = serde_json::to_string(&queue).expect("json");
        assert_eq!(json, r#"{"name":"orders","retryLimit":9,"retryDelay":"42s","deadLetterQueue":"dead"}"#);
        assert_eq!(serde_json::from_str::<Queue>(&json).expect("queue"), queue);
    }

    #[test]
    fn settings_outside_the_limits_are_named() {
        let refuse = |settings: QueueSettings| settings.check().expect_err("illegal").to_string();
        let base = QueueSettings::default;
        assert_eq!(
            refuse(QueueSettings { retry_limit: Some(101), ..base() }),
            "retryLimit must be between 0 and 100"
        );
        assert_eq!(
            refuse(QueueSettings { concurrency: Some(0), ..base() }),
            "concurrency must be between 1 and 100, got \"0\""
        );
        assert!(
            refuse(QueueSettings { expire: Some(Duration::from_secs(7_201)), ..base() })
                .starts_with("expire must be at most 2h")
        );
    }
}
