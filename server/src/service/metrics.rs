//! The text of `/metrics`.

use crate::metrics::{WINDOW_MS, instance, service};
use crate::state::AppState;
use crate::store::StoreError;

/// What the store says of its queues over the last 24 hours, then this process's own counters.
///
/// # Errors
/// [`StoreError`]: half a page would look like queues at zero.
pub async fn page(state: &AppState) -> Result<String, StoreError> {
    let since = state.clock.now_ms().saturating_sub(WINDOW_MS);
    let queues = state.store.queue_metrics(since).await?;
    let mut text = service::render(&queues);
    text.push_str(&state.timers.metrics.render(&state.store.timer_totals().await?));
    text.push_str(&instance::render());
    Ok(text)
}
