//! Virtual environments: that of the Python package, with tools from sdk-py/requirements-dev.txt and the
//! package itself built into it by maturin, and that of the public client of timers.

use std::path::PathBuf;

use crate::command::{Failure, Run};
use crate::stamp::Stamp;
use crate::workspace;

/// A virtual environment.
pub(crate) struct Venv {
    dir: PathBuf,
}

impl Venv {
    /// A program of the environment, to be run in sdk-py as if the environment were activated: some
    /// look for the interpreter on PATH.
    pub(crate) fn run(&self, program: &str) -> Run {
        let mut path = self.dir.join("bin").into_os_string();
        if let Some(rest) = std::env::var_os("PATH") {
            path.push(":");
            path.push(rest);
        }
        let run = Run::new(self.program(program)).dir(&workspace::at("sdk-py"));
        run.env("VIRTUAL_ENV", &self.dir).env("PATH", path)
    }

    /// Where a program of the environment stands.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.dir.join("bin").join(name)
    }
}

/// The oldest Python that the package supports or newer: `python3.11` first, because CI has it.
pub(crate) fn interpreter() -> Result<&'static str, Failure> {
    const CHECK: &str = "import sys; sys.exit(sys.version_info < (3, 11))";
    ["python3.11", "python3.12", "python3.13", "python3.14", "python3"]
        .into_iter()
        .find(|python| Run::new(python).args(["-c", CHECK]).succeeds())
        .ok_or_else(|| Failure::new("Python 3.11 or newer is needed"))
}

/// Makes the environment and builds the package into it.
pub(crate) fn prepare() -> Result<Venv, Failure> {
    let venv = installed("venv", "sdk-py/requirements-dev.txt")?;
    // maturin asks cargo, which knows by itself what is unchanged.
    venv.run("maturin").args(["develop", "--locked", "--quiet"]).run()?;
    Ok(venv)
}

/// Where the server's tests find the interpreter of an environment that has the public client.
pub(crate) const PUBLIC_CLIENT_VARIABLE: &str = "CHRONQ_QUEEN_MQ_PYTHON";

/// The interpreter of an environment of its own that has the public client of timers.
pub(crate) fn with_public_client() -> Result<PathBuf, Failure> {
    Ok(installed("queen-mq", "server/tests/queen_mq_requirements.txt")?.program("python"))
}

/// An environment under `target`, with what a file of requirements says.
fn installed(name: &str, requirements: &str) -> Result<Venv, Failure> {
    let venv = Venv { dir: workspace::target().join(name) };
    let requirements = workspace::at(requirements);
    let python = interpreter()?;
    let stamp = Stamp::new(venv.dir.join("stamp"), std::slice::from_ref(&requirements), python);
    if stamp.is_current() {
        return Ok(venv);
    }
    Run::new(python).args(["-m", "venv", "--clear"]).arg(&venv.dir).run()?;
    Run::new(venv.program("pip"))
        .args(["install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(&requirements)
        .run()?;
    stamp.record()?;
    Ok(venv)
}
