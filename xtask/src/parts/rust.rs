//! The Rust tests, with a PostgreSQL beside the embedded SQLite and the public client of timers.

use super::{Ran, TESTED};
use crate::command::{Failure, Run};
use crate::context::Context;
use crate::postgres::URL_VARIABLE;
use crate::setup::python;
use crate::setup::tools::NEXTEST;
use crate::workspace;

pub(super) fn run(context: &Context) -> Result<Ran, Failure> {
    let postgres = context.postgres()?;
    Run::new(NEXTEST.obtain()?)
        .args(["nextest", "run", "--locked", "--no-fail-fast"])
        .args(TESTED)
        .env("CARGO", workspace::cargo())
        .env(URL_VARIABLE, postgres.url())
        .env(python::PUBLIC_CLIENT_VARIABLE, python::with_public_client()?)
        .run()?;
    Ok(Ran::Passed)
}
