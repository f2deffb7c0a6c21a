//! Node packages: dependencies as locked, and the native module built.

use std::path::Path;

use crate::command::{During, Failure, Run};
use crate::stamp::Stamp;
use crate::workspace;

/// Installs what a package's lock file says, unless that is what stands there.
pub(crate) fn install(dir: &Path) -> Result<(), Failure> {
    let inputs = [dir.join("package.json"), dir.join("package-lock.json")];
    let version = Run::line("node --version").output()?;
    let stamp = Stamp::new(dir.join("node_modules/.chronq-stamp"), &inputs, &version);
    if stamp.is_current() {
        return Ok(());
    }
    npm(dir).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).run()?;
    stamp.record()
}

/// npm in a folder.
pub(crate) fn npm(dir: &Path) -> Run {
    Run::new("npm").dir(dir)
}

/// Whether a package.json has a script of that name.
pub(crate) fn has_script(dir: &Path, script: &str) -> bool {
    let manifest = std::fs::read_to_string(dir.join("package.json")).unwrap_or_default();
    manifest.contains(&format!("\"{script}\":"))
}

/// Builds the native module and puts it where the package looks for it.
pub(crate) fn build_native() -> Result<(), Failure> {
    Run::new(workspace::cargo()).args(["build", "--locked", "--package", "chronq-node"]).run()?;
    let library = if cfg!(target_os = "macos") { "libchronq_node.dylib" } else { "libchronq_node.so" };
    let module = workspace::at("sdk-node/chronq.node");
    // A loaded module must not change under a running process: replaced, not written over.
    let _ = std::fs::remove_file(&module);
    std::fs::copy(workspace::built(library), &module).map(|_| ()).during(module.display())
}
