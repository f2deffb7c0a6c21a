//! The lints of the root Cargo.toml, as errors, over all targets.

use super::Ran;
use crate::command::{Failure, Run};
use crate::workspace;

pub(super) fn run() -> Result<Ran, Failure> {
    Run::new(workspace::cargo())
        .args(["clippy", "--locked", "--quiet", "--workspace", "--all-targets"])
        .args(["--features", "chronq/blocking,chronq/server", "--", "--deny", "warnings"])
        .run()?;
    Ok(Ran::Passed)
}
