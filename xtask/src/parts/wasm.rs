//! The edge package builds, and stays within its size budget.

use super::{Ran, missing};
use crate::command::Failure;
use crate::context::Context;

pub(super) fn run(context: &Context) -> Result<Ran, Failure> {
    if let Some(nothing) = missing("sdk-wasm/package.json") {
        return Ok(nothing);
    }
    context.wasm()?;
    Ok(Ran::Passed)
}
