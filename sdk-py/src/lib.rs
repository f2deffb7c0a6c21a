//! The native half of the Python package: it converts arguments, calls the core and converts the answer.
//! Users import the hand-written package `chronq` in front of it.

mod awaitable;
mod claims;
mod client;
mod delivery;
mod errors;
mod receiver;
mod runtime;

use pyo3::prelude::*;

/// Private to the package `chronq`.
#[pymodule]
#[pyo3(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::claims::PyClaims;
    #[pymodule_export]
    use crate::client::PyClient;
    #[pymodule_export]
    use crate::receiver::PyReceiver;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
