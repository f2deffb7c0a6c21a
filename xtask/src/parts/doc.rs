//! The Rust documentation: it builds without a warning, and its examples run.

use super::{Ran, TESTED};
use crate::command::{Failure, Run};
use crate::workspace;

pub(super) fn run() -> Result<Ran, Failure> {
    Run::new(workspace::cargo())
        .args(["doc", "--locked", "--quiet", "--no-deps", "--document-private-items"])
        .args(TESTED)
        .env("RUSTDOCFLAGS", "--deny warnings")
        .run()?;
    Run::new(workspace::cargo())
        .args(["test", "--locked", "--doc", "--package", "chronq", "--package", "chronq-server"])
        .args(["--features", "chronq/blocking,chronq/server"])
        .run()?;
    Ok(Ran::Passed)
}
