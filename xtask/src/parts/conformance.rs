//! The conformance suite through every adapter that can be built here.

use super::{Ran, TESTED, missing};
use crate::command::{Failure, Run};
use crate::context::Context;
use crate::postgres::URL_VARIABLE;
use crate::setup::browser;
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
    browser::obtain()?;
    // The signature vectors are the oracle's, to the byte.
    Run::new(venv.program("python")).args(["conformance/oracle/vectors.py", "--check"]).run()?;
    let runner = |program: &str| {
        Run::new(workspace::built(program))
            .env("CHRONQ_PYTHON", venv.program("python"))
            .env("CHRONQ_SERVER_BIN", server)
            .env(URL_VARIABLE, postgres.url())
    };
    runner("chronq-conformance")
        .args(["run", "--report"])
        .arg(workspace::target().join("conformance"))
        .run()?;
    // The same crates once more, able to be wrong; only our own are compiled again.
    Run::new(workspace::cargo())
        .args(["build", "--locked"])
        .args(TESTED)
        .args(["--features", "chronq-conformance/sabotage", "--bin", "chronq-sabotaged"])
        .run()?;
    runner("chronq-sabotaged").arg("sabotage").run()?;
    Ok(Ran::Passed)
}
