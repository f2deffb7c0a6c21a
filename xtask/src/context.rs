//! What the parts of one run share: set-ups that are made once, when the first part asks.

use std::cell::OnceCell;
use std::path::PathBuf;

use crate::command::{Failure, Run};
use crate::parts::TESTED;
use crate::postgres::Postgres;
use crate::setup::node;
use crate::setup::python::Venv;
use crate::workspace;

/// Set-ups, each made at most once.
#[derive(Default)]
pub(crate) struct Context {
    postgres: OnceCell<Postgres>,
    venv: OnceCell<Venv>,
    server: OnceCell<PathBuf>,
    node: OnceCell<()>,
    wasm: OnceCell<()>,
    edge: OnceCell<()>,
}

impl Context {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A PostgreSQL for tests; stopped when the context is dropped.
    pub(crate) fn postgres(&self) -> Result<&Postgres, Failure> {
        once(&self.postgres, Postgres::obtain)
    }

    /// The virtual environment, with the Python package built into it.
    pub(crate) fn venv(&self) -> Result<&Venv, Failure> {
        once(&self.venv, crate::setup::python::prepare)
    }

    /// The server's binary, built in the dev profile together with all that is tested: another choice of
    /// crates would mean other features, and so another build of every dependency.
    pub(crate) fn server(&self) -> Result<&PathBuf, Failure> {
        once(&self.server, || {
            Run::new(workspace::cargo()).args(["build", "--locked"]).args(TESTED).run()?;
            Ok(workspace::built("chronq"))
        })
    }

    /// The Node package, built.
    pub(crate) fn node_package(&self) -> Result<(), Failure> {
        once(&self.node, || {
            let package = workspace::at("sdk-node");
            node::install(&package)?;
            node::build_native()?;
            node::npm(&package).args(["run", "--silent", "build"]).run()
        })
        .copied()
    }

    /// The edge package's WebAssembly, within its size budget.
    pub(crate) fn wasm(&self) -> Result<(), Failure> {
        once(&self.wasm, crate::setup::wasm::build).copied()
    }

    /// The edge package, built.
    pub(crate) fn edge_package(&self) -> Result<(), Failure> {
        self.wasm()?;
        once(&self.edge, || node::npm(&workspace::at("sdk-wasm")).args(["run", "--silent", "build"]).run())
            .copied()
    }
}

fn once<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T, Failure>) -> Result<&T, Failure> {
    if let Some(made) = cell.get() {
        return Ok(made);
    }
    let fresh = make()?;
    Ok(cell.get_or_init(|| fresh))
}
