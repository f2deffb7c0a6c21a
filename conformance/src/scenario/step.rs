//! The steps of a scenario, as they stand in its file.

use serde::Deserialize;
use serde_json::{Map, Value};

/// One step. Texts hold `{{name}}` for what earlier steps kept; `{{receiver.NAME}}` is the base URL of
/// a receiver, `{{unique}}` a word that no other scenario has.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Step {
    /// Opens a receiver, or gives it another script.
    Receiver {
        name: String,
        #[serde(default)]
        respond: Vec<Value>,
    },
    /// Makes a call with the face's client.
    Call {
        call: String,
        #[serde(default)]
        options: Map<String, Value>,
        /// `{"ok": …}` or `{"error": …}`.
        expect: Value,
        /// Another token than the target's.
        token: Option<Value>,
        /// Another server, by its name.
        at: Option<String>,
        /// Keeps the reply under this name.
        keep: Option<String>,
    },
    /// Makes an HTTP request by hand.
    Http {
        #[serde(default = "get")]
        method: String,
        path: String,
        #[serde(default)]
        headers: Map<String, Value>,
        /// Text as it is.
        body: Option<Value>,
        /// Bytes, in base64.
        base64: Option<String>,
        /// A value to send as JSON.
        json: Option<Value>,
        /// The target's token unless given; null sends none.
        #[serde(default = "own_token")]
        token: Value,
        /// Another server, by its name.
        at: Option<String>,
        /// `{"status", "headers", "json", "body"}`.
        expect: Value,
        /// Asks again until it is as expected, up to ten seconds.
        #[serde(default)]
        until: bool,
        keep: Option<String>,
    },
    /// Waits for deliveries to a receiver and looks at them, the first first.
    Deliveries {
        to: String,
        /// One expectation for each; more must not have come.
        expect: Vec<Value>,
        /// The URL that each must be signed for: each is verified through the face.
        signed_for: Option<Value>,
        keep: Option<String>,
        /// Longest wait; ten seconds unless given.
        within_ms: Option<u64>,
    },
    /// Nothing more comes to a receiver for so long.
    Silence { to: String, for_ms: u64 },
    /// Moves the server's clock: by so many milliseconds, or to an instant that lies ahead of it.
    Advance {
        ms: Option<u64>,
        to: Option<String>,
        /// Another server, by its name.
        at: Option<String>,
    },
    /// Kills the server without warning, and starts it again on the same data.
    Restart {
        /// How long nothing runs in between.
        #[serde(default)]
        after_ms: u64,
    },
    /// Starts another server on the same data.
    Server { name: String },
    /// Values that must all differ.
    Distinct { values: Vec<Value> },
    /// Compares a kept value.
    Check { value: Value, expect: Value },
    /// Does the steps once for each value of a list, which stands in `{{each}}`.
    ForEach { values: Vec<Value>, steps: Vec<Self> },
}

fn get() -> String {
    "GET".to_owned()
}

fn own_token() -> Value {
    Value::String("{{token}}".to_owned())
}

impl Step {
    /// For a failure: which step it was.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Receiver { .. } => "receiver",
            Self::Call { .. } => "call",
            Self::Http { .. } => "http",
            Self::Deliveries { .. } => "deliveries",
            Self::Silence { .. } => "silence",
            Self::Advance { .. } => "advance",
            Self::Restart { .. } => "restart",
            Self::Server { .. } => "server",
            Self::Distinct { .. } => "distinct",
            Self::Check { .. } => "check",
            Self::ForEach { .. } => "for_each",
        }
    }
}
