//! The conformance suite through every adapter that can be built here.

use super::{Ran, missing};
use crate::command::{Failure, Run};
use crate::context::Context;
use crate::postgres::URL_VARIABLE;
use crate::workspace;

pub(super) fn run(context: &Context) -> Result<Ran, Failure> {
    if let Some(nothing) = missing("conformance/cases") {
        return Ok(nothing);
    }
    let server = context.server()?;
    let postgres = context.postgres()?;
    let venv = context.venv()?;
    context.node_package()?;
    context.edge_package()?;
    // The signature vectors are the oracle's, to the byte.
    Run::new(venv.program("python")).args(["conformance/oracle/vectors.py", "--check"]).run()?;
    let runner = || {
        Run::new(workspace::built("chronq-conformance"))
            .env("CHRONQ_PYTHON", venv.program("python"))
            .env("CHRONQ_SERVER_BIN", server)
            .env(URL_VARIABLE, postgres.url())
    };
    runner().args(["run", "--report"]).arg(workspace::target().join("conformance")).run()?;
    runner().arg("sabotage").run()?;
    Ok(Ran::Passed)
}
