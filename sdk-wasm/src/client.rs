//! The client: its configuration, and one session per call for the package's driver.

use chronq::call::{Call, ClientConfig, Session, error_to_json};
use chronq::json::Json;
use wasm_bindgen::prelude::*;

use crate::SPELLING;

/// A client's configuration.
#[wasm_bindgen]
pub struct CoreClient(ClientConfig);

#[wasm_bindgen]
impl CoreClient {
    /// A client with these options, as JSON.
    #[wasm_bindgen(constructor)]
    pub fn new(options: &str) -> Result<Self, JsValue> {
        ClientConfig::from_json(json(options)?, SPELLING).map(Self).map_err(thrown)
    }

    /// Bound of one attempt, in milliseconds.
    pub fn timeout(&self) -> f64 {
        self.0.timeout.as_secs_f64() * 1_000.0
    }

    /// Starts a call. `seed` is 32 random bytes, `now` unix milliseconds.
    pub fn call(&self, name: &str, options: &str, seed: &[u8], now: f64) -> Result<CoreSession, JsValue> {
        let call = Call::from_json(name, json(options)?, SPELLING).map_err(thrown)?;
        let seed = <[u8; 32]>::try_from(seed).map_err(|_| JsValue::from_str("a seed has 32 bytes"))?;
        Ok(CoreSession(Session::new(&self.0, call, SPELLING, seed, milliseconds(now))))
    }
}

/// One call in progress.
#[wasm_bindgen]
pub struct CoreSession(Session);

#[wasm_bindgen]
impl CoreSession {
    /// What to do next, as JSON.
    pub fn next(&mut self) -> String {
        self.0.next_json().to_string()
    }

    /// Reports an answer; `headers` has names and values in turn.
    pub fn respond(&mut self, status: u16, headers: Vec<String>, body: &[u8], now: f64, jitter: f64) {
        let pairs = headers.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str()));
        self.0.respond(status, pairs, body.to_vec(), milliseconds(now), jitter);
    }

    /// Reports that no answer came.
    pub fn fail(&mut self, message: &str, may_have_been_sent: bool, jitter: f64) {
        self.0.fail(message, may_have_been_sent, jitter);
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a clock's milliseconds are far from the end of either type"
)]
fn milliseconds(now: f64) -> i64 {
    now as i64
}

/// An error on its way to the package, which makes its class of it.
fn thrown(error: impl Into<chronq::Error>) -> JsValue {
    JsValue::from_str(&error_to_json(&error.into(), SPELLING).to_string())
}

/// The options of the package, which wrote them as JSON.
fn json(text: &str) -> Result<Json, JsValue> {
    Json::parse(text).ok_or_else(|| JsValue::from_str("the options are no JSON"))
}
