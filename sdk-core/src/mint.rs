//! Fresh ids without a source of randomness of its own: seed and clock are arguments.

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// Mints the ids of one call from 32 random bytes and the instant of its start.
pub struct Mint {
    seed: Zeroizing<[u8; 32]>,
    now_ms: i64,
    count: u64,
}

impl Mint {
    /// `seed` must be random: two calls with one seed mint the same ids.
    pub fn new(seed: [u8; 32], now_ms: i64) -> Self {
        Self { seed: Zeroizing::new(seed), now_ms, count: 0 }
    }

    /// A fresh `UUIDv7` (RFC 9562 section 5.7) in lower case.
    pub fn uuid_v7(&mut self) -> String {
        let random = Sha256::new_with_prefix(*self.seed).chain_update(self.count.to_be_bytes()).finalize();
        self.count += 1;
        let mut id = [0_u8; 16];
        id.copy_from_slice(&random[..16]);
        id[..6].copy_from_slice(&self.now_ms.to_be_bytes()[2..]);
        id[6] = 0x70 | (id[6] & 0x0f);
        id[8] = 0x80 | (id[8] & 0x3f);
        hyphenated(id)
    }
}

impl std::fmt::Debug for Mint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mint")
            .field("now_ms", &self.now_ms)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

fn hyphenated(id: [u8; 16]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(36);
    for (at, byte) in id.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_7_of_the_given_instant_and_differ() {
        let mut mint = Mint::new([7; 32], 0x0192_3456_789a);
        let (first, second) = (mint.uuid_v7(), mint.uuid_v7());
        assert_ne!(first, second);
        for id in [first, second] {
            assert!(id.starts_with("01923456-789a-7"), "{id}");
            assert_eq!(id.len(), 36);
            assert!(matches!(id.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{id}");
        }
    }
}
