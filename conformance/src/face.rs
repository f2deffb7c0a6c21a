//! The faces that belong to this suite, and the adapter of each.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::case::{Op, root};
use crate::fault::Fault;

/// What users of one language and runtime hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Face {
    Rust,
    PythonSync,
    PythonAsync,
    Node,
    WasmNode,
    Workerd,
    Deno,
    Bun,
    Chromium,
}

impl Face {
    pub(crate) const ALL: [Self; 9] = [
        Self::Rust,
        Self::PythonSync,
        Self::PythonAsync,
        Self::Node,
        Self::WasmNode,
        Self::Workerd,
        Self::Deno,
        Self::Bun,
        Self::Chromium,
    ];

    /// As written on the command line and in exemptions.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::PythonSync => "python-sync",
            Self::PythonAsync => "python-async",
            Self::Node => "node",
            Self::WasmNode => "wasm-node",
            Self::Workerd => "workerd",
            Self::Deno => "deno",
            Self::Bun => "bun",
            Self::Chromium => "chromium",
        }
    }

    /// Whether it can be asked this at all: all faces the public questions, the core the rest.
    pub(crate) fn answers(self, op: Op) -> bool {
        op.is_public() || self == Self::Rust
    }

    /// What is missing here before its adapter can start.
    pub(crate) fn lacks(self) -> Option<String> {
        let built = |file: &str| {
            let missing = !tree().join(file).exists();
            missing.then(|| format!("{file} is not built"))
        };
        match self {
            Self::Rust => None,
            Self::PythonSync | Self::PythonAsync => {
                let import = ["-c", "import chronq"];
                let found = std::process::Command::new(python()).args(import).output();
                let found = found.is_ok_and(|output| output.status.success());
                (!found).then(|| "the Python package is not installed (CHRONQ_PYTHON says where)".to_owned())
            }
            Self::Node => built("sdk-node/dist/esm/index.js"),
            Self::WasmNode | Self::Workerd => built("sdk-wasm/dist/index.inline.js"),
            Self::Deno | Self::Bun => {
                built("sdk-wasm/dist/index.inline.js").or_else(|| lacks_program(&npm_program(self.name())))
            }
            Self::Chromium => {
                built("sdk-wasm/dist/index.browser.js").or_else(|| lacks_program(Path::new("chromium")))
            }
        }
    }

    /// What starts its adapter.
    pub(crate) fn command(self) -> Result<Command, Fault> {
        let (program, arguments): (OsString, &[&str]) = match self {
            Self::Rust => {
                let own = std::env::current_exe();
                let own = own.map_err(|error| Fault::new(format!("our own path: {error}")))?;
                (own.into(), &["adapter", "rust"])
            }
            Self::PythonSync => (python(), &["python.py"]),
            Self::PythonAsync => (python(), &["python.py", "async"]),
            Self::Node => ("node".into(), &["node.mjs"]),
            Self::WasmNode => ("node".into(), &["wasm_inline.mjs"]),
            Self::Workerd => ("node".into(), &["workerd.mjs"]),
            Self::Deno => (npm_program("deno").into(), &["run", "--allow-all", "wasm_inline.mjs"]),
            Self::Bun => (npm_program("bun").into(), &["run", "wasm_inline.mjs"]),
            Self::Chromium => ("node".into(), &["chromium.mjs"]),
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(root().join("adapters"));
        Ok(command)
    }
}

/// The interpreter into which the package was built; xtask says which.
fn python() -> OsString {
    std::env::var_os("CHRONQ_PYTHON").unwrap_or_else(|| "python3".into())
}

/// A runtime that comes from npm with the edge package's development dependencies.
fn npm_program(name: &str) -> PathBuf {
    tree().join("sdk-wasm/node_modules/.bin").join(name)
}

/// A program that npm has placed may still not run on this machine: it is asked for its version.
fn lacks_program(program: &Path) -> Option<String> {
    let asked = std::process::Command::new(program).arg("--version").output();
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    (!asked.is_ok_and(|output| output.status.success())).then(|| format!("{name} is not installed"))
}

/// The workspace that this suite stands in.
fn tree() -> &'static Path {
    root().parent().unwrap_or(root())
}
