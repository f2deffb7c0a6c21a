//! Puts back what a dead process had claimed.

use std::time::Duration;

use crate::state::AppState;

/// How often leases are looked at.
const INTERVAL: Duration = Duration::from_secs(5);

/// Runs until the server stops.
pub(super) async fn run(state: AppState) {
    let stop = state.background.stop().clone();
    loop {
        let mut moves = state.clock.moves();
        match state.store.rescue().await {
            Ok(0) => {}
            Ok(count) => {
                tracing::warn!(
                    count,
                    "claims had passed without a settlement; those attempts are made again"
                );
            }
            Err(error) => tracing::warn!(%error, "cannot look for passed claims"),
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            _ = moves.changed() => {}
            () = stop.cancelled() => return,
        }
    }
}
