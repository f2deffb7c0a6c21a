//! The timers' metrics (contract/timers.md, "The sweeper"). Those of the process are counted here;
//! those of the service come from the store when they are read.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use super::failure::FailureClass;
use crate::store::timers::TimerTotals;

/// Why a schedule was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// 400.
    Shape,
    /// Beyond the horizon.
    Horizon,
    /// 413.
    PayloadTooLarge,
    /// Paused by an operator.
    Disabled,
    /// No grant.
    Gated,
    /// 429.
    RateLimited,
    /// The quota of pending timers.
    Quota,
    /// Store trouble.
    Unavailable,
}

impl Rejection {
    const ALL: [(Self, &'static str); 8] = [
        (Self::Shape, "shape"),
        (Self::Horizon, "horizon"),
        (Self::PayloadTooLarge, "payload_too_large"),
        (Self::Disabled, "disabled"),
        (Self::Gated, "gated"),
        (Self::RateLimited, "rate_limited"),
        (Self::Quota, "quota"),
        (Self::Unavailable, "unavailable"),
    ];
}

/// Upper bounds of the lag histogram, seconds.
const LAG_BOUNDS_S: [f64; 15] =
    [0.001, 0.002, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0];

/// Counters of this process.
#[derive(Debug, Default)]
pub struct TimerMetrics {
    fired: AtomicU64,
    stale: AtomicU64,
    dead: AtomicU64,
    failures: [AtomicU64; 3],
    rejected: [AtomicU64; 8],
    lag_buckets: [AtomicU64; LAG_BOUNDS_S.len()],
    lag_sum_us: AtomicU64,
}

impl TimerMetrics {
    /// Timers entered the log so late, microseconds each.
    pub fn fired(&self, lags_us: &[i64]) {
        for lag in lags_us {
            let micros = u64::try_from(*lag).unwrap_or(0);
            #[expect(clippy::cast_precision_loss, reason = "a lag")]
            let seconds = micros as f64 / 1_000_000.0;
            if let Some(at) = LAG_BOUNDS_S.iter().position(|bound| seconds <= *bound) {
                self.lag_buckets[at].fetch_add(1, Ordering::Relaxed);
            }
            self.lag_sum_us.fetch_add(micros, Ordering::Relaxed);
        }
        self.fired.fetch_add(lags_us.len() as u64, Ordering::Relaxed);
    }

    /// Timers whose claim no longer held.
    pub fn stale(&self, count: usize) {
        self.stale.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Timers that became dead letters.
    pub fn dead(&self, count: u64) {
        self.dead.fetch_add(count, Ordering::Relaxed);
    }

    /// A fire failed.
    pub fn failed(&self, class: FailureClass) {
        self.failures[class as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A schedule was refused.
    pub fn rejected(&self, reason: Rejection) {
        self.rejected[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The exposition text of everything about timers.
    pub fn render(&self, totals: &TimerTotals) -> String {
        let mut text = Exposition::default();
        text.family("queen_timers_due", "gauge", "Timers that are due and not fired.");
        text.sample("queen_timers_due", "", totals.due);
        text.family("queen_timers_oldest_late_seconds", "gauge", "How late the oldest due timer is.");
        text.seconds("queen_timers_oldest_late_seconds", "", totals.oldest_late_us.unsigned_abs());
        self.render_lag(&mut text);
        for (name, help, value) in [
            ("queen_timers_fired_total", "Timers that entered the log.", &self.fired),
            (
                "queen_timers_stale_total",
                "Timers whose claim had passed when they should have fired.",
                &self.stale,
            ),
            ("queen_timers_dlq_total", "Timers that became dead letters.", &self.dead),
        ] {
            text.family(name, "counter", help);
            text.sample(name, "", value.load(Ordering::Relaxed));
        }
        let name = "queen_timers_fire_failures_total";
        text.family(name, "counter", "Fires that failed, by class.");
        for class in FailureClass::ALL {
            let count = self.failures[*class as usize].load(Ordering::Relaxed);
            text.sample(name, &format!("{{class=\"{}\"}}", class.as_str()), count);
        }
        let name = "queen_timers_schedule_rejected_total";
        text.family(name, "counter", "Calls that schedule and were refused, by reason.");
        for (reason, word) in Rejection::ALL {
            let count = self.rejected[reason as usize].load(Ordering::Relaxed);
            text.sample(name, &format!("{{reason=\"{word}\"}}"), count);
        }
        text.family("queen_timers_pending", "gauge", "Pending timers.");
        for tenant in &totals.tenants {
            text.sample("queen_timers_pending", &tenant_label(&tenant.tenant), tenant.pending);
        }
        text.family("queen_timers_metered_total", "counter", "Schedules and reschedules: the promises made.");
        for tenant in &totals.tenants {
            text.sample("queen_timers_metered_total", &tenant_label(&tenant.tenant), tenant.metered);
        }
        text.0
    }

    fn render_lag(&self, text: &mut Exposition) {
        let name = "queen_timers_fire_lag_seconds";
        text.family(name, "histogram", "From the instant a timer was set to until it was in the log.");
        let mut below = 0;
        for (bound, count) in LAG_BOUNDS_S.iter().zip(&self.lag_buckets) {
            below += count.load(Ordering::Relaxed);
            text.sample(&format!("{name}_bucket"), &format!("{{le=\"{bound}\"}}"), below);
        }
        let all = self.fired.load(Ordering::Relaxed);
        text.sample(&format!("{name}_bucket"), "{le=\"+Inf\"}", all);
        text.seconds(&format!("{name}_sum"), "", self.lag_sum_us.load(Ordering::Relaxed));
        text.sample(&format!("{name}_count"), "", all);
    }
}

fn tenant_label(tenant: &str) -> String {
    let escaped = tenant.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{{tenant=\"{escaped}\"}}")
}

/// Prometheus' text format. Writing to a `String` cannot fail.
#[derive(Default)]
struct Exposition(String);

impl Exposition {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: u64) {
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn seconds(&mut self, name: &str, labels: &str, micros: u64) {
        let _ = writeln!(self.0, "{name}{labels} {}.{:06}", micros / 1_000_000, micros % 1_000_000);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::timers::TenantTotals;

    #[test]
    fn every_metric_of_the_contract_is_written() {
        let metrics = TimerMetrics::default();
        metrics.fired(&[500, 4_000, 90_000_000]);
        metrics.rejected(Rejection::Quota);
        metrics.failed(FailureClass::Configuration);
        let totals = TimerTotals {
            due: 2,
            oldest_late_us: 1_500_000,
            tenants: vec![TenantTotals { tenant: "a\"b".into(), pending: 3, metered: 9 }],
        };
        let text = metrics.render(&totals);
        for line in [
            "queen_timers_due 2",
            "queen_timers_oldest_late_seconds 1.500000",
            "queen_timers_fire_lag_seconds_bucket{le=\"0.001\"} 1",
            "queen_timers_fire_lag_seconds_bucket{le=\"0.005\"} 2",
            "queen_timers_fire_lag_seconds_bucket{le=\"60\"} 2",
            "queen_timers_fire_lag_seconds_bucket{le=\"+Inf\"} 3",
            "queen_timers_fire_lag_seconds_sum 90.004500",
            "queen_timers_fired_total 3",
            "queen_timers_stale_total 0",
            "queen_timers_dlq_total 0",
            "queen_timers_fire_failures_total{class=\"configuration\"} 1",
            "queen_timers_schedule_rejected_total{reason=\"quota\"} 1",
            "queen_timers_schedule_rejected_total{reason=\"unavailable\"} 0",
            "queen_timers_pending{tenant=\"a\\\"b\"} 3",
            "queen_timers_metered_total{tenant=\"a\\\"b\"} 9",
        ] {
            assert!(text.lines().any(|written| written == line), "{line}\n{text}");
        }
    }
}
