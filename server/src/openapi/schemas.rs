//! The schemas that the routes name. Closed sets come from the contract.

use chronq::contract::{AccessLevel, KeyState, MessageState, Method, Missed, TimerStatus};
use serde_json::{Map, Value, json};

/// Every schema, by name.
pub(super) fn all() -> Map<String, Value> {
    [publishing(), messages(), topology(), schedules(), timers(), admin()].into_iter().flatten().collect()
}

type Schemas = Vec<(String, Value)>;

/// An object; names with `?` need not be there.
fn object(fields: &[(&str, Value)]) -> Value {
    let plain = |name: &str| name.trim_end_matches('?').to_owned();
    let required: Vec<&str> =
        fields.iter().map(|(name, _)| *name).filter(|name| !name.ends_with('?')).collect();
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema)| (plain(name), schema.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn named(list: &[(&str, Value)]) -> Schemas {
    list.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect()
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn url() -> Value {
    json!({ "type": "string", "format": "uri", "maxLength": chronq::contract::limits::MAX_DESTINATION_BYTES })
}

fn name() -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" })
}

fn duration() -> Value {
    json!({ "type": "string", "examples": ["45s", "1d10h30m"], "description": "units d, h, m, s, ms in this order" })
}

fn integer() -> Value {
    json!({ "type": "integer" })
}

fn flag() -> Value {
    json!({ "type": "boolean" })
}

fn unix_ms() -> Value {
    json!({ "type": "integer", "description": "unix milliseconds" })
}

fn date_time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

fn any() -> Value {
    json!({})
}

fn list(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn strings() -> Value {
    json!({ "type": "object", "additionalProperties": text() })
}

fn nullable(schema: &Value) -> Value {
    json!({ "oneOf": [schema, { "type": "null" }] })
}

fn one_of(words: &[impl ToString]) -> Value {
    json!({ "type": "string", "enum": words.iter().map(ToString::to_string).collect::<Vec<_>>() })
}

fn to(schema: &str) -> Value {
    super::reference(schema)
}

fn publishing() -> Schemas {
    named(&[
        (
            "Error",
            object(&[
                ("error", text()),
                ("reason?", text()),
                ("detail?", text()),
                ("state?", one_of(MessageState::ALL)),
            ]),
        ),
        ("Published", object(&[("messageId", text()), ("queue", name())])),
        (
            "PublishedCopy",
            object(&[("messageId", text()), ("url", url()), ("queue", name()), ("deduplicated", flag())]),
        ),
        ("PublishAnswer", json!({ "oneOf": [to("Published"), list(&to("PublishedCopy"))] })),
        (
            "BatchEntry",
            object(&[("destination", url()), ("queue?", name()), ("body?", text()), ("headers?", strings())]),
        ),
        (
            "BatchResult",
            json!({ "oneOf": [
                object(&[("messageId", text()), ("queue", name()), ("deduplicated", flag())]),
                object(&[("error", text())]),
            ] }),
        ),
        ("OpenApi", json!({ "type": "object" })),
    ])
}

fn messages() -> Schemas {
    let filters = object(&[
        ("queue?", name()),
        ("state?", one_of(MessageState::ALL)),
        ("label?", text()),
        ("cronjob?", name()),
        ("limit?", integer()),
        ("offset?", integer()),
    ]);
    named(&[
        (
            "Message",
            object(&[
                ("messageId", text()),
                ("queue", name()),
                ("state", one_of(MessageState::ALL)),
                ("url", url()),
                ("labels", list(&text())),
                ("cronjob", nullable(&name())),
                ("createdAt", date_time()),
                ("startedAt", nullable(&date_time())),
                ("completedAt", nullable(&date_time())),
                ("retried", integer()),
                ("maxRetries", integer()),
                ("response", nullable(&to("AttemptResponse"))),
            ]),
        ),
        (
            "AttemptResponse",
            object(&[
                ("status", integer()),
                ("headers", strings()),
                ("body", text()),
                ("durationMs", integer()),
                ("truncated", flag()),
            ]),
        ),
        ("MessageStateAnswer", object(&[("messageId", text()), ("state", one_of(MessageState::ALL))])),
        ("Events", object(&[("jobs", list(&to("Message"))), ("total", integer())])),
        ("RpcJobsRequest", object(&[("json", filters)])),
        ("RpcJobsAnswer", object(&[("json", to("Events"))])),
    ])
}

fn topology() -> Schemas {
    let endpoint = object(&[("url", url())]);
    let settings = [
        ("retryLimit?", integer()),
        ("retryDelay?", duration()),
        ("maxDelay?", duration()),
        ("backoff?", flag()),
        ("expire?", duration()),
        ("concurrency?", json!({ "type": "integer", "minimum": 1, "maximum": 100 })),
        ("keepCompleted?", duration()),
        ("keepQueued?", duration()),
        ("deadLetterQueue?", name()),
        ("enabled?", flag()),
        ("description?", text()),
    ];
    let mut queue = vec![("name", name())];
    queue.extend(settings.iter().cloned());
    named(&[
        ("Endpoints", object(&[("endpoints", list(&endpoint.clone()))])),
        (
            "Group",
            object(&[
                ("name", name()),
                ("createdAt", unix_ms()),
                ("updatedAt", unix_ms()),
                ("endpoints", list(&endpoint)),
            ]),
        ),
        ("QueueSettings", object(&settings)),
        ("Queue", object(&queue)),
    ])
}

fn schedules() -> Schemas {
    let common = [
        ("name", name()),
        ("cron", json!({ "type": "string", "examples": ["0 3 * * *", "@daily", "FREQ=WEEKLY;BYDAY=MO"] })),
        ("url", url()),
        ("method?", one_of(Method::ALL)),
        ("headers?", strings()),
        ("body?", text()),
        ("timezone?", json!({ "type": "string", "examples": ["America/Chicago"], "default": "UTC" })),
        ("missed?", one_of(Missed::ALL)),
        ("timeoutMs?", json!({ "type": "integer", "minimum": 1, "maximum": 7_200_000, "default": 30_000 })),
        ("queue?", nullable(&name())),
        ("enabled?", flag()),
        ("description?", nullable(&text())),
        ("failureCallback?", nullable(&url())),
    ];
    let mut info = common.to_vec();
    info.extend([
        ("createdAt", unix_ms()),
        ("updatedAt", unix_ms()),
        ("nextRunAt", nullable(&unix_ms())),
        ("lastRunAt", nullable(&unix_ms())),
    ]);
    named(&[
        ("Schedule", object(&common)),
        ("ScheduleInfo", object(&info)),
        ("ScheduleRun", object(&[("messageId", text()), ("queue", name())])),
    ])
}

fn timers() -> Schemas {
    let operation = object(&[
        ("op", one_of(&["schedule", "reschedule", "cancel"])),
        ("queue", text()),
        ("timerKey", text()),
        ("partition?", text()),
        ("delayMs?", json!({ "type": "number" })),
        ("txn?", text()),
        ("payload?", json!({ "type": "string", "contentEncoding": "base64" })),
        ("payloadZstd?", flag()),
        ("encrypted?", flag()),
    ]);
    let timer = [
        ("queue", text()),
        ("timerKey", text()),
        ("partition?", text()),
        ("deliverAt?", date_time()),
        ("txn?", text()),
        ("messageId?", text()),
        ("payloadZstd?", flag()),
        ("encrypted?", flag()),
        ("producerSub?", nullable(&text())),
        ("attempts?", integer()),
        ("lastError?", nullable(&text())),
        ("claimed?", flag()),
        ("createdAt?", date_time()),
        ("updatedAt?", date_time()),
    ];
    let mut found = vec![("found", flag())];
    found.extend(timer.iter().cloned());
    found.push(("payload?", text()));
    named(&[
        (
            "TimerOperations",
            json!({ "oneOf": [object(&[("operations", list(&operation.clone()))]), list(&operation)] }),
        ),
        (
            "TimerElement",
            object(&[
                ("ok", flag()),
                ("status", one_of(TimerStatus::ALL)),
                ("queue", text()),
                ("timerKey", text()),
                ("txn?", nullable(&text())),
                ("messageId?", text()),
                ("deliverAt?", date_time()),
            ]),
        ),
        ("TimerResults", object(&[("results", list(&to("TimerElement")))])),
        ("Timer", object(&found)),
        (
            "TimerPage",
            object(&[
                ("rows", list(&object(&timer))),
                ("truncated", flag()),
                ("nextAfter", nullable(&text())),
            ]),
        ),
        ("TimerSwitches", object(&[("schedule?", flag()), ("fire?", flag())])),
        ("LogObject", any()),
    ])
}

fn admin() -> Schemas {
    let level = one_of(AccessLevel::ALL);
    named(&[
        ("TokenRequest", object(&[("name", text()), ("level", level.clone()), ("tenant?", text())])),
        (
            "MintedToken",
            object(&[
                ("id", text()),
                ("name", text()),
                ("level", level.clone()),
                ("tenant", text()),
                ("token", text()),
                ("lastFour", text()),
            ]),
        ),
        (
            "Token",
            object(&[
                ("id", text()),
                ("name", text()),
                ("level", level),
                ("tenant", text()),
                ("lastFour", text()),
                ("createdAt", unix_ms()),
                ("lastUsedAt", nullable(&unix_ms())),
            ]),
        ),
        (
            "SigningKey",
            object(&[
                ("id", text()),
                ("state", one_of(KeyState::ALL)),
                ("createdAt", unix_ms()),
                ("key", text()),
            ]),
        ),
        ("Pruned", object(&[("pruned", integer())])),
        (
            "Tenant",
            object(&[
                ("name?", text()),
                ("enabled?", flag()),
                ("maxTimers?", nullable(&integer())),
                ("maxTimerHorizonSeconds?", nullable(&integer())),
                ("maxPayloadBytes?", nullable(&integer())),
                ("maxSchedulesPerSecond?", nullable(&json!({ "type": "number" }))),
                ("burst?", nullable(&integer())),
            ]),
        ),
    ])
}
