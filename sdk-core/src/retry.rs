//! When a call is repeated, and how long a repetition waits. Pure: jitter is an argument.

use std::time::Duration;

use crate::contract::limits;
use crate::duration;
use crate::error::{Error, ErrorKind};
use crate::input::InvalidInput;

/// Whether repeating a call can do harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idempotence {
    /// A second arrival of the same request changes nothing more: reads, upserts, deletes, and
    /// publishes that carry a deduplication id.
    Safe,
    /// A second arrival would act twice.
    Unsafe,
}

/// What a failure means for repeating the call.
///
/// | failure | verdict |
/// |---|---|
/// | 429, 503 | `Always`: the server said that it did not act |
/// | no answer, request certainly not sent | `Always` |
/// | no answer, request may have been sent | `IfSafe` |
/// | 408, 500, 502, 504 | `IfSafe` |
/// | everything else, 403 above all | `Never` |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Repeating is harmless.
    Always,
    /// Repeating is right for [`Idempotence::Safe`] calls only.
    IfSafe,
    /// Repeating would not help.
    Never,
}

impl Verdict {
    /// The verdict on an error, by the table above.
    pub fn on(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::Unavailable if error.status() != Some(503) => Self::IfSafe,
            ErrorKind::Transport if error.may_have_been_sent() => Self::IfSafe,
            ErrorKind::Throttled | ErrorKind::Unavailable | ErrorKind::Transport => Self::Always,
            ErrorKind::InvalidInput(_)
            | ErrorKind::Unauthorized
            | ErrorKind::Forbidden
            | ErrorKind::NotFound
            | ErrorKind::Conflict(_)
            | ErrorKind::TooLarge
            | ErrorKind::QuotaExceeded
            | ErrorKind::HorizonExceeded
            | ErrorKind::FeatureGated
            | ErrorKind::Protocol
            | ErrorKind::Signature(_) => Self::Never,
        }
    }

    /// Whether a call of this idempotence is repeated.
    pub const fn allows(self, idempotence: Idempotence) -> bool {
        match (self, idempotence) {
            (Self::Always, _) | (Self::IfSafe, Idempotence::Safe) => true,
            (Self::IfSafe, Idempotence::Unsafe) | (Self::Never, _) => false,
        }
    }
}

/// How often and how patiently a client repeats a call (contract/sdk.md, "Client").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    attempts: u32,
    base: Duration,
    cap: Duration,
}

impl RetryPolicy {
    /// `attempts` in all, 1 meaning no repetition; waits of `base` doubling to `cap`.
    ///
    /// # Errors
    /// [`InvalidInput`] for no attempts, more than 100, or a base above the cap.
    pub fn new(attempts: u32, base: Duration, cap: Duration) -> Result<Self, InvalidInput> {
        if !(1..=100).contains(&attempts) {
            return Err(InvalidInput::with_rule(
                "attempts",
                "must be between 1 and 100",
                &attempts.to_string(),
            ));
        }
        if base > cap {
            let message = format!(
                "base must not exceed cap, got {} and {}",
                duration::format(base),
                duration::format(cap)
            );
            return Err(InvalidInput::new("base", message));
        }
        Ok(Self { attempts, base, cap })
    }

    /// One attempt and no more.
    pub const fn off() -> Self {
        Self { attempts: 1, base: Duration::ZERO, cap: Duration::ZERO }
    }

    /// Attempts in all.
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// The first wait.
    pub const fn base(&self) -> Duration {
        self.base
    }

    /// The longest wait by the curve.
    pub const fn cap(&self) -> Duration {
        self.cap
    }

    /// The wait before attempt `made + 1`, `Retry-After` as a floor.
    pub(crate) fn wait(&self, made: u32, retry_after: Option<Duration>, jitter: f64) -> Duration {
        let curve = backoff(self.base, made.saturating_sub(1), self.cap, Spread::Full, jitter);
        curve.max(retry_after.unwrap_or_default())
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: limits::DEFAULT_CLIENT_ATTEMPTS,
            base: Duration::from_millis(limits::DEFAULT_CLIENT_RETRY_BASE_MS),
            cap: Duration::from_millis(limits::DEFAULT_CLIENT_RETRY_CAP_MS),
        }
    }
}

/// How much of the curve is left to chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// `jitter × min(cap, curve)`: clients, whose crowd must thin out.
    Full,
    /// `min(cap, curve × (½ + ½·jitter))`: deliveries, which must not come too early.
    Half,
}

/// The one backoff curve, of client calls and deliveries: `base × 2ⁿ`, n at most 16, spread by
/// `jitter` in 0..=1, to `cap`. To the microsecond.
pub fn backoff(base: Duration, exponent: u32, cap: Duration, spread: Spread, jitter: f64) -> Duration {
    let curve = base.saturating_mul(1 << exponent.min(limits::MAX_BACKOFF_EXPONENT));
    let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 1.0 };
    match spread {
        Spread::Full => scale(curve.min(cap), jitter),
        Spread::Half => scale(curve, 0.5f64.mul_add(jitter, 0.5)).min(cap),
    }
}

/// `duration × factor` for a factor in 0..=1, without the panics of `mul_f64`.
fn scale(duration: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(duration.as_secs_f64() * factor).unwrap_or(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn deliveries_wait_between_half_and_all_of_the_curve() {
        let six_hours = Duration::from_hours(6);
        assert_eq!(backoff(SECOND * 10, 1, six_hours, Spread::Half, 0.0), SECOND * 10);
        assert_eq!(backoff(SECOND * 10, 1, six_hours, Spread::Half, 1.0), SECOND * 20);
        assert_eq!(backoff(SECOND * 10, 2, six_hours, Spread::Half, 0.5), SECOND * 30);
        assert_eq!(backoff(SECOND * 10, 16, six_hours, Spread::Half, 0.0), six_hours);
        assert_eq!(backoff(SECOND, 40, Duration::MAX, Spread::Half, 1.0), SECOND * 65_536);
    }

    #[test]
    fn clients_wait_between_nothing_and_the_capped_curve() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.wait(1, None, 1.0), Duration::from_millis(250));
        assert_eq!(policy.wait(2, None, 1.0), Duration::from_millis(500));
        assert_eq!(policy.wait(3, None, 0.5), Duration::from_millis(500));
        assert_eq!(policy.wait(9, None, 1.0), SECOND * 8);
        assert_eq!(policy.wait(1, None, 0.0), Duration::ZERO);
        assert_eq!(policy.wait(1, Some(SECOND * 2), 0.0), SECOND * 2);
    }

    #[test]
    fn odd_jitter_does_no_harm() {
        for jitter in [f64::NAN, f64::INFINITY, -1.0, 7.0] {
            let wait = backoff(SECOND, 3, SECOND * 60, Spread::Full, jitter);
            assert!(wait <= SECOND * 8, "{jitter}: {wait:?}");
        }
        assert_eq!(backoff(Duration::MAX, 16, Duration::MAX, Spread::Half, 1.0), Duration::MAX);
    }

    #[test]
    fn the_verdict_is_the_documented_table() {
        let status = |kind: ErrorKind, status: u16| {
            Error::new(kind, crate::contract::ErrorCode::Unavailable, "")
                .with_context(|c| c.status = Some(status))
        };
        assert_eq!(Verdict::on(&status(ErrorKind::Throttled, 429)), Verdict::Always);
        assert_eq!(Verdict::on(&status(ErrorKind::Unavailable, 503)), Verdict::Always);
        assert_eq!(Verdict::on(&status(ErrorKind::Unavailable, 502)), Verdict::IfSafe);
        assert_eq!(Verdict::on(&Error::transport("refused", false)), Verdict::Always);
        assert_eq!(Verdict::on(&Error::transport("reset", true)), Verdict::IfSafe);
        assert_eq!(Verdict::on(&status(ErrorKind::QuotaExceeded, 403)), Verdict::Never);
        assert!(Verdict::Always.allows(Idempotence::Unsafe));
        assert!(Verdict::IfSafe.allows(Idempotence::Safe));
        assert!(!Verdict::IfSafe.allows(Idempotence::Unsafe));
        assert!(!Verdict::Never.allows(Idempotence::Safe));
    }
}
