//! The binding for the edge: the pure core as WebAssembly, converted. The package in front of it
//! (`ts/`) owns the names, the errors and the driver; nothing here waits, fetches or looks at a clock.
//!
//! Everything crosses as text, numbers and bytes. What cannot go on throws the JSON of the core's
//! error as a text. The feature `client`, on by default, is left out of the receiver's own module.

#[cfg(feature = "client")]
mod client;
mod receiver;

use chronq::call::{Spelling, error_to_json};
use chronq::contract::headers;
use wasm_bindgen::prelude::*;

/// The spelling of options and errors in this language.
const SPELLING: Spelling = Spelling::Camel;

/// An error on its way to the package, which makes its class of it.
fn thrown(error: impl Into<chronq::Error>) -> JsValue {
    JsValue::from_str(&error_to_json(&error.into(), SPELLING).to_string())
}

/// The options of the package, which wrote them as JSON.
fn json(text: &str) -> Result<serde_json::Value, JsValue> {
    serde_json::from_str(text).map_err(|error| JsValue::from_str(&error.to_string()))
}

/// Every header that some dialect of the receiver reads: the package passes no others.
#[wasm_bindgen(js_name = signatureHeaders)]
pub fn signature_headers() -> Vec<String> {
    let webhooks = headers::WEBHOOK.iter().chain(&headers::SVIX);
    [headers::SIGNATURE, headers::QSTASH_SIGNATURE]
        .iter()
        .chain(webhooks)
        .map(|name| (*name).to_owned())
        .collect()
}
