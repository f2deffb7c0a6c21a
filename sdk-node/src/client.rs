//! The client: its configuration, and one session per call for the package's driver.

use chronq::call::{Call, ClientConfig, Session};
use chronq::json::Json;
use napi::bindgen_prelude::Uint8ArraySlice;
use napi_derive::napi;

use crate::{SPELLING, thrown};

/// A client's configuration.
#[napi]
pub struct CoreClient(ClientConfig);

#[napi]
impl CoreClient {
    /// A client with these options, as JSON.
    #[napi(constructor)]
    pub fn new(options: String) -> napi::Result<Self> {
        ClientConfig::from_json(json(&options)?, SPELLING).map(Self).map_err(thrown)
    }

    /// Bound of one attempt, in milliseconds.
    #[napi]
    pub fn timeout(&self) -> f64 {
        self.0.timeout.as_secs_f64() * 1_000.0
    }

    /// Starts a call. `seed` is 32 random bytes, `now` unix milliseconds.
    #[napi]
    pub fn call(
        &self,
        name: String,
        options: String,
        seed: Uint8ArraySlice<'_>,
        now: f64,
    ) -> napi::Result<CoreSession> {
        let call = Call::from_json(&name, json(&options)?, SPELLING).map_err(thrown)?;
        let seed =
            <[u8; 32]>::try_from(&*seed).map_err(|_| napi::Error::from_reason("a seed has 32 bytes"))?;
        Ok(CoreSession(Session::new(&self.0, call, SPELLING, seed, milliseconds(now))))
    }
}

/// One call in progress.
#[napi]
pub struct CoreSession(Session);

#[napi]
impl CoreSession {
    /// What to do next, as JSON.
    #[napi]
    pub fn next(&mut self) -> String {
        self.0.next_json().to_string()
    }

    /// Reports an answer; `headers` has names and values in turn.
    #[napi]
    pub fn respond(
        &mut self,
        status: u16,
        headers: Vec<String>,
        body: Uint8ArraySlice<'_>,
        now: f64,
        jitter: f64,
    ) {
        let pairs = headers.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str()));
        self.0.respond(status, pairs, body.to_vec(), milliseconds(now), jitter);
    }

    /// Reports that no answer came.
    #[napi]
    pub fn fail(&mut self, message: String, may_have_been_sent: bool, jitter: f64) {
        self.0.fail(&message, may_have_been_sent, jitter);
    }
}

fn json(text: &str) -> napi::Result<Json> {
    Json::parse(text).ok_or_else(|| napi::Error::from_reason("the options are no JSON"))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a clock's milliseconds are far from the end of either type"
)]
fn milliseconds(now: f64) -> i64 {
    now as i64
}
