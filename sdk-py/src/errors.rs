//! Errors on their way to Python: the classes are Python's, in `chronq._errors`.

use chronq::call::{Spelling, error_to_json};
use chronq::error::ErrorKind;
use chronq::{Error, InvalidInput};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

const MODULE: &str = "chronq._errors";

/// The exception that an error becomes.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error).unwrap_or_else(|failed| failed)
}

/// The exception of refused input.
pub(crate) fn invalid(py: Python<'_>, input: InvalidInput) -> PyErr {
    raised(py, &input.into())
}

fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    static SIGNATURE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static ANY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

    // A forged delivery is refused without a detour through JSON.
    let made = if let ErrorKind::Signature(refused) = error.kind() {
        let difference = refused.difference().map(chronq::signature::UrlDifference::as_str);
        let details = (refused.to_string(), error.code(), refused.claim(), refused.seconds(), difference);
        SIGNATURE.import(py, MODULE, "signature_error")?.call1(details)?
    } else {
        let json = error_to_json(error, Spelling::Snake).to_string();
        ANY.import(py, MODULE, "from_json")?.call1((json,))?
    };
    Ok(PyErr::from_value(made))
}
