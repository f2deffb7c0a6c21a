//! Takes over what other processes changed in the database: tokens and signing keys. And writes down
//! when tokens were last used, which is kept in memory so that no request waits for it.

use std::time::Duration;

use crate::metrics::instance;
use crate::service::access;
use crate::service::keys::Keys;
use crate::state::AppState;
use crate::store::StoreError;

/// A change elsewhere acts here within a minute (contract/http-queue.md, "Operations"); a quarter of
/// it leaves room for a store that fails once or twice.
pub const EVERY: Duration = Duration::from_secs(15);

/// Runs until the server stops.
pub async fn run(state: AppState) {
    let stop = state.background.stop().clone();
    loop {
        let stopping = tokio::select! {
            () = stop.cancelled() => true,
            () = tokio::time::sleep(EVERY) => false,
        };
        if let Err(error) = note_use(&state).await {
            tracing::warn!(%error, "cannot write down when tokens were used");
        }
        if stopping {
            return;
        }
        once(&state).await;
        instance::keep_small();
    }
}

/// Reads tokens and keys anew.
pub async fn once(state: &AppState) {
    if let Err(error) = access::reload_tokens(state.store.as_ref(), &state.credentials).await {
        tracing::warn!(%error, "cannot read the tokens; those known stay in force");
    }
    if let Err(error) = Keys::of(state).refresh().await {
        tracing::warn!(%error, "cannot read the signing keys; the one known signs on");
    }
}

async fn note_use(state: &AppState) -> Result<(), StoreError> {
    let used = state.credentials.take_last_used();
    if used.is_empty() { Ok(()) } else { state.store.touch_tokens(used).await }
}
