//! The Node package: lints, types, tests, the package as users install it, and its adapters in the servers of
//! frameworks that build what they serve.

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
    let frameworks = package.join("test-frameworks");
    node::install(&frameworks)?;
    node::npm(&frameworks).args(["run", "--silent", "test"]).run()?;
    Ok(Ran::Passed)
}
