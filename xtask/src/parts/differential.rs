//! Our verifier against those that people use: docs/security.md shows what they answer, and what ours accepts,
//! they accept.

use super::{Ran, TESTED, missing};
use crate::command::{Failure, Run};
use crate::context::Context;
use crate::setup::python;
use crate::workspace;

pub(super) fn run(context: &Context) -> Result<Ran, Failure> {
    if let Some(nothing) = missing("conformance/differential/run.py") {
        return Ok(nothing);
    }
    let server = context.server()?;
    Run::new(workspace::cargo()).args(["build", "--locked", "--example", "verdicts"]).args(TESTED).run()?;
    Run::new(python::interpreter()?)
        .arg("conformance/differential/run.py")
        .env("CHRONQ_SERVER_BIN", server)
        .env("CHRONQ_VERDICTS", workspace::built("examples/verdicts"))
        .env("CARGO_TARGET_DIR", workspace::target())
        .run()?;
    Ok(Ran::Passed)
}
