//! The Rust adapter: answers the questions of the suite with the crate `chronq` alone, calls with its
//! async client.

use std::io::{BufRead, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chronq::call::{Call, ClientConfig, Session, Spelling, error_to_json};
use chronq::client::Client;
use chronq::contract::Dialect;
use chronq::error::{Error, ErrorKind};
use chronq::json::Json;
use chronq::signature::{Body, Delivery, Moment, Receiver, SignatureValue, Verified, whole_seconds};
use chronq::{Destination, InvalidInput, Secret, duration};
use serde_json::{Map, Value, json};

/// Why a question has no plain answer.
enum Said {
    Error(Error),
    Unsupported(&'static str),
}

impl<T: Into<Error>> From<T> for Said {
    fn from(error: T) -> Self {
        Self::Error(error.into())
    }
}

/// Answers line by line until stdin closes.
pub(crate) fn serve() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let question: Value = serde_json::from_str(&line?)?;
        let input = &question["input"];
        let said = match question["op"].as_str().unwrap_or_default() {
            "verify" => verify(input),
            "call" => runtime.block_on(call(input)),
            "exchange" => exchange(input),
            "duration" => read_duration(input),
            "destination" => read_destination(input),
            _ => Err(Said::Unsupported("no such op")),
        };
        let mut answer = match said {
            Ok(value) => json!({"ok": value}),
            Err(Said::Error(error)) => json!({"error": describe(&error)}),
            Err(Said::Unsupported(reason)) => json!({"unsupported": reason}),
        };
        answer["id"] = question["id"].clone();
        writeln!(stdout, "{answer}")?;
        stdout.flush()?;
    }
    Ok(())
}

/// As the suite compares it.
fn to_value(json: &Json) -> Value {
    serde_json::from_str(&json.to_string()).unwrap_or_default()
}

/// An error with every attribute that the suite looks at.
fn describe(error: &Error) -> Value {
    let mut json = to_value(&error_to_json(error, Spelling::Camel));
    if let ErrorKind::Signature(signature) = error.kind() {
        json["claim"] = json!(signature.claim());
        json["seconds"] = json!(signature.seconds());
        json["difference"] = json!(signature.difference());
    }
    json
}

fn verify(input: &Value) -> Result<Value, Said> {
    let receiver = receiver(&input["receiver"])?;
    let bytes;
    let body = match body(&input["body"]) {
        BodyInput::Bytes(given) => {
            bytes = given;
            Body::Raw(&bytes)
        }
        BodyInput::NotRaw => return Err(Said::Unsupported("the type of the argument rules it out")),
    };
    let url = input["url"].as_str();
    let now = seconds("now", &input["now"])?.unwrap_or_else(|| now_ms() / 1_000);
    let tolerance = seconds("clock_tolerance", &input["clockToleranceSeconds"])?;
    let moment = Moment::at(now).with_tolerance(tolerance);
    let verified = if let Some(headers) = input["headers"].as_object() {
        let pairs = headers.iter().map(|(name, value)| (name.as_str(), signature(value)));
        receiver.verify_headers(pairs, body, url, moment)?
    } else {
        let delivery = Delivery { signature: signature(&input["signature"]), body, url };
        receiver.verify(&delivery, moment)?
    };
    Ok(verified_to_json(&verified))
}

fn verified_to_json(verified: &Verified) -> Value {
    let claims = &verified.claims;
    json!({
        "iss": claims.iss, "sub": claims.sub, "exp": claims.exp, "nbf": claims.nbf,
        "iat": claims.iat, "jti": claims.jti, "body": claims.body, "key": verified.key,
    })
}

fn receiver(options: &Value) -> Result<Receiver, Said> {
    let text = |name: &str| options[name].as_str().map(Secret::from);
    let Some(current) = text("currentSigningKey") else {
        return Err(chronq::signature::missing_signing_key().into());
    };
    let dialect = options["dialect"].as_str().map_or(Ok(Dialect::Chronq), str::parse);
    let dialect = dialect.map_err(|error| InvalidInput::new("dialect", error.to_string()))?;
    let receiver = Receiver::of_dialect(dialect, current, text("nextSigningKey"));
    let receiver = receiver.map_err(|error| in_camel_case(&error))?;
    Ok(match seconds("clock_tolerance", &options["clockToleranceSeconds"])? {
        Some(tolerance) => receiver.with_clock_tolerance(tolerance)?,
        None => receiver,
    })
}

/// The suite spells options as JavaScript does; each adapter respells its own.
fn in_camel_case(error: &InvalidInput) -> Error {
    InvalidInput::new(Spelling::Camel.of(error.option()), error.to_string()).into()
}

enum BodyInput {
    Bytes(Vec<u8>),
    NotRaw,
}

fn body(value: &Value) -> BodyInput {
    if let Some(text) = value["utf8"].as_str() {
        return BodyInput::Bytes(text.as_bytes().to_vec());
    }
    match value["base64"].as_str().map(|text| STANDARD.decode(text)) {
        Some(Ok(bytes)) => BodyInput::Bytes(bytes),
        _ => BodyInput::NotRaw,
    }
}

fn signature(value: &Value) -> SignatureValue<'_> {
    match value {
        Value::Null => SignatureValue::Absent,
        Value::String(text) => text.into(),
        Value::Array(items) => items.iter().map(signature).collect(),
        _ => SignatureValue::NotText,
    }
}

fn seconds(option: &str, value: &Value) -> Result<Option<i64>, Said> {
    match value {
        Value::Null => Ok(None),
        value => Ok(Some(whole_seconds(option, value.as_f64().unwrap_or(f64::NAN))?)),
    }
}

fn config(input: &Value) -> Result<ClientConfig, Said> {
    let mut options = Map::new();
    for name in ["url", "token", "timeout", "retry", "userAgent"] {
        if let Some(value) = input.get(name) {
            options.insert(name.to_owned(), value.clone());
        }
    }
    Ok(ClientConfig::from_json(Value::Object(options), Spelling::Camel)?)
}

fn read_call(input: &Value) -> Result<Call, Said> {
    let name = input["call"].as_str().unwrap_or_default();
    let mut options = input["options"].clone();
    respell(&mut options);
    for entry in options.get_mut("entries").and_then(Value::as_array_mut).into_iter().flatten() {
        respell(entry);
    }
    Ok(Call::from_json(name, options, Spelling::Camel)?)
}

/// `json` stands in the suite as a value.
fn respell(options: &mut Value) {
    if let Some(value) = options.as_object_mut().and_then(|members| members.remove("json")) {
        options["jsonText"] = value.to_string().into();
    }
}

async fn call(input: &Value) -> Result<Value, Said> {
    let client = Client::from_config(config(input)?)?;
    let ask = async |name: &str, options: Value| {
        let call = read_call(&json!({"call": name, "options": options}))?;
        Ok::<_, Said>(to_value(&client.execute(call).await?))
    };
    let mut options = input["options"].clone();
    match input["call"].as_str().unwrap_or_default() {
        // A cancel that answers absent, and what became of the timer.
        "timers.settle" => {
            let cancel = json!({"queue": options["queue"], "key": options["key"], "txn": options["txn"]});
            let cancelled = ask("timers.cancel", cancel).await?;
            if cancelled["status"] == "absent" { ask("timers.settle", options).await } else { Ok(cancelled) }
        }
        // Over all pages, as the face's own iterator goes.
        "timers.list" => {
            let mut rows = Vec::new();
            loop {
                let mut page = ask("timers.list", options.clone()).await?;
                rows.extend(page["rows"].as_array_mut().map(std::mem::take).unwrap_or_default());
                if page["nextAfter"].is_null() {
                    return Ok(json!({"rows": rows}));
                }
                options["after"] = page["nextAfter"].take();
            }
        }
        // One message, as the face's own method takes and answers it.
        "log.push" => {
            let pushed = ask("log.push", json!({"items": [options]})).await?[0].take();
            Ok(json!({
                "messageId": pushed["message_id"], "transactionId": pushed["transaction_id"],
                "queue": pushed["queueName"],
            }))
        }
        // Takes a message and settles it.
        "log.ack" => {
            let status = options.as_object_mut().and_then(|options| options.remove("status"));
            let message = ask("log.pop", options).await?["messages"][0].clone();
            let ack = json!({
                "transactionId": message["transactionId"], "partitionId": message["partitionId"],
                "leaseId": message["leaseId"], "consumerGroup": message["consumerGroup"], "status": status,
            });
            ask("log.ack", ack).await
        }
        name => ask(name, options).await,
    }
}

/// Virtual time: the script says what comes back, when, and with what jitter. The answer lists every
/// step that a driver would have taken.
fn exchange(input: &Value) -> Result<Value, Said> {
    let mut session =
        Session::new(&config(input)?, read_call(input)?, Spelling::Camel, [7; 32], 1_796_000_000_000);
    let mut script = input["script"].as_array().into_iter().flatten();
    let mut steps = Vec::new();
    loop {
        let step = to_value(&session.next_json());
        let is_send = step.get("send").is_some();
        let is_over = step.get("done").is_some() || step.get("error").is_some();
        steps.push(step);
        if is_over {
            return Ok(json!({"steps": steps, "unused": script.count()}));
        }
        if !is_send {
            continue;
        }
        let Some(event) = script.next() else {
            return Ok(json!({"steps": steps, "unused": 0}));
        };
        let jitter = event["jitter"].as_f64().unwrap_or(1.0);
        if let Some(message) = event["fail"].as_str() {
            session.fail(message, event["mayHaveBeenSent"].as_bool().unwrap_or(true), jitter);
            continue;
        }
        let headers = event["headers"].as_object().into_iter().flatten();
        let headers: Vec<_> =
            headers.map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default())).collect();
        let status = event["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(0);
        let body = match &event["body"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let now = event["now"].as_i64().unwrap_or(1_796_000_000_000);
        session.respond(status, headers, body, now, jitter);
    }
}

fn read_duration(input: &Value) -> Result<Value, Said> {
    let option = input["option"].as_str().unwrap_or("delay");
    let text = input["text"].as_str().unwrap_or_default();
    let read = match input["maxMs"].as_u64() {
        Some(max_ms) => duration::parse_up_to(option, text, max_ms)?,
        None => duration::parse(option, text)?,
    };
    Ok(json!({"ms": milliseconds(read), "written": duration::format(read)}))
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn read_destination(input: &Value) -> Result<Value, Said> {
    let url = Destination::parse("destination", input["text"].as_str().unwrap_or_default())?;
    Ok(json!({
        "text": url.as_str(),
        "host": url.host(),
        "port": url.port(),
        "authority": url.authority(),
        "target": url.request_target(),
        "survivesUrlLibraries": url.survives_url_libraries(),
    }))
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
