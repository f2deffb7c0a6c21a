//! rustfmt.

use super::Ran;
use crate::command::{Failure, Run};
use crate::workspace;

pub(super) fn run() -> Result<Ran, Failure> {
    Run::new(workspace::cargo()).args(["fmt", "--all", "--check"]).run()?;
    Ok(Ran::Passed)
}
