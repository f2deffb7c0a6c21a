//! Licences, sources and bans of everything we depend on (deny.toml). Advisories need a database
//! from the network: `cargo deny check advisories` where it can be reached.

use super::Ran;
use crate::command::{Failure, Run};
use crate::setup::tools::DENY;

pub(super) fn run() -> Result<Ran, Failure> {
    Run::new(DENY.obtain()?)
        .args(["--locked", "--all-features", "check", "--hide-inclusion-graph"])
        .args(["bans", "licenses", "sources"])
        .run()?;
    Ok(Ran::Passed)
}
