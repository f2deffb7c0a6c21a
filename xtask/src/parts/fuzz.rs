//! The verifier's fuzzers: their kept corpus, then a few seconds of new inputs each.

use super::{Ran, missing};
use crate::command::{Failure, Run};
use crate::workspace;

/// For each of the five targets.
const SECONDS: &str = "5";

pub(super) fn run() -> Result<Ran, Failure> {
    if let Some(nothing) = missing("fuzz/run") {
        return Ok(nothing);
    }
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    if !Run::new(&compiler).arg("--version").succeeds() {
        return Ok(Ran::NotThere(format!(
            "libFuzzer is compiled with a C++ compiler, and there is no {compiler}"
        )));
    }
    Run::new("sh")
        .arg(workspace::at("fuzz/run"))
        .arg(SECONDS)
        .env("CARGO_TARGET_DIR", workspace::target())
        .run()?;
    Ok(Ran::Passed)
}
