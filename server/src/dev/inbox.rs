//! Inboxes: receivers that record what arrives and answer as they are told.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use bytes::Bytes;
use chrono::{SecondsFormat, Utc};
use http::HeaderMap;
use tokio::sync::watch;

/// Requests that one inbox keeps; the oldest go first.
const MAX_KEPT: usize = 100_000;

/// Every inbox, by name. One is made by the first request to it.
#[derive(Debug, Default)]
pub struct Inboxes {
    by_name: Mutex<HashMap<String, Inbox>>,
    arrivals: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Inbox {
    requests: Vec<Recorded>,
    script: Vec<ScriptedAnswer>,
    answered: usize,
}

/// A request as it arrived.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    /// Its method.
    pub method: String,
    /// Its target, byte for byte.
    pub target: String,
    /// Its headers, in order.
    pub headers: Vec<(String, String)>,
    /// Its body as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Its body where that is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
    /// When it arrived, by the machine's clock.
    pub received_at: String,
}

impl Recorded {
    /// Records a request.
    pub fn new(method: &http::Method, target: &str, headers: &HeaderMap, body: &Bytes) -> Self {
        let text = std::str::from_utf8(body).ok().map(str::to_owned);
        let body_base64 = text.is_none().then(|| base64::engine::general_purpose::STANDARD.encode(body));
        Self {
            method: method.to_string(),
            target: target.to_owned(),
            headers: headers
                .iter()
                .map(|(name, value)| {
                    (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
                })
                .collect(),
            body: text,
            body_base64,
            received_at: Utc::now().to_rfc3339_opts(SecondsFormat::Micros, true),
        }
    }

    /// The first value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// One answer of a script.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptedAnswer {
    /// The status; 200.
    #[serde(default = "ok")]
    pub status: u16,
    /// Headers besides.
    #[serde(default)]
    pub headers: HashMap<String, String>,
    /// The body; empty.
    #[serde(default)]
    pub body: String,
    /// How long to wait before the answer; not at all.
    #[serde(default)]
    pub delay_ms: u64,
}

fn ok() -> u16 {
    200
}

impl Default for ScriptedAnswer {
    fn default() -> Self {
        Self { status: 200, headers: HashMap::new(), body: String::new(), delay_ms: 0 }
    }
}

impl Inboxes {
    /// Records a request and says how to answer it.
    pub fn receive(&self, name: &str, request: Recorded) -> ScriptedAnswer {
        let answer = self.with(name, |inbox| {
            if inbox.requests.len() >= MAX_KEPT {
                inbox.requests.remove(0);
            }
            inbox.requests.push(request);
            let at = inbox.answered.min(inbox.script.len().saturating_sub(1));
            inbox.answered += 1;
            inbox.script.get(at).cloned().unwrap_or_default()
        });
        self.arrivals.send_replace(());
        answer
    }

    /// Signals each arrival, in whichever inbox. Subscribe before you look.
    pub fn arrivals(&self) -> watch::Receiver<()> {
        self.arrivals.subscribe()
    }

    /// What has arrived, in order.
    pub fn requests(&self, name: &str) -> Vec<Recorded> {
        self.with(name, |inbox| inbox.requests.clone())
    }

    /// Forgets what has arrived; the script stays and goes on.
    pub fn clear(&self, name: &str) {
        self.with(name, |inbox| inbox.requests.clear());
    }

    /// Scripts the answers from now on; the last repeats, an empty script answers 200.
    pub fn script(&self, name: &str, answers: Vec<ScriptedAnswer>) {
        self.with(name, |inbox| {
            inbox.script = answers;
            inbox.answered = 0;
        });
    }

    fn with<T>(&self, name: &str, act: impl FnOnce(&mut Inbox) -> T) -> T {
        let mut inboxes = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        act(inboxes.entry(name.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_followed_and_its_last_answer_repeats() {
        let inboxes = Inboxes::default();
        let receive = || {
            let request = Recorded::new(&http::Method::POST, "/", &HeaderMap::new(), &Bytes::new());
            inboxes.receive("a", request).status
        };
        assert_eq!(receive(), 200);
        let answer = |status| ScriptedAnswer { status, ..ScriptedAnswer::default() };
        inboxes.script("a", vec![answer(503), answer(204)]);
        assert_eq!([receive(), receive(), receive()], [503, 204, 204]);
        assert_eq!(inboxes.requests("a").len(), 4);
        inboxes.clear("a");
        assert_eq!(inboxes.requests("a").len(), 0);
    }
}
