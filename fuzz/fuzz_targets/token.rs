//! See `fuzzed::token`.
#![no_main]

// Each fuzzer runs one of the targets.
#[allow(dead_code)]
#[path = "../../sdk-core/tests/signing/fuzzed.rs"]
mod fuzzed;
#[path = "../../sdk-core/tests/signing/mod.rs"]
mod signing;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::token(data));
