//! `cargo xtask miri`: the verifier's tests under Miri, where it is installed. Not a part of `test`: it needs a
//! nightly toolchain with a component that not every machine can get.

use crate::command::{Failure, Run};
use crate::workspace;

/// What is interpreted: the readers of untrusted bytes. Miri takes a thousand times as long as the processor, so
/// the properties and the wycheproof vectors are left out.
const TESTS: [&str; 4] =
    ["signature_advisories", "signature_corpus", "signature_vector", "signature_webhooks"];

pub(crate) fn run() -> Result<(), Failure> {
    let cargo = |arguments: &[&str]| Run::new("cargo").arg("+nightly").args(arguments);
    if !cargo(&["miri", "--version"]).succeeds() {
        return Err(Failure::new(
            "Miri is not installed: `rustup toolchain install nightly --component miri rust-src`, where rustup's \
             server has it",
        ));
    }
    let tests = TESTS.iter().flat_map(|test| ["--test", test]);
    cargo(&["miri", "test", "--locked", "--package", "chronq"])
        .args(tests)
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        .env("CARGO_TARGET_DIR", workspace::target().join("miri"))
        .run()
}
