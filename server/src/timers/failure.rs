//! What a failed fire means (contract/timers.md, "The sweeper"). Pure.

use crate::config::TimersConfig;
use crate::store::timers::Consequence;

/// The class of a failed fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureClass {
    /// Serialization, deadlock, connection, resources, operator intervention, timeout: it passes.
    Transient,
    /// Any other.
    Permanent,
    /// A missing table or right.
    Configuration,
}

impl FailureClass {
    /// Every class, in the order of the contract.
    pub const ALL: &'static [Self] = &[Self::Transient, Self::Permanent, Self::Configuration];

    /// The label in the metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::Configuration => "configuration",
        }
    }
}

/// A fire that the store refused: nothing of it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct FireFailed {
    /// Its class.
    pub class: FailureClass,
    /// What the database said.
    pub error: String,
}

/// What follows for a timer that has failed `attempts` times before.
pub fn consequence(class: FailureClass, attempts: u32, config: &TimersConfig) -> Consequence {
    let micros = |wait: std::time::Duration| i64::try_from(wait.as_micros()).unwrap_or(i64::MAX);
    match class {
        FailureClass::Transient => {
            Consequence::Backoff { after_us: micros(config.transient_backoff), spend: false }
        }
        FailureClass::Permanent | FailureClass::Configuration if attempts + 1 >= config.max_attempts => {
            Consequence::DeadLetter
        }
        FailureClass::Permanent | FailureClass::Configuration => {
            let curve = config.backoff_min.saturating_mul(1 << attempts.min(20));
            Consequence::Backoff { after_us: micros(curve.min(config.backoff_max)), spend: true }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_spent_on_permanent_and_configuration_failures_only() {
        let config = TimersConfig { max_attempts: 10, ..TimersConfig::default() };
        let backoff = |after_ms: i64, spend| Consequence::Backoff { after_us: after_ms * 1_000, spend };
        for attempts in [0, 4, 9] {
            assert_eq!(consequence(FailureClass::Transient, attempts, &config), backoff(1_000, false));
        }
        for class in [FailureClass::Permanent, FailureClass::Configuration] {
            let waits: Vec<_> = (0..10).map(|attempts| consequence(class, attempts, &config)).collect();
            let expected = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000];
            let mut expected: Vec<_> = expected.map(|ms| backoff(ms, true)).into();
            expected.push(Consequence::DeadLetter);
            assert_eq!(waits, expected);
        }
    }

    #[test]
    fn the_fifth_failure_is_the_last_by_default() {
        let config = TimersConfig::default();
        assert_ne!(consequence(FailureClass::Permanent, 3, &config), Consequence::DeadLetter);
        assert_eq!(consequence(FailureClass::Permanent, 4, &config), Consequence::DeadLetter);
    }
}
