//! Reads the calls of timers and the log from JSON.

use std::time::Duration;

use bytes::Bytes;

use super::Call;
use super::fields::{Fields, Spelling, bare_number, wrong_type};
use crate::duration;
use crate::error::Error;
use crate::input::InvalidInput;
use crate::instant::Instant;
use crate::json::Json;
use crate::log::{Ack, AckStatus, Configure, Find, Pop, Push, PushItem};
use crate::timer::{
    BatchOperation, Cancel, Delay, List, NewTimer, Peek, Reschedule, Schedule, Settle, TimerBatch, rules,
};

/// Reads a call of timers or the log; `None` where the name is of neither.
pub(super) fn read_call(name: &str, fields: &mut Fields) -> Result<Option<Call>, Error> {
    Ok(Some(match name {
        "timers.schedule" => Call::Schedule(Schedule::new(read_timer(fields)?)),
        "timers.reschedule" => Call::Reschedule(Reschedule::new(read_timer(fields)?)),
        "timers.cancel" => Call::Cancel(read_cancel(fields)?),
        "timers.batch" => Call::TimerBatch(read_batch(fields)?),
        "timers.peek" => {
            let queue = fields.required_text("queue")?;
            Call::Peek(Peek { queue, timer_key: read_key(fields)? })
        }
        "timers.list" => Call::ListTimers(List {
            queue: fields.required_text("queue")?,
            after: fields.text("after")?,
            limit: fields.count("limit")?,
        }),
        "timers.settle" => {
            let queue = fields.required_text("queue")?;
            let key = read_key(fields)?;
            let txn = fields.required_text("txn")?;
            Call::Settle(Settle::new(queue, key, txn, read_since(fields)?)?)
        }
        "log.find" => Call::Find(Find {
            queue: fields.required_text("queue")?,
            txn: fields.required_text("txn")?,
            since: read_since(fields)?,
        }),
        "log.pop" => Call::Pop(Pop {
            queue: fields.required_text("queue")?,
            partition: fields.text("partition")?,
            batch: fields.count("batch")?,
            wait: fields.duration("wait")?,
            consumer_group: fields.text("consumer_group")?,
            auto_ack: fields.flag("auto_ack")?.unwrap_or(false),
        }),
        "log.ack" => Call::Ack(read_ack(fields)?),
        "log.push" => Call::Push(read_push(fields)?),
        "log.configure" => Call::Configure(Configure {
            queue: fields.required_text("queue")?,
            encryption_enabled: fields.flag("encryption_enabled")?,
            retention_seconds: read_seconds(fields, "retention")?,
            lease_seconds: read_seconds(fields, "lease")?,
            retry_limit: fields.count("retry_limit")?,
        }),
        _ => return Ok(None),
    }))
}

/// `key`, as the languages call it, or `timer_key`, as the wire does.
fn read_key(fields: &mut Fields) -> Result<String, InvalidInput> {
    match fields.text("key")? {
        Some(key) => Ok(key),
        None => fields.required_text("timer_key"),
    }
}

fn read_timer(fields: &mut Fields) -> Result<NewTimer, InvalidInput> {
    Ok(NewTimer {
        queue: fields.required_text("queue")?,
        timer_key: read_key(fields)?,
        payload: read_payload(fields)?,
        delay: read_delay(fields)?,
        txn: fields.text("txn")?,
        partition: fields.text("partition")?,
        payload_zstd: fields.flag("payload_zstd")?.unwrap_or(false),
        encrypted: fields.flag("encrypted")?.unwrap_or(false),
    })
}

/// One of `payload` (text), `payload_base64` (bytes) and `json_text` (JSON already written).
fn read_payload(fields: &mut Fields) -> Result<Bytes, InvalidInput> {
    let (text, encoded, json) =
        (fields.text("payload")?, fields.text("payload_base64")?, fields.text("json_text")?);
    match (text, encoded, json) {
        (Some(text), None, None) | (None, None, Some(text)) => Ok(Bytes::from(text)),
        (None, Some(encoded), None) => rules::decode_payload(&encoded)
            .map(Bytes::from)
            .ok_or_else(|| InvalidInput::new("payload", "payload must be bytes")),
        (None, None, None) => Err(InvalidInput::new("payload", "payload is missing")),
        _ => Err(InvalidInput::new("payload", "payload and json exclude each other: give one of them")),
    }
}

/// Text in the duration grammar, `{"milliseconds": n}`, which may be zero or negative, or `"0"`.
fn read_delay(fields: &mut Fields) -> Result<Delay, InvalidInput> {
    let name = fields.name("delay");
    let value =
        fields.take("delay").ok_or_else(|| InvalidInput::new(name.clone(), format!("{name} is missing")))?;
    if let Some(written) = value.milliseconds() {
        return Ok(Delay::from_written_millis(written));
    }
    match &value {
        Json::Text(text) if text == "0" => Ok(Delay::from_millis(0)),
        Json::Text(text) => duration::parse(&name, text).map(Delay::from),
        Json::Number(written) => Err(bare_number(&name, written)),
        other => Err(wrong_type(&name, "a duration", other)),
    }
}

/// An instant as text, or unix milliseconds.
fn read_since(fields: &mut Fields) -> Result<Option<Instant>, InvalidInput> {
    let name = fields.name("since");
    match fields.take("since") {
        None => Ok(None),
        Some(Json::Text(text)) => Instant::parse(&name, &text).map(Some),
        Some(value) => match value.milliseconds() {
            Some(written) => Ok(Some(Instant::from_micros(Delay::from_written_millis(written).micros()))),
            None => Err(wrong_type(&name, "an instant", &value)),
        },
    }
}

fn read_seconds(fields: &mut Fields, option: &str) -> Result<Option<u64>, InvalidInput> {
    let name = fields.name(option);
    let Some(duration) = fields.duration(option)? else { return Ok(None) };
    if duration != Duration::from_secs(duration.as_secs()) {
        return Err(InvalidInput::with_rule(&name, "must be whole seconds", &duration::format(duration)));
    }
    Ok(Some(duration.as_secs()))
}

fn read_cancel(fields: &mut Fields) -> Result<Cancel, InvalidInput> {
    Ok(Cancel {
        queue: fields.required_text("queue")?,
        timer_key: read_key(fields)?,
        txn: fields.text("txn")?,
    })
}

fn read_batch(fields: &mut Fields) -> Result<TimerBatch, Error> {
    let spelling = fields.spelling();
    let mut operations = Vec::new();
    for (index, value) in fields.list("operations")?.into_iter().enumerate() {
        operations.push(read_operation(value, spelling).map_err(|error| error.at_index(index))?);
    }
    let batch = TimerBatch::new(operations);
    Ok(if fields.flag("allow_cancel")?.unwrap_or(false) { batch.allow_cancel() } else { batch })
}

fn read_operation(value: Json, spelling: Spelling) -> Result<BatchOperation, InvalidInput> {
    if let Json::Object(members) = &value
        && let Some((field, _)) = members.iter().find(|(field, _)| rules::is_server_owned(field))
    {
        return Err(InvalidInput::new(field, format!("{field} is set by the server and cannot be given")));
    }
    let mut fields = Fields::new("operation", value, spelling)?;
    let op = fields.required_text("op")?;
    let operation = match op.as_str() {
        "schedule" => BatchOperation::Schedule(read_timer(&mut fields)?),
        "reschedule" => BatchOperation::Reschedule(read_timer(&mut fields)?),
        "cancel" => BatchOperation::Cancel(read_cancel(&mut fields)?),
        other => return Err(InvalidInput::with_rule("op", "must be schedule, reschedule or cancel", other)),
    };
    fields.finish()?;
    Ok(operation)
}

fn read_ack(fields: &mut Fields) -> Result<Ack, InvalidInput> {
    let status = match fields.text("status")? {
        None => AckStatus::Completed,
        Some(text) => text.parse().map_err(|error: crate::contract::UnknownWord| {
            InvalidInput::new("status", error.to_string()).with_value(&text)
        })?,
    };
    Ok(Ack {
        transaction_id: fields.required_text("transaction_id")?,
        partition_id: fields.required_text("partition_id")?,
        lease_id: fields.text("lease_id")?,
        status,
        consumer_group: fields.text("consumer_group")?,
        error: fields.text("error")?,
    })
}

fn read_push(fields: &mut Fields) -> Result<Push, InvalidInput> {
    let spelling = fields.spelling();
    let mut items = Vec::new();
    for (index, value) in fields.list("items")?.into_iter().enumerate() {
        items.push(read_item(value, spelling).map_err(|error| error.at_index(index))?);
    }
    Ok(Push { items })
}

fn read_item(value: Json, spelling: Spelling) -> Result<PushItem, InvalidInput> {
    let mut fields = Fields::new("item", value, spelling)?;
    let item = PushItem {
        queue: fields.required_text("queue")?,
        partition: fields.text("partition")?,
        payload: read_item_payload(&mut fields)?,
        transaction_id: fields.text("txn")?,
    };
    fields.finish()?;
    Ok(item)
}

/// `payload`, or `json_text`: JSON already written. Neither is null.
fn read_item_payload(fields: &mut Fields) -> Result<Json, InvalidInput> {
    let Some(text) = fields.text("json_text")? else {
        return Ok(fields.take("payload").unwrap_or_default());
    };
    Json::parse(&text).ok_or_else(|| InvalidInput::new("payload", "payload must be JSON"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::bridge::tests::next;
    use super::super::{Session, bridge};
    use super::*;

    fn session(name: &str, options: Value, spelling: Spelling) -> Result<Session, Error> {
        let config = json!({"url": "http://127.0.0.1:7460", "token": "tok_not-a-real-token"});
        let config = bridge::ClientConfig::from_json(config, spelling)?;
        let call = Call::from_json(name, options, spelling)?;
        Ok(Session::new(&config, call, spelling, [7; 32], 1_795_996_800_000))
    }

    fn body(step: &Value) -> Value {
        serde_json::from_str(step["send"]["body"].as_str().expect("body")).expect("json")
    }

    #[test]
    fn a_schedule_takes_text_bytes_or_json_and_a_delay_with_a_unit() {
        for payload in
            [json!({"json_text": "{}"}), json!({"payload": "{}"}), json!({"payload_base64": "e30="})]
        {
            let mut options = json!({"queue": "q", "key": "k", "delay": {"milliseconds": -1.5}});
            options.as_object_mut().expect("object").extend(payload.as_object().expect("object").clone());
            let step = next(&mut session("timers.schedule", options, Spelling::Snake).expect("legal"));
            let operation = &body(&step)["operations"][0];
            assert_eq!(
                (operation["payload"].as_str(), operation["delayMs"].as_f64()),
                (Some("e30="), Some(-1.5))
            );
        }
        let options = json!({"queue": "q", "key": "k", "payload": "x", "delay": 5});
        assert!(
            session("timers.schedule", options, Spelling::Snake)
                .expect_err("bare")
                .to_string()
                .contains("no unit")
        );
    }

    #[test]
    fn an_absent_answer_says_whether_it_may_be_the_calls_own() {
        let options = json!({"queue": "q", "timerKey": "k", "txn": "t"});
        let mut session = session("timers.cancel", options, Spelling::Camel).expect("legal");
        next(&mut session);
        session.fail("reset", true, 0.0);
        next(&mut session);
        next(&mut session);
        session.respond(
            200,
            [],
            r#"{"ok":false,"status":"absent","queue":"q","timerKey":"k","txn":"t"}"#,
            0,
            0.0,
        );
        let expected = json!({"ok": false, "status": "absent", "queue": "q", "timerKey": "k", "txn": "t", "afterLostAnswer": true});
        assert_eq!(next(&mut session)["done"], expected);
    }

    #[test]
    fn a_push_takes_a_json_value_or_the_text_of_one() {
        for item in
            [json!({"queue": "q", "payload": {"n": 1}}), json!({"queue": "q", "jsonText": "{\"n\": 1}"})]
        {
            let step =
                next(&mut session("log.push", json!({"items": [item]}), Spelling::Camel).expect("legal"));
            let item = &body(&step)["items"][0];
            assert_eq!((&item["queue"], &item["payload"]), (&json!("q"), &json!({"n": 1})));
        }
        let item = json!({"queue": "q", "jsonText": "\"\\ud800\""});
        let error =
            session("log.push", json!({"items": [item]}), Spelling::Camel).expect_err("no UTF-8 form");
        assert!(error.to_string().starts_with("entry 0: payload must be JSON"), "{error}");
    }

    #[test]
    fn a_server_owned_field_is_refused_with_its_operations_index() {
        let operation = json!({"op": "schedule", "queue": "q", "key": "k", "payload": "x", "delay": "5s", "producerSub": "me"});
        let mut good = operation.clone();
        good.as_object_mut().expect("object").remove("producerSub");
        let error = session("timers.batch", json!({"operations": [good, operation]}), Spelling::Camel)
            .expect_err("owned");
        assert!(error.to_string().starts_with("entry 1: producerSub is set by the server"), "{error}");
    }

    #[test]
    fn settling_looks_into_the_log_at_the_timer_and_into_the_log_again() {
        let options = json!({"queue": "q", "key": "k", "txn": "t", "since": "2026-11-30T00:00:00Z"});
        let mut session = session("timers.settle", options, Spelling::Snake).expect("legal");
        let find = "http://127.0.0.1:7460/api/v1/messages?queue=q&transactionId=t&from=2026-11-30T00%3A00%3A00.000000Z";
        for (url, answer) in [
            (find, r#"{"messages":[]}"#),
            ("http://127.0.0.1:7460/api/v1/timers/q/k", r#"{"found":false,"queue":"q","timerKey":"k"}"#),
            (find, r#"{"messages":[]}"#),
        ] {
            assert_eq!(next(&mut session)["send"]["url"], url);
            session.respond(200, [], answer, 0, 0.0);
        }
        let expected = json!({"settled": "not_found", "since": "2026-11-30T00:00:00.000000Z"});
        assert_eq!(next(&mut session)["done"], expected);
    }
}
