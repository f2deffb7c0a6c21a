//! Reads the calls on schedules from JSON.

use std::time::Duration;

use super::Call;
use super::fields::Fields;
use crate::contract::limits;
use crate::destination::Destination;
use crate::error::Error;
use crate::input::InvalidInput;
use crate::publish::ForwardedHeaders;
use crate::publish::options::parse_method;
use crate::schedule::{DeleteSchedule, GetSchedule, ListSchedules, PutSchedule, RunSchedule, Schedule};

/// Reads a call on schedules; `None` where the name is of another.
pub(super) fn read_call(name: &str, fields: &mut Fields) -> Result<Option<Call>, Error> {
    Ok(Some(match name {
        "schedules.put" => Call::PutSchedule(PutSchedule { schedule: read_schedule(fields)? }),
        "schedules.list" => Call::ListSchedules(ListSchedules),
        "schedules.get" => Call::GetSchedule(GetSchedule { name: fields.required_ident("name")? }),
        "schedules.delete" => Call::DeleteSchedule(DeleteSchedule { name: fields.required_ident("name")? }),
        "schedules.run" => Call::RunSchedule(RunSchedule { name: fields.required_ident("name")? }),
        _ => return Ok(None),
    }))
}

fn read_schedule(fields: &mut Fields) -> Result<Schedule, InvalidInput> {
    let schedule_name = fields.required_ident("name")?;
    let cron = fields.required_text("cron")?;
    let url = fields.required_destination("url")?;
    let mut schedule = Schedule::new(schedule_name.as_str(), &cron, url.as_str())?;
    let (method, headers) = (fields.name("method"), fields.name("headers"));
    if let Some(text) = fields.text("method")? {
        schedule.method = parse_method(&method, &text)?;
    }
    schedule.headers = ForwardedHeaders::new(&format!("{headers}: "), fields.pairs("headers")?)?;
    schedule.body = fields.text("body")?.unwrap_or_default();
    if let Some(timezone) = fields.text("timezone")? {
        schedule.timezone = timezone;
    }
    if let Some(text) = fields.text("missed")? {
        let refuse = |error: crate::contract::UnknownWord| {
            InvalidInput::new(fields.name("missed"), error.to_string()).with_value(&text)
        };
        schedule.missed = text.parse().map_err(refuse)?;
    }
    let timeout = fields.duration("timeout")?;
    schedule.timeout = timeout.unwrap_or(Duration::from_millis(limits::DEFAULT_TIMEOUT_MS));
    schedule.queue = fields.ident("queue")?;
    schedule.enabled = fields.flag("enabled")?.unwrap_or(true);
    schedule.description = fields.text("description")?;
    let alert = fields.name("failure_callback");
    schedule.failure_callback =
        fields.text("failure_callback")?.map(|text| Destination::parse(&alert, &text)).transpose()?;
    schedule.check()?;
    Ok(schedule)
}

#[cfg(test)]
mod tests {
    use super::super::Spelling;
    use super::*;
    use serde_json::json;

    fn read(name: &str, options: serde_json::Value) -> Result<Call, Error> {
        Call::from_json(name, options, Spelling::Camel)
    }

    #[test]
    fn a_put_takes_every_field_in_the_language_s_spelling() {
        let call = read(
            "schedules.put",
            json!({
                "name": "n", "cron": "@daily", "url": "http://h/", "method": "put",
                "headers": [["X-A", "1"]], "body": "{}", "timezone": "Europe/Berlin", "missed": "once",
                "timeout": "5s", "queue": "q", "enabled": false, "description": "d",
                "failureCallback": "http://h/alert",
            }),
        );
        let Call::PutSchedule(put) = call.expect("legal") else { panic!("another call") };
        assert_eq!(
            put.schedule.to_value(),
            json!({
                "name": "n", "cron": "@daily", "url": "http://h/", "method": "PUT",
                "headers": {"x-a": "1"}, "body": "{}", "timezone": "Europe/Berlin", "missed": "once",
                "timeoutMs": 5_000, "queue": "q", "enabled": false, "description": "d",
                "failureCallback": "http://h/alert",
            })
        );
    }

    #[test]
    fn a_refusal_names_the_option_as_the_language_spells_it() {
        let with = |option: &str, value: serde_json::Value| {
            let mut options = json!({"name": "n", "cron": "@daily", "url": "http://h/"});
            options[option] = value;
            read("schedules.put", options).expect_err(option).to_string()
        };
        assert_eq!(with("failureCallback", json!("x")), "failureCallback must be an absolute URL, got \"x\"");
        assert_eq!(with("missed", json!("all")), "missed must be one of skip, once, got \"all\"");
        assert_eq!(with("cron", json!(null)), "cron is missing");
        assert!(with("failure_callback", json!("http://h/")).contains("failure_callback"));
    }

    #[test]
    fn every_call_is_named() {
        for name in ["schedules.list", "schedules.get", "schedules.delete", "schedules.run"] {
            let options = if name == "schedules.list" { json!({}) } else { json!({"name": "n"}) };
            assert_eq!(read(name, options).expect(name).name(), name);
        }
    }
}
