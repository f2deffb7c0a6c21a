//! The Rust tests, with a PostgreSQL beside the embedded SQLite.

use super::{Ran, TESTED};
use crate::command::{Failure, Run};
use crate::context::Context;
use crate::postgres::URL_VARIABLE;
use crate::setup::tools::NEXTEST;
use crate::workspace;

pub(super) fn run(context: &Context) -> Result<Ran, Failure> {
    let postgres = context.postgres()?;
    Run::new(NEXTEST.obtain()?)
        .args(["nextest", "run", "--locked", "--no-fail-fast"])
        .args(TESTED)
        .env("CARGO", workspace::cargo())
        .env(URL_VARIABLE, postgres.url())
        .run()?;
    Ok(Ran::Passed)
}
