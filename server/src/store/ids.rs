//! Mints ids: UUIDs of version 7 in the order of minting, so that the index on them only ever grows at its end.

use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use super::error::StoreError;
use super::types::UnixMillis;

const RANDOM_BYTES: usize = 1_024;
const PER_ID: usize = 8;
const MAX_COUNTER: u16 = 0x0fff;

/// Mints ids; shared by all callers of a store.
#[derive(Debug)]
pub(crate) struct IdMint(Mutex<State>);

#[derive(Debug)]
struct State {
    last_ms: u64,
    counter: u16,
    random: [u8; RANDOM_BYTES],
    used: usize,
}

impl IdMint {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State { last_ms: 0, counter: 0, random: [0; RANDOM_BYTES], used: RANDOM_BYTES }))
    }

    /// One id: the millisecond, a counter within it (RFC 9562, section 6.2, method 1), 62 random bits.
    pub(crate) fn mint(&self, now: UnixMillis) -> Result<Uuid, StoreError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ms = u64::try_from(now).unwrap_or(0);
        if now_ms > state.last_ms {
            state.last_ms = now_ms;
            state.counter = 0;
        } else if state.counter < MAX_COUNTER {
            state.counter += 1;
        } else {
            state.last_ms += 1;
            state.counter = 0;
        }
        if state.used + PER_ID > RANDOM_BYTES {
            getrandom::fill(&mut state.random)
                .map_err(|error| StoreError::Internal(format!("no randomness: {error}")))?;
            state.used = 0;
        }
        let mut tail = [0_u8; 10];
        tail[..2].copy_from_slice(&state.counter.to_be_bytes());
        let used = state.used;
        tail[2..].copy_from_slice(&state.random[used..used + PER_ID]);
        state.used += PER_ID;
        Ok(uuid::Builder::from_unix_timestamp_millis(state.last_ms, &tail).into_uuid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_even_within_a_millisecond_and_when_the_clock_steps_back() {
        let mint = IdMint::new();
        let mut last = Uuid::nil();
        for at in [1_000, 1_000, 999, 1_001].into_iter().chain(std::iter::repeat_n(1_001, 10_000)) {
            let id = mint.mint(at).expect("mints");
            assert!(id > last, "{last} {id}");
            assert_eq!(id.get_version_num(), 7);
            last = id;
        }
    }
}
