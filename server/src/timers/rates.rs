//! Calls per second and tenant: a token bucket, by a clock that is an argument.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::store::timers::{TenantQuota, UnixMicros};

/// The buckets of all tenants that have a rate.
#[derive(Debug, Default)]
pub struct Rates(Mutex<HashMap<String, Bucket>>);

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    at_us: UnixMicros,
}

impl Rates {
    /// Takes a token for one call; else how many seconds until there is one, rounded up.
    ///
    /// # Errors
    /// The wait in seconds.
    pub fn take(&self, tenant: &str, quota: &TenantQuota, now_us: UnixMicros) -> Result<(), u32> {
        let Some(per_second) = quota.max_schedules_per_second else { return Ok(()) };
        let burst = quota.burst.map_or_else(|| per_second.ceil().max(1.0), f64::from);
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.entry(tenant.to_owned()).or_insert(Bucket { tokens: burst, at_us: now_us });
        #[expect(clippy::cast_precision_loss, reason = "microseconds between two calls")]
        let passed_s = now_us.saturating_sub(bucket.at_us).max(0) as f64 / 1_000_000.0;
        bucket.tokens = passed_s.mul_add(per_second, bucket.tokens).min(burst);
        bucket.at_us = now_us;
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        let wait_s = ((1.0 - bucket.tokens) / per_second).ceil();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates; the wait is positive"
        )]
        Err((wait_s as u32).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(per_second: f64, burst: u32) -> TenantQuota {
        TenantQuota {
            enabled: true,
            max_timers: None,
            max_timer_horizon_seconds: None,
            max_payload_bytes: None,
            max_schedules_per_second: Some(per_second),
            burst: Some(burst),
        }
    }

    #[test]
    fn a_burst_is_allowed_and_the_wait_is_rounded_up() {
        let rates = Rates::default();
        let slow = quota(0.4, 2);
        assert_eq!(rates.take("a", &slow, 0), Ok(()));
        assert_eq!(rates.take("a", &slow, 0), Ok(()));
        assert_eq!(rates.take("a", &slow, 0), Err(3));
        assert_eq!(rates.take("b", &slow, 0), Ok(()), "each tenant has its own");
        assert_eq!(rates.take("a", &slow, 2_500_000), Ok(()));
        assert_eq!(rates.take("a", &slow, 2_500_000), Err(3));
    }

    #[test]
    fn without_a_rate_nothing_is_counted() {
        let rates = Rates::default();
        let free = TenantQuota { max_schedules_per_second: None, ..quota(1.0, 1) };
        assert!((0..100).all(|_| rates.take("a", &free, 0).is_ok()));
    }
}
