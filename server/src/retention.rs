//! Deletes what its queue no longer keeps: finished and forgotten messages, the messages of deleted
//! queues, deduplication keys beyond their window (contract/http-queue.md, "Queues").

use std::time::Duration;

use crate::state::AppState;
use crate::store::StoreError;

/// How often is looked.
const EVERY: Duration = Duration::from_mins(1);
/// Rows in one transaction: small enough that publishes do not wait behind it.
const BATCH: u32 = 2_000;

/// Runs until the server stops.
pub async fn run(state: AppState) {
    let stop = state.background.stop().clone();
    loop {
        let mut moves = state.clock.moves();
        match once(&state).await {
            Ok(0) => {}
            Ok(rows) => tracing::info!(rows, "deleted what is no longer kept"),
            Err(error) => tracing::warn!(%error, "cannot delete what is no longer kept"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
            _ = moves.changed() => {}
        }
    }
}

/// Deletes all that is due to go; answers how many rows went.
///
/// # Errors
/// [`StoreError`]; what was deleted before it stays deleted.
pub async fn once(state: &AppState) -> Result<u64, StoreError> {
    let mut all = 0;
    loop {
        let rows = state.store.purge(BATCH).await?;
        all += rows;
        if rows < u64::from(BATCH) || state.background.stop().is_cancelled() {
            return Ok(all);
        }
        // Between two batches, whoever waits for the writer comes first.
        tokio::task::yield_now().await;
    }
}
