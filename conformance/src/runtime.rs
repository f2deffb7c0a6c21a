//! The runtime, and many futures at the same time on it.

use crate::fault::Fault;

/// A runtime for everything that runs at the same time.
pub(crate) fn start() -> Result<tokio::runtime::Runtime, Fault> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Fault::new(format!("no runtime: {error}")))
}

/// Drives all futures to their end; outputs in their order.
pub(crate) async fn join_all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut pinned: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(move |context| {
        let mut pending = false;
        for (future, output) in &mut pinned {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(ready) => *output = Some(ready),
                    std::task::Poll::Pending => pending = true,
                }
            }
        }
        if pending {
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(pinned.iter_mut().filter_map(|(_, output)| output.take()).collect())
    })
    .await
}
