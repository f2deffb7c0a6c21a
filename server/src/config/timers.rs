//! Settings of the sweeper and the limits of timers (contract/timers.md, "The sweeper").

use std::time::Duration;

use chronq::contract::limits;

use super::ConfigError;
use super::settings::{Setting, Settings, boolean};

/// How timers are swept, and how large they may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimersConfig {
    /// Whether this process fires timers.
    pub sweeper: bool,
    /// Shortest pause of the sweeper.
    pub min_sleep: Duration,
    /// Longest pause of the sweeper.
    pub max_sleep: Duration,
    /// How long a claimed timer is its sweeper's.
    pub lease: Duration,
    /// Most timers claimed at once.
    pub claim_batch: u32,
    /// Failed fires before a timer is a dead letter.
    pub max_attempts: u32,
    /// First wait after a failed fire.
    pub backoff_min: Duration,
    /// Longest wait after a failed fire.
    pub backoff_max: Duration,
    /// Wait after a fire that failed by a passing trouble.
    pub transient_backoff: Duration,
    /// Largest decoded payload.
    pub max_payload_bytes: usize,
    /// Farthest instant, seconds from now.
    pub max_horizon_seconds: u64,
    /// Most operations in one call.
    pub max_ops_per_call: usize,
}

impl Default for TimersConfig {
    fn default() -> Self {
        Self {
            sweeper: true,
            min_sleep: Duration::from_millis(5),
            max_sleep: Duration::from_secs(1),
            lease: Duration::from_secs(30),
            claim_batch: 200,
            max_attempts: 5,
            backoff_min: Duration::from_secs(1),
            backoff_max: Duration::from_mins(1),
            transient_backoff: Duration::from_secs(1),
            max_payload_bytes: limits::MAX_TIMER_PAYLOAD_BYTES,
            max_horizon_seconds: limits::MAX_TIMER_HORIZON_SECONDS,
            max_ops_per_call: limits::MAX_TIMER_OPERATIONS,
        }
    }
}

impl TimersConfig {
    pub(super) fn read(settings: &Settings) -> Result<Self, ConfigError> {
        let default = Self::default();
        let millis = |setting, default: Duration| {
            Ok(settings.read(setting, positive::<u64>)?.map_or(default, Duration::from_millis))
        };
        let config = Self {
            sweeper: settings.read(Setting::Sweeper, boolean)?.unwrap_or(default.sweeper),
            min_sleep: millis(Setting::SweeperMinSleepMs, default.min_sleep)?,
            max_sleep: millis(Setting::SweeperMaxSleepMs, default.max_sleep)?,
            lease: millis(Setting::SweeperLeaseMs, default.lease)?,
            claim_batch: settings.read(Setting::SweeperClaimBatch, positive)?.unwrap_or(default.claim_batch),
            max_attempts: settings
                .read(Setting::SweeperMaxAttempts, positive)?
                .unwrap_or(default.max_attempts),
            backoff_min: millis(Setting::SweeperBackoffMinMs, default.backoff_min)?,
            backoff_max: millis(Setting::SweeperBackoffMaxMs, default.backoff_max)?,
            transient_backoff: millis(Setting::SweeperTransientBackoffMs, default.transient_backoff)?,
            max_payload_bytes: settings
                .read(Setting::TimersMaxPayloadBytes, positive)?
                .unwrap_or(default.max_payload_bytes),
            max_horizon_seconds: settings
                .read(Setting::TimersMaxHorizonS, positive)?
                .unwrap_or(default.max_horizon_seconds),
            max_ops_per_call: settings
                .read(Setting::TimersMaxOpsPerCall, positive)?
                .unwrap_or(default.max_ops_per_call),
        };
        for (least, most) in [
            (Setting::SweeperMinSleepMs, Setting::SweeperMaxSleepMs),
            (Setting::SweeperBackoffMinMs, Setting::SweeperBackoffMaxMs),
        ] {
            let (low, high) = match least {
                Setting::SweeperMinSleepMs => (config.min_sleep, config.max_sleep),
                _ => (config.backoff_min, config.backoff_max),
            };
            if low > high {
                let (least, most) = (least.variable(), most.variable());
                return Err(ConfigError::new(format!("{least} must not exceed {most}")));
            }
        }
        Ok(config)
    }
}

fn positive<T: std::str::FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    text.parse()
        .ok()
        .filter(|number| *number >= T::from(1))
        .ok_or_else(|| "must be a whole number of at least 1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::*;

    #[test]
    fn the_seeds_variables_are_read_and_checked() {
        let mut settings = Settings::default();
        settings
            .set_from_environment([("QUEEN_SWEEPER_LEASE_MS".to_owned(), "250".to_owned())])
            .expect("known");
        assert_eq!(TimersConfig::read(&settings).expect("legal").lease, Duration::from_millis(250));
        settings.set(Setting::SweeperMinSleepMs, Source::Flag, "5000".to_owned());
        let error = TimersConfig::read(&settings).expect_err("above the longest");
        assert_eq!(
            error.to_string(),
            "QUEEN_SWEEPER_MIN_SLEEP_MS must not exceed QUEEN_SWEEPER_MAX_SLEEP_MS"
        );
        settings.set(Setting::SweeperMinSleepMs, Source::Flag, "0".to_owned());
        let error = TimersConfig::read(&settings).expect_err("zero");
        assert_eq!(
            error.to_string(),
            "--sweeper-min-sleep-ms must be a whole number of at least 1, got \"0\""
        );
    }
}
