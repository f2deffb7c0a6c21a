//! The receiver.

use std::time::{SystemTime, UNIX_EPOCH};

use chronq::contract::environment;
use chronq::signature::{
    CURRENT_SIGNING_KEY, Delivery, Dialect, Moment, NEXT_SIGNING_KEY, Receiver, Verified,
    missing_signing_key, not_whole_seconds, signing_key_not_text,
};
use chronq::{Error, InvalidInput, Secret};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};

use crate::claims::PyClaims;
use crate::delivery::{Headers, Held, Value, type_name};
use crate::errors::{invalid, raised};

/// Up to this, handing the GIL over costs more than hashing.
const RELEASE_GIL_ABOVE_BYTES: usize = 64 * 1_024;

/// Verifies deliveries with one or two signing keys; which of the two is newer makes no difference.
///
/// Keys that are not given come from `CHRONQ_CURRENT_SIGNING_KEY` and `CHRONQ_NEXT_SIGNING_KEY`.
/// `clock_tolerance` is in whole seconds, 0 to 300.
#[pyclass(name = "Receiver", module = "chronq", frozen)]
pub(crate) struct PyReceiver(Receiver);

#[pymethods]
impl PyReceiver {
    #[new]
    #[pyo3(signature = (current_signing_key=None, next_signing_key=None, *, dialect=None, clock_tolerance=None))]
    fn new(
        py: Python<'_>,
        current_signing_key: Option<&Bound<'_, PyAny>>,
        next_signing_key: Option<&Bound<'_, PyAny>>,
        dialect: Option<&Bound<'_, PyAny>>,
        clock_tolerance: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let refused = |input| invalid(py, input);
        let current = key(py, CURRENT_SIGNING_KEY, current_signing_key, environment::CURRENT_SIGNING_KEY)?;
        let next = key(py, NEXT_SIGNING_KEY, next_signing_key, environment::NEXT_SIGNING_KEY)?;
        let current = current.ok_or_else(|| refused(missing_signing_key()))?;
        let dialect = dialect.map_or(Ok(Dialect::Chronq), read_dialect).map_err(refused)?;
        let receiver = Receiver::of_dialect(dialect, current, next).map_err(refused)?;
        let Some(tolerance) = clock_tolerance else { return Ok(Self(receiver)) };
        let tolerance = seconds("clock_tolerance", tolerance).map_err(refused)?;
        receiver.with_clock_tolerance(tolerance).map(Self).map_err(refused)
    }

    /// Verifies one delivery by its signature header.
    ///
    /// Returns its claims, or raises `SignatureError`. body is the raw body: bytes, bytearray, memoryview, or
    /// text. url is the URL as it was published, from your configuration; None leaves it unchecked. now, in
    /// unix seconds, is for a delivery that is verified later than it arrived.
    #[pyo3(signature = (*, signature, body, url=None, clock_tolerance=None, now=None))]
    fn verify(
        &self,
        py: Python<'_>,
        signature: &Bound<'_, PyAny>,
        body: &Bound<'_, PyAny>,
        url: Option<&Bound<'_, PyAny>>,
        clock_tolerance: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClaims> {
        let url = text_url(url).map_err(|input| invalid(py, input))?;
        let moment = moment(clock_tolerance, now).map_err(|input| invalid(py, input))?;
        let signature = Value::new(signature);
        let held = Held::new(body);
        let delivery = Delivery { signature: signature.signature(), body: held.body(py), url };
        claims(py, in_parallel(py, &held, &|| self.0.verify(&delivery, moment)))
    }

    /// Verifies one delivery by all headers of its request, and picks those of the dialect.
    ///
    /// headers is a mapping or pairs, as the framework has them: names in any case, values text, bytes or a
    /// list. Every dialect can be verified so; the webhook dialects sign no url.
    #[pyo3(signature = (headers, body, url=None, *, clock_tolerance=None, now=None))]
    fn verify_headers(
        &self,
        py: Python<'_>,
        headers: &Bound<'_, PyAny>,
        body: &Bound<'_, PyAny>,
        url: Option<&Bound<'_, PyAny>>,
        clock_tolerance: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClaims> {
        let url = text_url(url).map_err(|input| invalid(py, input))?;
        let moment = moment(clock_tolerance, now).map_err(|input| invalid(py, input))?;
        let Some(headers) = Headers::new(headers)? else {
            let got = type_name(headers);
            let message = format!("headers must be a mapping or pairs of names and values, got {got}");
            return Err(invalid(py, InvalidInput::new("headers", message)));
        };
        let pairs: Vec<_> = headers.pairs().collect();
        let held = Held::new(body);
        let body = held.body(py);
        claims(
            py,
            in_parallel(py, &held, &|| self.0.verify_headers(pairs.iter().copied(), body, url, moment)),
        )
    }

    /// Whose deliveries are verified.
    #[getter]
    fn dialect<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("chronq._contract")?.getattr("Dialect")?.call1((self.0.dialect().as_str(),))
    }

    /// The tolerance in force, in seconds.
    #[getter]
    fn clock_tolerance(&self) -> i64 {
        self.0.clock_tolerance()
    }

    /// Without the keys.
    fn __repr__(&self) -> String {
        format!("Receiver(dialect='{}', clock_tolerance={})", self.0.dialect(), self.0.clock_tolerance())
    }
}

/// Lets other threads run while a long body is hashed.
fn in_parallel<T: Send>(py: Python<'_>, held: &Held<'_, '_>, verify: &(impl Fn() -> T + Sync)) -> T {
    let is_long = match held.body(py) {
        chronq::signature::Body::Raw(bytes) => bytes.len() > RELEASE_GIL_ABOVE_BYTES,
        chronq::signature::Body::LoneSurrogate | chronq::signature::Body::NotRaw(_) => false,
    };
    if is_long && held.is_immutable() { py.detach(verify) } else { verify() }
}

fn claims(py: Python<'_>, verified: Result<Verified, Error>) -> PyResult<PyClaims> {
    verified.map(PyClaims).map_err(|error| raised(py, &error))
}

fn key(
    py: Python<'_>,
    argument: &str,
    given: Option<&Bound<'_, PyAny>>,
    variable: &str,
) -> PyResult<Option<Secret>> {
    let key = match given {
        Some(key) => key.clone(),
        None => py.import("os")?.getattr("environ")?.call_method1("get", (variable,))?,
    };
    if key.is_none() {
        return Ok(None);
    }
    // A lone surrogate, from a variable that was no text, has no UTF-8 form.
    match key.cast::<PyString>().ok().and_then(|text| text.to_str().ok()) {
        Some(text) => Ok(Some(Secret::new(text))),
        None => Err(invalid(py, signing_key_not_text(argument, &type_name(&key)))),
    }
}

fn read_dialect(given: &Bound<'_, PyAny>) -> Result<Dialect, InvalidInput> {
    let text = given.cast::<PyString>().ok().and_then(|text| text.to_str().ok());
    let known = text.and_then(|text| text.parse().ok());
    known.ok_or_else(|| {
        let names = Dialect::ALL.iter().map(|dialect| dialect.as_str()).collect::<Vec<_>>().join(", ");
        let got = text.map_or_else(|| type_name(given), |text| format!("\"{text}\""));
        InvalidInput::new("dialect", format!("dialect must be one of {names}, got {got}"))
    })
}

fn text_url<'a>(url: Option<&'a Bound<'_, PyAny>>) -> Result<Option<&'a str>, InvalidInput> {
    let Some(url) = url else { return Ok(None) };
    let text = url.cast::<PyString>().ok().and_then(|text| text.to_str().ok());
    text.map(Some).ok_or_else(|| {
        InvalidInput::new("url", format!("url must be the published URL as text, got {}", type_name(url)))
    })
}

fn moment(
    clock_tolerance: Option<&Bound<'_, PyAny>>,
    now: Option<&Bound<'_, PyAny>>,
) -> Result<Moment, InvalidInput> {
    let now = match now {
        Some(now) => seconds("now", now)?,
        None => clock(),
    };
    let tolerance = clock_tolerance.map(|given| seconds("clock_tolerance", given)).transpose()?;
    Ok(Moment::at(now).with_tolerance(tolerance))
}

/// The machine's clock in unix seconds.
fn clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// A whole number; truth values, floats and text are none.
fn seconds(option: &str, given: &Bound<'_, PyAny>) -> Result<i64, InvalidInput> {
    let is_whole = given.is_instance_of::<PyInt>() && !given.is_instance_of::<PyBool>();
    if !is_whole {
        // Numbers are shown, anything else by its type alone: it may hold anything.
        let number = given.is_instance_of::<PyFloat>() || given.is_instance_of::<PyBool>();
        let shown = number.then(|| given.repr().ok()).flatten().map(|shown| shown.to_string());
        return Err(not_whole_seconds(option, &shown.unwrap_or_else(|| type_name(given))));
    }
    given.extract::<i64>().map_err(|_| not_whole_seconds(option, "a number beyond 64 bits"))
}
