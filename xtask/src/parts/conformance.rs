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
    Run::new(workspace::cargo()).args(["build", "--locked", "--package", "chronq-conformance"]).run()?;
    Run::new(workspace::built("chronq-conformance"))
        .args(["run", "--report"])
        .arg(workspace::target().join("conformance"))
        .env("CHRONQ_SERVER_BIN", server)
        .env(URL_VARIABLE, postgres.url())
        .run()?;
    Ok(Ran::Passed)
}
