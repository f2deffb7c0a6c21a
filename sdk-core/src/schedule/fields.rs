//! A schedule as JSON: read strictly, so that a typo is an error that names it, and written back.

use std::time::Duration;

use serde_json::{Map, Value};

use super::Schedule;
use crate::contract::Missed;
use crate::destination::Destination;
use crate::duration;
use crate::ids::Name;
use crate::input::InvalidInput;
use crate::json::Json;
use crate::publish::ForwardedHeaders;
use crate::publish::options::parse_method;

/// Every field that a schedule may have, in the order of the contract.
pub(super) const FIELDS: &[&str] = &[
    "name",
    "cron",
    "url",
    "method",
    "headers",
    "body",
    "timezone",
    "missed",
    "timeoutMs",
    "queue",
    "enabled",
    "description",
    "failureCallback",
];

impl Schedule {
    /// Reads the body of a put.
    ///
    /// # Errors
    /// [`InvalidInput`] naming the field.
    pub fn from_json(body: &[u8]) -> Result<Self, InvalidInput> {
        let value: Value = serde_json::from_slice(body)
            .map_err(|error| InvalidInput::new("body", format!("body must be a JSON object: {error}")))?;
        Self::from_value(&value)
    }

    /// Reads a schedule from its JSON form.
    ///
    /// # Errors
    /// [`InvalidInput`] naming the field.
    pub fn from_value(value: &Value) -> Result<Self, InvalidInput> {
        let fields =
            value.as_object().ok_or_else(|| InvalidInput::new("body", "body must be a JSON object"))?;
        if let Some(unknown) = fields.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            let message = format!("unknown field \"{unknown}\": a schedule has {}", FIELDS.join(", "));
            return Err(InvalidInput::new(unknown, message));
        }
        let mut schedule =
            Self::new(required(fields, "name")?, required(fields, "cron")?, required(fields, "url")?)?;
        if let Some(text) = string(fields, "method")? {
            schedule.method = parse_method("method", text)?;
        }
        if let Some(value) = given(fields, "headers") {
            schedule.headers = read_headers(value)?;
        }
        if let Some(text) = string(fields, "body")? {
            text.clone_into(&mut schedule.body);
        }
        if let Some(text) = string(fields, "timezone")? {
            text.clone_into(&mut schedule.timezone);
        }
        if let Some(text) = string(fields, "missed")? {
            schedule.missed = text.parse().map_err(|_| unknown_word("missed", Missed::ALL, text))?;
        }
        if let Some(value) = given(fields, "timeoutMs") {
            let ms =
                value.as_u64().ok_or_else(|| wrong("timeoutMs", "a whole number of milliseconds", value))?;
            schedule.timeout = Duration::from_millis(ms);
        }
        schedule.queue = string(fields, "queue")?.map(|text| Name::parse("queue", text)).transpose()?;
        if let Some(value) = given(fields, "enabled") {
            schedule.enabled = value.as_bool().ok_or_else(|| wrong("enabled", "true or false", value))?;
        }
        schedule.description = string(fields, "description")?.map(str::to_owned);
        schedule.failure_callback = string(fields, "failureCallback")?
            .map(|text| Destination::parse("failureCallback", text))
            .transpose()?;
        schedule.check()?;
        Ok(schedule)
    }

    /// The JSON form, every field written out; what is not set is null.
    pub(super) fn to_json(&self) -> Json {
        let headers = self.headers.iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        Json::object([
            ("name", self.name.as_str().into()),
            ("cron", self.cron.as_str().into()),
            ("url", self.url.as_str().into()),
            ("method", self.method.as_str().into()),
            ("headers", Json::Object(headers)),
            ("body", self.body.as_str().into()),
            ("timezone", self.timezone.as_str().into()),
            ("missed", self.missed.as_str().into()),
            ("timeoutMs", duration::millis(self.timeout).into()),
            ("queue", self.queue.as_ref().map(Name::as_str).into()),
            ("enabled", self.enabled.into()),
            ("description", self.description.as_deref().into()),
            ("failureCallback", self.failure_callback.as_ref().map(Destination::as_str).into()),
        ])
    }

    /// The same, for what else writes JSON.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.to_json().to_string()).unwrap_or_default()
    }
}

fn read_headers(value: &Value) -> Result<ForwardedHeaders, InvalidInput> {
    let object = value.as_object().ok_or_else(|| wrong("headers", "an object of strings", value))?;
    let pairs = object
        .iter()
        .map(|(name, value)| {
            let text = value.as_str().ok_or_else(|| wrong("headers", "an object of strings", value))?;
            Ok((name.as_str(), text))
        })
        .collect::<Result<Vec<_>, InvalidInput>>()?;
    ForwardedHeaders::new("headers.", pairs)
}

/// The value of a field; null is as good as absent.
fn given<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

fn string<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, InvalidInput> {
    given(fields, name).map(|value| value.as_str().ok_or_else(|| wrong(name, "a string", value))).transpose()
}

fn required<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a str, InvalidInput> {
    string(fields, name)?.ok_or_else(|| InvalidInput::new(name, format!("{name} is required")))
}

fn wrong(name: &str, what: &str, value: &Value) -> InvalidInput {
    InvalidInput::new(name, format!("{name} must be {what}, got {value}")).with_value(&value.to_string())
}

fn unknown_word<T: std::fmt::Display>(name: &str, known: &[T], got: &str) -> InvalidInput {
    let known = known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    InvalidInput::with_rule(name, format!("must be one of {known}"), got)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn nightly() -> Value {
        json!({"name": "nightly-report", "cron": "0 3 * * *", "url": "https://example.com/report"})
    }

    fn with(field: &str, value: Value) -> Value {
        let mut schedule = nightly();
        schedule[field] = value;
        schedule
    }

    #[test]
    fn name_cron_and_url_are_required() {
        for field in ["name", "cron", "url"] {
            let error = Schedule::from_value(&with(field, Value::Null)).expect_err(field);
            assert_eq!(error.to_string(), format!("{field} is required"));
            assert_eq!(error.option(), field);
        }
    }

    #[test]
    fn what_is_not_given_takes_the_seeds_defaults() {
        let schedule = Schedule::from_value(&nightly()).expect("legal");
        assert_eq!(
            schedule.to_value(),
            json!({
                "name": "nightly-report",
                "cron": "0 3 * * *",
                "url": "https://example.com/report",
                "method": "POST",
                "headers": {},
                "body": "",
                "timezone": "UTC",
                "missed": "skip",
                "timeoutMs": 30_000,
                "queue": null,
                "enabled": true,
                "description": null,
                "failureCallback": null,
            })
        );
    }

    #[test]
    fn every_field_reads_back_as_written() {
        let full = json!({
            "name": "n", "cron": "@daily", "url": "http://h/", "method": "PUT",
            "headers": {"content-type": "application/json", "x-a": "1"}, "body": "{}",
            "timezone": "America/Chicago", "missed": "once", "timeoutMs": 1, "queue": "q",
            "enabled": false, "description": "d", "failureCallback": "http://h/alert",
        });
        let keys: Vec<&str> = full.as_object().expect("object").keys().map(String::as_str).collect();
        assert!(FIELDS.iter().all(|field| keys.contains(field)), "{keys:?}");
        assert_eq!(Schedule::from_value(&full).expect("legal").to_value(), full);
    }

    #[test]
    fn an_unknown_field_is_refused_by_name() {
        let error = Schedule::from_value(&with("timeZone", json!("UTC"))).expect_err("typo");
        assert_eq!(
            error.to_string(),
            "unknown field \"timeZone\": a schedule has name, cron, url, method, headers, body, timezone, missed, \
             timeoutMs, queue, enabled, description, failureCallback"
        );
    }

    #[test]
    fn each_field_is_refused_by_name() {
        for (field, value, message) in [
            (
                "name",
                json!("a b"),
                "name must be 1 to 64 letters, digits, dots, underscores or hyphens, beginning with a letter or digit, got \"a b\"",
            ),
            ("name", json!(1), "name must be a string, got 1"),
            ("cron", json!(" "), "cron must not be empty"),
            ("url", json!("report"), "url must be an absolute URL, got \"report\""),
            ("method", json!("TRACE"), "method must be one of GET, POST, PUT, PATCH, DELETE, got \"TRACE\""),
            ("headers", json!([]), "headers must be an object of strings, got []"),
            ("headers", json!({"a": 1}), "headers must be an object of strings, got 1"),
            ("headers", json!({"a b": "1"}), "headers. must be followed by a legal header name, got \"a b\""),
            (
                "headers",
                json!({"Host": "x"}),
                "headers.host cannot be forwarded: host is set by the transport or by chronq",
            ),
            (
                "headers",
                json!({"Chronq-Retries": "1"}),
                "headers.chronq-retries cannot be forwarded: chronq-retries is set by the transport or by chronq",
            ),
            (
                "headers",
                json!({"a": "x\ny"}),
                "headers.a must not hold CR, LF, NUL or other control characters",
            ),
            ("headers", json!({"a": "1", "A": "2"}), "headers.a is given twice with different values"),
            ("body", json!({}), "body must be a string, got {}"),
            ("timezone", json!(""), "timezone must not be empty"),
            ("missed", json!("all"), "missed must be one of skip, once, got \"all\""),
            ("timeoutMs", json!("5s"), "timeoutMs must be a whole number of milliseconds, got \"5s\""),
            ("timeoutMs", json!(-1), "timeoutMs must be a whole number of milliseconds, got -1"),
            ("timeoutMs", json!(0), "timeoutMs must be at least 1ms, got \"0ns\""),
            ("timeoutMs", json!(7_200_001), "timeoutMs must be at most 2h, got \"2h1ms\""),
            (
                "queue",
                json!("/"),
                "queue must be 1 to 64 letters, digits, dots, underscores or hyphens, beginning with a letter or digit, got \"/\"",
            ),
            ("enabled", json!("yes"), "enabled must be true or false, got \"yes\""),
            ("description", json!(0), "description must be a string, got 0"),
            ("failureCallback", json!("x"), "failureCallback must be an absolute URL, got \"x\""),
        ] {
            let error = Schedule::from_value(&with(field, value)).expect_err(field);
            assert_eq!(error.to_string(), message);
            assert_eq!(error.option().trim_end_matches('.'), field);
        }
    }

    #[test]
    fn limits_hold_at_their_last_byte() {
        let at = |field: &str, length: usize| Schedule::from_value(&with(field, json!("a".repeat(length))));
        assert!(at("cron", 1_024).is_ok() && at("cron", 1_025).is_err());
        assert!(at("description", 1_024).is_ok() && at("description", 1_025).is_err());
        assert!(at("body", 1_048_576).is_ok() && at("body", 1_048_577).is_err());
        let headers = |count: usize| {
            let object: Map<String, Value> = (0..count).map(|n| (format!("x-{n}"), json!(""))).collect();
            Schedule::from_value(&with("headers", Value::Object(object)))
        };
        assert!(headers(64).is_ok() && headers(65).is_err());
    }
}
