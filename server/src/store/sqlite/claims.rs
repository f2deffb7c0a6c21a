//! Who holds which timer: the claims of this process, in memory alone.
//!
//! One process has the file open, and no claim outlives its process. On disk it would tell nobody
//! anything, and cost two writes for each timer that is fired.

use std::collections::HashMap;

use uuid::Uuid;

use crate::store::timers::UnixMicros;

/// A timer as its claim found it: while the claim holds, nothing but the end of its queue changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) id: i64,
    pub(super) due_us: UnixMicros,
    pub(super) queue_id: i64,
    pub(super) partition: String,
    pub(super) tenant: String,
}

/// A timer that was taken out of a claim, so that it can be put back where the transaction fails.
#[derive(Debug)]
pub(super) struct Ended {
    token: Uuid,
    until_us: UnixMicros,
    held: Held,
}

/// The claims that nobody has ended yet.
#[derive(Debug, Default)]
pub(super) struct Claims {
    open: HashMap<Uuid, Claim>,
}

#[derive(Debug)]
struct Claim {
    until_us: UnixMicros,
    timers: HashMap<i64, Held>,
}

impl Claims {
    /// A claim was made.
    pub(super) fn put(&mut self, token: Uuid, until_us: UnixMicros, timers: impl IntoIterator<Item = Held>) {
        let timers: HashMap<i64, Held> = timers.into_iter().map(|held| (held.id, held)).collect();
        if !timers.is_empty() {
            self.open.insert(token, Claim { until_us, timers });
        }
    }

    /// A claim that was never answered.
    pub(super) fn undo(&mut self, token: Uuid) {
        self.open.remove(&token);
    }

    /// When the lease on a timer passes, where one holds now.
    pub(super) fn held_until(&self, id: i64, now_us: UnixMicros) -> Option<UnixMicros> {
        let mut holding = self.open.values().filter(|claim| claim.until_us > now_us);
        holding.find(|claim| claim.timers.contains_key(&id)).map(|claim| claim.until_us)
    }

    /// Those of the timers that the claim holds now.
    pub(super) fn holding(&self, token: Uuid, ids: &[i64], now_us: UnixMicros) -> Vec<Held> {
        match self.open.get(&token) {
            Some(claim) if claim.until_us > now_us => {
                ids.iter().filter_map(|id| claim.timers.get(id).cloned()).collect()
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// A timer of the claim, whether or not its lease has passed: nobody has claimed it since.
    pub(super) fn claimed(&self, token: Uuid, id: i64) -> Option<&Held> {
        self.open.get(&token)?.timers.get(&id)
    }

    /// Takes timers out of their claim: they were dealt with.
    pub(super) fn end(&mut self, token: Uuid, ids: &[i64]) -> Vec<Ended> {
        let Some(claim) = self.open.get_mut(&token) else { return Vec::new() };
        let ended = claim.take(token, ids);
        if claim.timers.is_empty() {
            self.open.remove(&token);
        }
        ended
    }

    /// Takes timers out of whatever claim they are in: they are not what was claimed any more.
    pub(super) fn forget(&mut self, ids: &[i64]) -> Vec<Ended> {
        self.take(|token, claim| claim.take(token, ids))
    }

    /// The same for all timers of a queue.
    pub(super) fn forget_queue(&mut self, queue_id: i64) -> Vec<Ended> {
        self.take(|token, claim| {
            let of_queue = claim.timers.values().filter(|held| held.queue_id == queue_id);
            let ids: Vec<i64> = of_queue.map(|held| held.id).collect();
            claim.take(token, &ids)
        })
    }

    /// Puts back what was taken out by a transaction that failed.
    pub(super) fn restore(&mut self, ended: Vec<Ended>) {
        for Ended { token, until_us, held } in ended {
            let claim = self.open.entry(token).or_insert_with(|| Claim { until_us, timers: HashMap::new() });
            claim.timers.insert(held.id, held);
        }
    }

    /// When the first lease passes.
    pub(super) fn first_passes(&self) -> Option<UnixMicros> {
        self.open.values().map(|claim| claim.until_us).min()
    }

    /// Ends the claims whose lease has passed; answers their timers with the instant it did.
    pub(super) fn take_passed(&mut self, now_us: UnixMicros) -> Vec<(UnixMicros, i64)> {
        let passed = self.open.extract_if(|_, claim| claim.until_us <= now_us);
        passed.flat_map(|(_, claim)| claim.timers.into_keys().map(move |id| (claim.until_us, id))).collect()
    }

    fn take(&mut self, mut from: impl FnMut(Uuid, &mut Claim) -> Vec<Ended>) -> Vec<Ended> {
        let mut ended = Vec::new();
        self.open.retain(|token, claim| {
            ended.extend(from(*token, claim));
            !claim.timers.is_empty()
        });
        ended
    }
}

impl Claim {
    fn take(&mut self, token: Uuid, ids: &[i64]) -> Vec<Ended> {
        let until_us = self.until_us;
        let found = ids.iter().filter_map(|id| self.timers.remove(id));
        found.map(|held| Ended { token, until_us, held }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(id: i64, queue_id: i64) -> Held {
        Held { id, due_us: 0, queue_id, partition: "Default".to_owned(), tenant: "default".to_owned() }
    }

    fn claims() -> (Claims, Uuid) {
        let (mut claims, token) = (Claims::default(), Uuid::from_u128(1));
        claims.put(token, 100, [held(5, 1), held(6, 2)]);
        (claims, token)
    }

    #[test]
    fn a_claim_holds_until_its_lease_passes_and_only_under_its_token() {
        let (mut claims, token) = claims();
        assert_eq!(claims.held_until(5, 99), Some(100));
        assert_eq!(claims.held_until(5, 100), None);
        assert_eq!(claims.held_until(7, 0), None);
        assert_eq!(claims.holding(token, &[6, 7], 99), [held(6, 2)]);
        assert_eq!(claims.holding(token, &[6], 100), []);
        assert_eq!(claims.holding(Uuid::from_u128(2), &[6], 99), []);
        assert_eq!(claims.take_passed(99), []);
        let mut passed = claims.take_passed(100);
        passed.sort_unstable();
        assert_eq!(passed, [(100, 5), (100, 6)]);
        assert_eq!(claims.first_passes(), None);
    }

    #[test]
    fn what_a_failed_transaction_took_out_of_a_claim_comes_back() {
        let (mut claims, token) = claims();
        let ended = claims.end(token, &[5]);
        assert_eq!((claims.claimed(token, 5), claims.claimed(token, 6)), (None, Some(&held(6, 2))));
        let forgotten = claims.forget(&[6]);
        assert_eq!(claims.first_passes(), None);
        claims.restore(ended);
        claims.restore(forgotten);
        assert_eq!(claims.held_until(5, 0), Some(100));
        assert_eq!(claims.held_until(6, 0), Some(100));
        assert_eq!(claims.forget_queue(1).len(), 1);
        assert_eq!((claims.held_until(5, 0), claims.held_until(6, 0)), (None, Some(100)));
    }
}
