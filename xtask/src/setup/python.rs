//! The virtual environment of the Python package: tools from sdk-py/requirements-dev.txt, and the
//! package itself built into it by maturin.

use std::path::PathBuf;

use crate::command::{Failure, Run};
use crate::stamp::Stamp;
use crate::workspace;

/// A virtual environment that holds the tools and the package.
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
    let venv = Venv { dir: workspace::target().join("venv") };
    install_requirements(&venv)?;
    // maturin asks cargo, which knows by itself what is unchanged.
    venv.run("maturin").args(["develop", "--locked", "--quiet"]).run()?;
    Ok(venv)
}

fn install_requirements(venv: &Venv) -> Result<(), Failure> {
    let requirements = workspace::at("sdk-py/requirements-dev.txt");
    let python = interpreter()?;
    let stamp = Stamp::new(venv.dir.join("stamp"), std::slice::from_ref(&requirements), python);
    if stamp.is_current() {
        return Ok(());
    }
    Run::new(python).args(["-m", "venv", "--clear"]).arg(&venv.dir).run()?;
    Run::new(venv.program("pip"))
        .args(["install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(&requirements)
        .run()?;
    stamp.record()
}
