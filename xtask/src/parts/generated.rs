//! The generated Python and TypeScript names are those of `chronq::contract`.

use super::Ran;
use crate::command::Failure;
use crate::generate;

pub(super) fn run() -> Result<Ran, Failure> {
    let stale = generate::stale();
    if stale.is_empty() {
        return Ok(Ran::Passed);
    }
    Err(Failure::new(format!("not as generated: {}; run `cargo xtask generate`", stale.join(", "))))
}
