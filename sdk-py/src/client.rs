//! Calls: options come and answers go as JSON; the package `chronq` gives them types.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use chronq::Error;
use chronq::InvalidInput;
use chronq::call::{Call, ClientConfig, Spelling, error_to_json};
use chronq::client::Client;
use chronq::json::Json;
use pyo3::prelude::*;

use crate::awaitable::awaitable;
use crate::errors::raised;
use crate::runtime::runtime;

/// How often a waiting thread looks for Ctrl-C.
const SIGNALS: Duration = Duration::from_millis(50);

/// A client; both clients of the package stand on it.
#[pyclass(name = "Client", module = "chronq._native", frozen)]
pub(crate) struct PyClient {
    client: Client,
}

/// Whether the call succeeded, and the answer or the error as JSON.
type Outcome = (bool, String);

#[pymethods]
impl PyClient {
    #[new]
    fn new(py: Python<'_>, options: &str) -> PyResult<Self> {
        let client = parse(options)
            .and_then(|options| ClientConfig::from_json(options, Spelling::Snake))
            .and_then(Client::from_config);
        client.map(|client| Self { client }).map_err(|error| raised(py, &error))
    }

    #[getter]
    fn url(&self) -> &str {
        self.client.url()
    }

    /// Makes a call; other threads run meanwhile, and Ctrl-C ends it.
    fn call(&self, py: Python<'_>, name: &str, options: &str) -> PyResult<Outcome> {
        let (call, runtime) = match read(name, options).and_then(|call| Ok((call, runtime(py)?))) {
            Ok(ready) => ready,
            Err(error) => return Ok(failed(&error)),
        };
        let client = self.client.clone();
        let (report, mut answer) = sync_channel(1);
        let task = runtime.spawn(async move {
            // Nobody is there to take it after an interrupt.
            let _ = report.send(outcome(client.execute(call).await));
        });
        loop {
            let waited;
            (answer, waited) = py.detach(move || {
                let waited = answer.recv_timeout(SIGNALS);
                (answer, waited)
            });
            match waited {
                Ok(outcome) => return Ok(outcome),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(interrupt) = py.check_signals() {
                        task.abort();
                        return Err(interrupt);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(failed(&Error::transport("the call was broken off", true)));
                }
            }
        }
    }

    /// Makes a call in the running event loop; cancelling the awaitable cancels it.
    fn call_async<'py>(&self, py: Python<'py>, name: &str, options: &str) -> PyResult<Bound<'py, PyAny>> {
        // Raised in the caller: there is nothing to wait for.
        let ready = read(name, options).and_then(|call| Ok((call, runtime(py)?)));
        let (call, runtime) = ready.map_err(|error| raised(py, &error))?;
        let client = self.client.clone();
        awaitable(py, runtime, async move { outcome(client.execute(call).await) })
    }
}

fn parse(json: &str) -> Result<Json, Error> {
    Json::parse(json).ok_or_else(|| InvalidInput::new("options", "options have no JSON form").into())
}

fn read(name: &str, options: &str) -> Result<Call, Error> {
    Call::from_json(name, parse(options)?, Spelling::Snake)
}

fn outcome(result: Result<Json, Error>) -> Outcome {
    match result {
        Ok(answer) => (true, answer.to_string()),
        Err(error) => failed(&error),
    }
}

fn failed(error: &Error) -> Outcome {
    (false, error_to_json(error, Spelling::Snake).to_string())
}
