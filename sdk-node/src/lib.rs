//! The Node binding: the pure core, converted. The package in front of it (`ts/`) owns the names,
//! the errors and the driver; nothing here waits, opens a socket or looks at a clock.
//!
//! Everything crosses as text, numbers and bytes. What cannot go on throws an error whose message is
//! the JSON of the core's error.

#![expect(clippy::needless_pass_by_value, reason = "Node-API hands texts over by value")]
#![expect(clippy::too_many_arguments, reason = "an options object would cost more than the HMAC")]

mod client;
mod receiver;
mod text;

use chronq::call::{Spelling, error_to_json};
use chronq::contract::headers;
use napi_derive::napi;

/// The spelling of options and errors in this language.
const SPELLING: Spelling = Spelling::Camel;

/// An error on its way to the package, which makes its class of it.
fn thrown(error: impl Into<chronq::Error>) -> napi::Error {
    napi::Error::from_reason(error_to_json(&error.into(), SPELLING).to_string())
}

/// Every header that some dialect of the receiver reads: the package passes no others.
#[napi]
pub fn signature_headers() -> Vec<String> {
    let webhooks = headers::WEBHOOK.iter().chain(&headers::SVIX);
    [headers::SIGNATURE, headers::QSTASH_SIGNATURE]
        .iter()
        .chain(webhooks)
        .map(|name| (*name).to_owned())
        .collect()
}
