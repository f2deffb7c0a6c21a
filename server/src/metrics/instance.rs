//! This process's own counters. They begin at zero with it; what must outlive it is in
//! [`super::service`].
//!
//! Every name and label is written here and nowhere else; the labels are closed sets, so that no
//! request can make the output grow.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

const ATTEMPTS: &str = "chronq_attempts_total";
const ATTEMPT_DURATION: &str = "chronq_attempt_duration_seconds";
const CALLBACKS: &str = "chronq_callbacks_total";
const PUBLISHES: &str = "chronq_publishes_total";
const SCHEDULE_RUNS: &str = "chronq_schedule_runs_total";
const START_TIME: &str = "chronq_process_start_time_seconds";
const BUILD_INFO: &str = "chronq_build_info";

/// Seconds: from a receiver next door to the longest timeout that is usual.
const BUCKETS: &[f64] =
    &[0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Begins to count. There is one recorder per process, however many servers run in it.
pub fn install() {
    let _ = handle();
}

/// What was counted, in the text format; empty where something else in the process records metrics.
pub fn render() -> String {
    handle().map(PrometheusHandle::render).unwrap_or_default()
}

/// Bounds the memory of histograms between two scrapes; called now and then.
pub fn keep_small() {
    if let Some(handle) = handle() {
        handle.run_upkeep();
    }
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The destination accepted.
    Completed,
    /// Another attempt follows.
    Retry,
    /// It was the last.
    Failed,
}

/// Counts an attempt and how long it took.
pub fn attempt(outcome: AttemptOutcome, took: Duration) {
    match outcome {
        AttemptOutcome::Completed => counter!(ATTEMPTS, "outcome" => "completed").increment(1),
        AttemptOutcome::Retry => counter!(ATTEMPTS, "outcome" => "retry").increment(1),
        AttemptOutcome::Failed => counter!(ATTEMPTS, "outcome" => "failed").increment(1),
    }
    histogram!(ATTEMPT_DURATION).record(took);
}

/// Counts a callback; it is made once.
pub fn callback(accepted: bool) {
    if accepted {
        counter!(CALLBACKS, "outcome" => "accepted").increment(1);
    } else {
        counter!(CALLBACKS, "outcome" => "failed").increment(1);
    }
}

/// Counts messages that were queued, and those recognised as duplicates.
pub fn published(queued: u64, duplicates: u64) {
    if queued > 0 {
        counter!(PUBLISHES, "outcome" => "queued").increment(queued);
    }
    if duplicates > 0 {
        counter!(PUBLISHES, "outcome" => "duplicate").increment(duplicates);
    }
}

/// What became of a schedule that was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleOutcome {
    /// Its run was queued.
    Queued,
    /// Its queue is disabled or gone.
    Refused,
    /// It was missed, and missed runs are skipped.
    Missed,
}

/// Counts a schedule that was due.
pub fn schedule_run(outcome: ScheduleOutcome) {
    match outcome {
        ScheduleOutcome::Queued => counter!(SCHEDULE_RUNS, "outcome" => "queued").increment(1),
        ScheduleOutcome::Refused => counter!(SCHEDULE_RUNS, "outcome" => "refused").increment(1),
        ScheduleOutcome::Missed => counter!(SCHEDULE_RUNS, "outcome" => "missed").increment(1),
    }
}

fn handle() -> Option<&'static PrometheusHandle> {
    RECORDER.get_or_init(begin).as_ref()
}

fn begin() -> Option<PrometheusHandle> {
    // Every name that ends so is a duration in seconds.
    let seconds = Matcher::Suffix("_seconds".to_owned());
    let recorder = PrometheusBuilder::new().set_buckets_for_metric(seconds, BUCKETS).ok()?.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).ok()?;
    describe_counter!(ATTEMPTS, "Attempts by what became of them.");
    describe_histogram!(ATTEMPT_DURATION, "How long attempts took.");
    describe_counter!(CALLBACKS, "Callbacks and failure callbacks made.");
    describe_counter!(PUBLISHES, "Messages published through this process.");
    describe_counter!(SCHEDULE_RUNS, "Schedules that were due, by what became of the run.");
    describe_gauge!(START_TIME, "When this process began to count, unix seconds.");
    describe_gauge!(BUILD_INFO, "1, with the version as a label.");
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    gauge!(START_TIME).set(since.as_secs_f64());
    gauge!(BUILD_INFO, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    Some(handle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_rendered_with_closed_labels() {
        install();
        attempt(AttemptOutcome::Completed, Duration::from_millis(3));
        callback(true);
        published(2, 1);
        schedule_run(ScheduleOutcome::Queued);
        let text = render();
        for part in [
            "# TYPE chronq_attempts_total counter",
            "chronq_attempts_total{outcome=\"completed\"} ",
            "chronq_attempt_duration_seconds_bucket{le=\"0.005\"} ",
            "chronq_callbacks_total{outcome=\"accepted\"} ",
            "chronq_publishes_total{outcome=\"queued\"} ",
            "chronq_publishes_total{outcome=\"duplicate\"} ",
            "chronq_schedule_runs_total{outcome=\"queued\"} ",
            "chronq_process_start_time_seconds ",
            concat!("chronq_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
