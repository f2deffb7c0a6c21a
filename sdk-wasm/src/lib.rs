//! The binding for the edge: the pure core as WebAssembly, converted. The package in front of it
//! (`ts/`) owns the names, the errors and the driver; nothing here waits, fetches or looks at a clock.
//!
//! Everything crosses as text, numbers and bytes. What cannot go on throws the JSON of the core's
//! error as a text. The feature `client`, on by default, is left out of the receiver's own module.

#![expect(
    clippy::needless_pass_by_value,
    reason = "wasm-bindgen hands lists and optional texts over by value"
)]

#[cfg(feature = "client")]
mod client;
mod receiver;

use chronq::call::Spelling;
use chronq::contract::headers;
use wasm_bindgen::prelude::*;

/// Small, and without pauses: the one of the standard library is three times as large.
#[cfg(target_family = "wasm")]
#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();

/// The spelling of options and errors in this language.
const SPELLING: Spelling = Spelling::Camel;

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
