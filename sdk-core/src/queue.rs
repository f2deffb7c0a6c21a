//! Queues and their settings (contract/http-queue.md, "Queues").

use std::time::Duration;

use bytes::Bytes;
use http::{Method as HttpMethod, Request, Response, StatusCode};

use crate::contract::{limits, paths};
use crate::duration;
use crate::error::Error;
use crate::ids::Name;
use crate::input::InvalidInput;
use crate::operation::{Circumstances, Endpoint, Operation, Parsed, deleted, ok_json, read_json, refusal};
use crate::publish::options::check_retries;
use crate::retry::Idempotence;

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
    /// Holds the settings to the contract's limits.
    ///
    /// # Errors
    /// [`InvalidInput`] naming the setting as the wire spells it.
    pub fn check(&self) -> Result<(), InvalidInput> {
        if let Some(retries) = self.retry_limit {
            check_retries("retryLimit", i64::from(retries))?;
        }
        let bounds = [
            ("retryDelay", self.retry_delay, limits::MAX_RETRY_DELAY_MS),
            ("maxDelay", self.max_delay, limits::MAX_DELAY_MS),
            ("expire", self.expire, limits::MAX_TIMEOUT_MS),
            ("keepCompleted", self.keep_completed, 10 * limits::MAX_DELAY_MS),
            ("keepQueued", self.keep_queued, 10 * limits::MAX_DELAY_MS),
        ];
        for (setting, value, max_ms) in bounds {
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

    /// Reads settings from a request's body; an empty body gives none.
    ///
    /// # Errors
    /// [`InvalidInput`] naming the setting.
    #[cfg(feature = "server")]
    pub fn from_json(body: &[u8]) -> Result<Self, InvalidInput> {
        let body = if body.iter().all(u8::is_ascii_whitespace) { b"{}".as_slice() } else { body };
        let settings: Self = serde_json::from_slice(body).map_err(|error| {
            InvalidInput::new(
                "settings",
                format!("settings must be a JSON object of queue settings: {error}"),
            )
        })?;
        settings.check()?;
        Ok(settings)
    }
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
    format!("{}/{name}", paths::QUEUES)
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

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        self.settings.check()?;
        endpoint.json_request(HttpMethod::PUT, &queue_path(&self.name), &self.settings)
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        match response.status() {
            StatusCode::OK | StatusCode::CREATED => read_json("a put of a queue", response).map(Parsed::Done),
            _ => Err(refusal(response, circumstances)),
        }
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

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        endpoint.request(HttpMethod::GET, paths::QUEUES, Bytes::new())
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        ok_json("the list of queues", response, circumstances).map(Parsed::Done)
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

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        endpoint.request(HttpMethod::GET, &queue_path(&self.name), Bytes::new())
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        ok_json("a queue", response, circumstances).map(Parsed::Done)
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

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        endpoint.request(HttpMethod::DELETE, &queue_path(&self.name), Bytes::new())
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        deleted(response, circumstances).map(Parsed::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
