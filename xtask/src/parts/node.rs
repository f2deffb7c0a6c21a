//! The Node package: types, tests, and the package as users install it.

use super::{Ran, missing};
use crate::command::Failure;
use crate::context::Context;
use crate::setup::node;
use crate::workspace;

/// Scripts of package.json, in order; those it has are run.
const SCRIPTS: [&str; 4] = ["lint", "typecheck", "test", "test:package"];

pub(super) fn run(context: &Context) -> Result<Ran, Failure> {
    if let Some(nothing) = missing("sdk-node/package.json") {
        return Ok(nothing);
    }
    let server = context.server()?;
    let package = workspace::at("sdk-node");
    context.node_package()?;
    for script in SCRIPTS.into_iter().filter(|script| node::has_script(&package, script)) {
        node::npm(&package).args(["run", "--silent", script]).env("CHRONQ_SERVER_BIN", server).run()?;
    }
    Ok(Ran::Passed)
}
