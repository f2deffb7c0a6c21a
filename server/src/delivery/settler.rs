//! Ends an attempt in the store, together with those that end at once.

use std::sync::Arc;
use std::time::Duration;

use crate::state::AppState;
use crate::store::StoreError;
use crate::store::types::claim::{AttemptResponse, AttemptVerdict, Claimed, Settled, Settlement};

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Settles one attempt. While the store is away this waits, as long as the lease holds: the
/// destination has answered, and a second delivery is what must be avoided.
pub(super) async fn settle(
    state: &AppState,
    message: &Claimed,
    response: Arc<AttemptResponse>,
    verdict: AttemptVerdict,
) -> Settled {
    let settlement = Settlement { lease: message.lease, response, verdict };
    let settler = state.engine.settler(state);
    let mut pause = FIRST_PAUSE;
    loop {
        match settler.settle(settlement.clone()).await {
            Ok(settled) => return settled,
            Err(error) => report(&error),
        }
        if state.clock.now_ms() >= message.lease.until {
            tracing::warn!(message = %message.id, "an attempt could not be settled before its lease passed");
            return Settled::Stale;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn report(error: &StoreError) {
    if error.is_temporary() {
        tracing::warn!(%error, "an attempt cannot be settled yet");
    } else {
        tracing::error!(%error, "an attempt cannot be settled");
    }
}
