//! The Python package: lints, types, stubs against the built module, tests, and the package as installed.

use super::{Ran, missing};
use crate::command::Failure;
use crate::context::Context;

/// Seen from sdk-py.
const EXAMPLES: &str = "../examples/python";

pub(super) fn run(context: &Context) -> Result<Ran, Failure> {
    if let Some(nothing) = missing("sdk-py/pyproject.toml") {
        return Ok(nothing);
    }
    let server = context.server()?;
    let venv = context.venv()?;
    venv.run("ruff").args(["check", "."]).run()?;
    venv.run("ruff").args(["format", "--check", "."]).run()?;
    venv.run("ruff").args(["format", "--check", "--config", "pyproject.toml", EXAMPLES]).run()?;
    venv.run("mypy").arg("--strict").args(["python", "tests", "packaging"]).run()?;
    venv.run("mypy").args(["--strict", EXAMPLES]).run()?;
    venv.run("pyright").run()?;
    venv.run("stubtest").args(["chronq", "--ignore-missing-stub"]).run()?;
    venv.run("pytest").arg("-q").env("CHRONQ_SERVER_BIN", server).run()?;
    venv.run("python").arg("packaging/check.py").run()?;
    Ok(Ran::Passed)
}
