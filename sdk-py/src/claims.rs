//! The claims of a verified delivery; each becomes a Python object when it is asked for.

use std::hash::{DefaultHasher, Hash, Hasher};

use chronq::signature::Verified;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

/// What a verified delivery says about itself. Times are unix seconds. A claim that the dialect does not
/// sign is `None`.
#[pyclass(name = "Claims", module = "chronq", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct PyClaims(pub(crate) Verified);

const NAMES: [&str; 8] = ["iss", "sub", "exp", "nbf", "iat", "jti", "body", "key"];

#[pymethods]
impl PyClaims {
    #[classattr]
    #[pyo3(name = "__match_args__")]
    fn match_args(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        PyTuple::new(py, NAMES)
    }

    /// Who signed.
    #[getter]
    fn iss(&self) -> Option<&'static str> {
        self.0.claims.iss
    }

    /// The URL that the delivery was signed for, as it was published.
    #[getter]
    fn sub(&self) -> Option<&str> {
        self.0.claims.sub.as_deref()
    }

    /// The first second at which the signature is too old.
    #[getter]
    fn exp(&self) -> i64 {
        self.0.claims.exp
    }

    /// The first second at which it is valid.
    #[getter]
    fn nbf(&self) -> i64 {
        self.0.claims.nbf
    }

    /// When it was signed.
    #[getter]
    fn iat(&self) -> Option<i64> {
        self.0.claims.iat
    }

    /// Id of this very attempt.
    #[getter]
    fn jti(&self) -> Option<&str> {
        self.0.claims.jti.as_deref()
    }

    /// base64url, without padding, of SHA-256 of the body.
    #[getter]
    fn body(&self) -> Option<&str> {
        self.0.claims.body.as_deref()
    }

    /// Which signing key produced the signature.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static KEY_MATCH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        KEY_MATCH.import(py, "chronq._contract", "KeyMatch")?.call1((self.0.key.as_str(),))
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.0.claims.sub, self.0.claims.exp, &self.0.claims.jti, &self.0.claims.body).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let mut fields = Vec::with_capacity(NAMES.len());
        for name in NAMES {
            let value = slf.getattr(name)?;
            let shown = if name == "key" { value.str()?.repr()? } else { value.repr()? };
            fields.push(format!("{name}={shown}"));
        }
        Ok(format!("Claims({})", fields.join(", ")))
    }
}
