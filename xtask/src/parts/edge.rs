//! The edge package, run where it is meant to run: Node's WebAssembly, workerd, Vercel's edge runtime, Deno, Bun
//! and a browser.

use super::{Ran, missing};
use crate::command::Failure;
use crate::context::Context;
use crate::setup::{browser, node};
use crate::workspace;

/// Scripts of package.json, in order; those it has are run.
const SCRIPTS: [&str; 4] = ["lint", "typecheck", "test", "test:package"];

pub(super) fn run(context: &Context) -> Result<Ran, Failure> {
    if let Some(nothing) = missing("sdk-wasm/package.json") {
        return Ok(nothing);
    }
    let server = context.server()?;
    // The types of the two packages are held against each other.
    context.node_package()?;
    context.edge_package()?;
    browser::obtain()?;
    let package = workspace::at("sdk-wasm");
    for script in SCRIPTS.into_iter().filter(|script| node::has_script(&package, script)) {
        node::npm(&package).args(["run", "--silent", script]).env("CHRONQ_SERVER_BIN", server).run()?;
    }
    Ok(Ran::Passed)
}
