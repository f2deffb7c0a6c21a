//! Reads each call from JSON.

use bytes::Bytes;

use super::fields::{Fields, Spelling, wrong_type};
use super::{CALL_NAMES, Call};
use crate::batch::Batch;
use crate::contract::MessageState;
use crate::destination::Destination;
use crate::error::Error;
use crate::group::{ChangeEndpoints, DeleteGroup, EndpointChange, GetGroup, ListGroups, PublishToGroup};
use crate::ids::MessageId;
use crate::input::InvalidInput;
use crate::json::Json;
use crate::message::{CancelMessage, GetMessage, ListEvents, RetryMessage};
use crate::publish::options::{check_retries, parse_method};
use crate::publish::{Callback, Content, ForwardedHeaders, Publish, PublishOptions};
use crate::queue::{DeleteQueue, GetQueue, ListQueues, PutQueue, QueueSettings};

impl Call {
    /// Reads the call `name` with its options; option names are spelled as `spelling` says.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) naming the option, for everything that the
    /// contract would refuse, and for options that the call does not have.
    pub fn from_json(name: &str, options: impl Into<Json>, spelling: Spelling) -> Result<Self, Error> {
        let mut fields = Fields::new("options", options.into(), spelling)?;
        let call = read_call(name, &mut fields)?;
        fields.finish()?;
        Ok(call)
    }
}

fn read_call(name: &str, fields: &mut Fields) -> Result<Call, Error> {
    Ok(match name {
        "publish" => Call::Publish(read_publish(fields)?),
        "publish_to_group" => Call::PublishToGroup(PublishToGroup {
            group: fields.required_ident("group")?,
            content: read_content(fields)?,
            options: read_publish_options(fields)?,
        }),
        "batch" => Call::Batch(read_batch(fields)?),
        "messages.get" => Call::GetMessage(GetMessage { id: read_id(fields)? }),
        "messages.cancel" => Call::CancelMessage(CancelMessage { id: read_id(fields)? }),
        "messages.retry" => Call::RetryMessage(RetryMessage { id: read_id(fields)? }),
        "messages.events" => Call::ListEvents(read_events(fields)?),
        "groups.list" => Call::ListGroups(ListGroups),
        "groups.get" => Call::GetGroup(GetGroup { name: fields.required_ident("name")? }),
        "groups.add_endpoints" => Call::ChangeEndpoints(read_endpoints(fields, EndpointChange::Add)?),
        "groups.remove_endpoints" => Call::ChangeEndpoints(read_endpoints(fields, EndpointChange::Remove)?),
        "groups.delete" => Call::DeleteGroup(DeleteGroup { name: fields.required_ident("name")? }),
        "queues.put" => Call::PutQueue(PutQueue {
            name: fields.required_ident("name")?,
            settings: read_queue_settings(fields)?,
        }),
        "queues.list" => Call::ListQueues(ListQueues),
        "queues.get" => Call::GetQueue(GetQueue { name: fields.required_ident("name")? }),
        "queues.delete" => Call::DeleteQueue(DeleteQueue { name: fields.required_ident("name")? }),
        other => {
            if let Some(call) = super::schedules::read_call(other, fields)? {
                return Ok(call);
            }
            if let Some(call) = super::timers::read_call(other, fields)? {
                return Ok(call);
            }
            let rule = format!("must be one of {}", CALL_NAMES.join(", "));
            return Err(InvalidInput::with_rule("call", rule, other).into());
        }
    })
}

fn read_id(fields: &mut Fields) -> Result<MessageId, InvalidInput> {
    MessageId::new(fields.required_text("id")?)
}

fn read_publish(fields: &mut Fields) -> Result<Publish, Error> {
    Ok(Publish {
        destination: fields.required_destination("destination")?,
        content: read_content(fields)?,
        options: read_publish_options(fields)?,
    })
}

/// One of `body` (text), `body_base64` (bytes) and `json_text` (JSON already written).
fn read_content(fields: &mut Fields) -> Result<Content, InvalidInput> {
    let text = fields.text("body")?;
    let bytes = fields.text("body_base64")?;
    let json = fields.text("json_text")?;
    let content = match (text, bytes, json) {
        (None, None, None) => Content::bytes(Bytes::new()),
        (Some(text), None, None) => Content::text(text),
        (None, Some(encoded), None) => Content::bytes(decode(&encoded)?),
        (None, None, Some(json)) => Content::text(json).with_content_type("application/json"),
        _ => return Err(InvalidInput::new("body", "body and json exclude each other: give one of them")),
    };
    Ok(match fields.text("content_type")? {
        Some(content_type) => content.with_content_type(content_type),
        None => content,
    })
}

/// Bytes travel through JSON as base64; a binding wrote it, so a fault here is a fault of the binding.
fn decode(encoded: &str) -> Result<Bytes, InvalidInput> {
    let decoded = crate::timer::rules::decode_payload(encoded);
    decoded.map(Bytes::from).ok_or_else(|| InvalidInput::new("body", "body must be bytes"))
}

fn read_publish_options(fields: &mut Fields) -> Result<PublishOptions, InvalidInput> {
    let method = fields.name("method");
    let headers = fields.name("headers");
    let retries = fields.name("retries");
    Ok(PublishOptions {
        queue: fields.ident("queue")?,
        method: fields.text("method")?.map(|text| parse_method(&method, &text)).transpose()?,
        timeout: fields.duration("timeout")?,
        retries: fields.integer("retries")?.map(|count| check_retries(&retries, count)).transpose()?,
        retry_delay: fields.duration("retry_delay")?,
        delay: fields.duration("delay")?,
        not_before: fields.integer("not_before")?,
        deduplication_id: fields.text("deduplication_id")?,
        content_based_deduplication: fields.flag("content_based_deduplication")?,
        callback: read_callback(fields, "callback")?,
        failure_callback: read_callback(fields, "failure_callback")?,
        headers: ForwardedHeaders::new(&format!("{headers}: "), fields.pairs("headers")?)?,
        labels: fields.texts("labels")?,
    })
}

/// A URL, or an object that says more.
fn read_callback(fields: &mut Fields, option: &str) -> Result<Option<Callback>, InvalidInput> {
    let name = fields.name(option);
    match fields.take(option) {
        None => Ok(None),
        Some(Json::Text(url)) => Callback::to(&name, &url).map(Some),
        Some(value @ Json::Object(_)) => {
            let mut inner = Fields::new(option, value, fields.spelling())?;
            let url = inner.required_text("url")?;
            let callback = Callback {
                url: Destination::parse(&name, &url)?,
                method: inner
                    .text("method")?
                    .map(|text| parse_method(&format!("{name} method"), &text))
                    .transpose()?,
                timeout: inner.duration("timeout")?,
                headers: ForwardedHeaders::new(&format!("{name} headers: "), inner.pairs("headers")?)?,
            };
            inner.finish()?;
            Ok(Some(callback))
        }
        Some(other) => Err(wrong_type(&name, "a URL or a callback with its options", &other)),
    }
}

fn read_batch(fields: &mut Fields) -> Result<Batch, Error> {
    let spelling = fields.spelling();
    let mut entries = Vec::new();
    for (index, value) in fields.list("entries")?.into_iter().enumerate() {
        entries.push(read_entry(value, spelling).map_err(|error| error.at_index(index))?);
    }
    Ok(Batch { entries })
}

fn read_entry(value: Json, spelling: Spelling) -> Result<Publish, Error> {
    let mut fields = Fields::new("entry", value, spelling)?;
    let publish = read_publish(&mut fields)?;
    fields.finish()?;
    Ok(publish)
}

fn read_events(fields: &mut Fields) -> Result<ListEvents, InvalidInput> {
    let state = fields.text("state")?;
    let offset = fields.integer("offset")?;
    let offset_name = fields.name("offset");
    Ok(ListEvents {
        queue: fields.ident("queue")?,
        state: state
            .map(|text| {
                text.parse::<MessageState>()
                    .map_err(|error| InvalidInput::new("state", error.to_string()).with_value(&text))
            })
            .transpose()?,
        label: fields.text("label")?,
        cronjob: fields.ident("cronjob")?,
        limit: fields.count("limit")?,
        offset: offset
            .map(|offset| {
                u64::try_from(offset).map_err(|_| {
                    InvalidInput::with_rule(
                        &offset_name,
                        "must be a whole number from 0",
                        &offset.to_string(),
                    )
                })
            })
            .transpose()?,
    })
}

fn read_endpoints(fields: &mut Fields, change: EndpointChange) -> Result<ChangeEndpoints, InvalidInput> {
    let name = fields.required_ident("name")?;
    let urls = fields.texts("urls")?;
    let urls = urls.iter().enumerate();
    let urls = urls.map(|(index, url)| Destination::parse("url", url).map_err(|error| error.at_index(index)));
    Ok(ChangeEndpoints { name, change, urls: urls.collect::<Result<_, _>>()? })
}

fn read_queue_settings(fields: &mut Fields) -> Result<QueueSettings, InvalidInput> {
    Ok(QueueSettings {
        retry_limit: fields.count("retry_limit")?,
        retry_delay: fields.duration("retry_delay")?,
        max_delay: fields.duration("max_delay")?,
        backoff: fields.flag("backoff")?,
        expire: fields.duration("expire")?,
        concurrency: fields.count("concurrency")?,
        keep_completed: fields.duration("keep_completed")?,
        keep_queued: fields.duration("keep_queued")?,
        dead_letter_queue: fields.ident("dead_letter_queue")?,
        enabled: fields.flag("enabled")?,
        description: fields.text("description")?,
    })
}
