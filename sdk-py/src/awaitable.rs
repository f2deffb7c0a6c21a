//! A call as an awaitable of the running event loop. Cancelling it cancels the call.

use pyo3::prelude::*;
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

use crate::runtime::enter;

/// A future of the running event loop that gets what `work` brings.
pub(crate) fn awaitable<'py, T>(
    py: Python<'py>,
    runtime: &Runtime,
    work: impl Future<Output = T> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>>
where
    T: for<'any> IntoPyObject<'any> + Send + 'static,
{
    let event_loop = py.import("asyncio")?.call_method0("get_running_loop")?;
    let future = event_loop.call_method0("create_future")?;
    let settle = wrap_pyfunction!(settle, py)?.unbind();
    let (the_loop, the_future) = (event_loop.unbind(), future.clone().unbind());
    let task = runtime.spawn(async move {
        let result = work.await;
        enter(move |py| {
            // An event loop that was closed meanwhile refuses: nobody waits for the result any more.
            let _ = the_loop.call_method1(py, "call_soon_threadsafe", (settle, the_future, result));
        });
    });
    future.call_method1("add_done_callback", (Cancel(task.abort_handle()),))?;
    Ok(future)
}

/// Gives the future its result, in the event loop's thread, unless it was cancelled before.
#[pyfunction]
fn settle(future: &Bound<'_, PyAny>, result: &Bound<'_, PyAny>) -> PyResult<()> {
    if !future.call_method0("done")?.is_truthy()? {
        future.call_method1("set_result", (result,))?;
    }
    Ok(())
}

/// Called when the future is done: ends the call if it is still under way.
#[pyclass(module = "chronq._native", frozen)]
struct Cancel(AbortHandle);

#[pymethods]
impl Cancel {
    fn __call__(&self, _future: &Bound<'_, PyAny>) {
        self.0.abort();
    }
}
