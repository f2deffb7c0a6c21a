//! What follows from an attempt. Pure: the clock and the jitter are arguments
//! (contract/http-queue.md, "Delivery").

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chronq::contract::{headers, limits};
use chronq::retry::{Spread, backoff};
use chronq::retry_after::asked_wait;

use super::attempt::Attempt;
use crate::store::types::claim::{AttemptVerdict, Claimed};

/// Decides by status and headers, never by the body. `now_ms` is the wall clock's: a destination
/// names dates by its own, which nobody moves.
pub(super) fn decide(message: &Claimed, attempt: &Attempt, now_ms: i64, jitter: f64) -> AttemptVerdict {
    if (200..300).contains(&attempt.status) {
        return AttemptVerdict::Completed;
    }
    if is_non_retryable(attempt) || message.retried >= message.max_retries {
        return AttemptVerdict::Failed;
    }
    let header = |name: &str| attempt.headers.get(name)?.to_str().ok();
    let asked = asked_wait(&header, now_ms).unwrap_or_default();
    // What was asked for is a floor of this wait and the base of the later ones.
    let base = Duration::from_millis(message.retry_delay_ms).max(asked);
    let wait = if message.backoff {
        let cap = Duration::from_millis(message.max_delay_ms);
        backoff(base, message.retried.saturating_add(1), cap, Spread::Half, jitter).max(asked)
    } else {
        base
    };
    AttemptVerdict::Retry { wait_ms: millis(wait), retry_delay_ms: millis(base) }
}

/// Both the status and the header are needed: either alone may come from a proxy on the way.
fn is_non_retryable(attempt: &Attempt) -> bool {
    attempt.status == limits::NON_RETRYABLE_STATUS
        && attempt
            .headers
            .get(headers::NON_RETRYABLE)
            .is_some_and(|value| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"true"))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The machine's clock, unix milliseconds.
pub(super) fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A random number in 0..1; the middle where the machine gives none.
pub(super) fn jitter() -> f64 {
    getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use chronq::contract::Method;
    use chronq::{Destination, Name};
    use http::HeaderMap;

    use super::*;
    use crate::store::types::claim::Lease;

    /// 2026-11-30T00:00:00Z
    const NOW_MS: i64 = 1_795_996_800_000;

    fn message(retried: u32, max_retries: u32) -> Claimed {
        Claimed {
            lease: Lease { seq: 1, claim: 1, until: i64::MAX },
            id: uuid::Uuid::nil(),
            queue: Name::default_queue(),
            destination: Destination::parse("destination", "http://h/").expect("destination"),
            method: Method::Post,
            headers: Vec::new(),
            body: Bytes::new(),
            retried,
            max_retries,
            timeout_ms: 30_000,
            retry_delay_ms: 10_000,
            max_delay_ms: 21_600_000,
            backoff: true,
            labels: Vec::new(),
            callback: None,
            failure_callback: None,
            schedule: None,
            dead_letter_of: None,
            created_at: 0,
        }
    }

    fn answered(status: u16, pairs: &[(&'static str, &str)]) -> Attempt {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().expect("header value"));
        }
        Attempt { status, headers, body: Bytes::new(), truncated: false, duration: Duration::ZERO }
    }

    fn decided(message: &Claimed, attempt: &Attempt, jitter: f64) -> AttemptVerdict {
        decide(message, attempt, NOW_MS, jitter)
    }

    #[test]
    fn only_2xx_succeeds() {
        for status in [200, 204, 299] {
            assert_eq!(decided(&message(0, 3), &answered(status, &[]), 0.0), AttemptVerdict::Completed);
        }
        for status in [0, 301, 302, 400, 404, 429, 500, 503] {
            let verdict = decided(&message(0, 3), &answered(status, &[]), 0.0);
            assert!(matches!(verdict, AttemptVerdict::Retry { .. }), "{status}: {verdict:?}");
        }
    }

    #[test]
    fn the_wait_is_half_to_all_of_the_doubling_curve() {
        let wait = |retried, jitter| match decided(&message(retried, 100), &answered(503, &[]), jitter) {
            AttemptVerdict::Retry { wait_ms, retry_delay_ms } => (wait_ms, retry_delay_ms),
            other => panic!("{other:?}"),
        };
        assert_eq!(wait(0, 0.0), (10_000, 10_000));
        assert_eq!(wait(0, 1.0), (20_000, 10_000));
        assert_eq!(wait(1, 1.0), (40_000, 10_000));
        assert_eq!(wait(50, 1.0), (21_600_000, 10_000), "capped by max delay");
    }

    #[test]
    fn without_backoff_the_wait_is_the_base() {
        let mut plain = message(2, 3);
        plain.backoff = false;
        let verdict = decided(&plain, &answered(503, &[]), 1.0);
        assert_eq!(verdict, AttemptVerdict::Retry { wait_ms: 10_000, retry_delay_ms: 10_000 });
    }

    #[test]
    fn retry_after_raises_this_wait_and_the_base_of_later_ones() {
        let verdict = decided(&message(0, 3), &answered(429, &[("retry-after", "120")]), 0.0);
        assert_eq!(verdict, AttemptVerdict::Retry { wait_ms: 120_000, retry_delay_ms: 120_000 });
        let verdict =
            decided(&message(0, 3), &answered(200 + 100, &[("x-ratelimit-reset", "1795996860")]), 1.0);
        assert_eq!(verdict, AttemptVerdict::Retry { wait_ms: 120_000, retry_delay_ms: 60_000 });
    }

    #[test]
    fn retry_after_is_cut_at_a_day_and_not_by_max_delay() {
        let mut short = message(0, 3);
        short.max_delay_ms = 1_000;
        let verdict = decided(&short, &answered(503, &[("retry-after", "9999999")]), 0.0);
        assert_eq!(verdict, AttemptVerdict::Retry { wait_ms: 86_400_000, retry_delay_ms: 86_400_000 });
    }

    #[test]
    fn on_the_last_attempt_there_is_nothing_to_wait_for() {
        let verdict = decided(&message(3, 3), &answered(503, &[("retry-after", "120")]), 0.0);
        assert_eq!(verdict, AttemptVerdict::Failed);
        assert_eq!(decided(&message(0, 0), &answered(0, &[]), 0.0), AttemptVerdict::Failed);
    }

    #[test]
    fn status_489_with_its_header_ends_the_message_at_once() {
        let with = |status, value: &str| {
            decided(&message(0, 3), &answered(status, &[("chronq-nonretryable-error", value)]), 0.0)
        };
        assert_eq!(with(489, "true"), AttemptVerdict::Failed);
        assert_eq!(with(489, "TRUE"), AttemptVerdict::Failed);
        assert!(matches!(with(489, "false"), AttemptVerdict::Retry { .. }));
        assert!(matches!(with(400, "true"), AttemptVerdict::Retry { .. }));
        let alone = decided(&message(0, 3), &answered(489, &[]), 0.0);
        assert!(matches!(alone, AttemptVerdict::Retry { .. }));
    }
}
