//! The queues' gauges, computed from the store at each scrape: they survive restarts and agree across
//! instances, and cover what a queue's retention keeps (seed, "Metrics").

use std::fmt::Write;

use crate::store::types::queue::QueueMetrics;

/// One gauge: name, help, and its samples of a queue as (further labels, value).
struct Gauge {
    name: &'static str,
    help: &'static str,
    samples: fn(&QueueMetrics) -> Vec<(&'static str, f64)>,
}

const GAUGES: &[Gauge] = &[
    Gauge {
        name: "chronq_queue_runs_finished",
        help: "Messages that were completed or failed for good in the last 24 hours.",
        samples: |queue| vec![("", count(queue.finished))],
    },
    Gauge {
        name: "chronq_queue_runs_succeeded",
        help: "Messages that were completed in the last 24 hours.",
        samples: |queue| vec![("", count(queue.succeeded))],
    },
    Gauge {
        name: "chronq_queue_last_attempt_duration_seconds",
        help: "Duration of the last attempt of those messages.",
        samples: |queue| {
            let seconds = |label, ms: Option<u64>| ms.map(|ms| (label, count(ms) / 1_000.0));
            [seconds(",quantile=\"0.5\"", queue.p50_ms), seconds(",quantile=\"0.95\"", queue.p95_ms)]
                .into_iter()
                .flatten()
                .collect()
        },
    },
    Gauge {
        name: "chronq_queue_messages_waiting",
        help: "Messages that wait for an attempt: created or retry.",
        samples: |queue| vec![("", count(queue.waiting))],
    },
    Gauge {
        name: "chronq_queue_messages_active",
        help: "Messages with an attempt in flight.",
        samples: |queue| vec![("", count(queue.active))],
    },
];

/// The gauges in the text format.
pub fn render(queues: &[QueueMetrics]) -> String {
    let mut text = String::new();
    for gauge in GAUGES {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# HELP {} {}\n# TYPE {} gauge", gauge.name, gauge.help, gauge.name);
        for queue in queues {
            for (labels, value) in (gauge.samples)(queue) {
                // A queue's name needs no escaping: see `chronq::Name`.
                let _ = writeln!(text, "{}{{queue=\"{}\"{labels}}} {value}", gauge.name, queue.queue);
            }
        }
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a float; counts beyond 2^53 are not met")]
fn count(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use chronq::Name;

    fn queue(name: &str, finished: u64, p50_ms: Option<u64>) -> QueueMetrics {
        QueueMetrics {
            queue: Name::parse("name", name).expect("name"),
            finished,
            succeeded: finished / 2,
            p50_ms,
            p95_ms: p50_ms.map(|ms| ms * 10),
            waiting: 7,
            active: 1,
        }
    }

    #[test]
    fn per_queue_runs_finished_succeeded_p50_and_p95() {
        let text = render(&[queue("default", 4, Some(25)), queue("orders", 0, None)]);
        assert!(text.starts_with(
            "# HELP chronq_queue_runs_finished Messages that were completed or failed for good in the last 24 hours.\n\
             # TYPE chronq_queue_runs_finished gauge\n\
             chronq_queue_runs_finished{queue=\"default\"} 4\n\
             chronq_queue_runs_finished{queue=\"orders\"} 0\n"
        ));
        for line in [
            "chronq_queue_runs_succeeded{queue=\"default\"} 2\n",
            "chronq_queue_last_attempt_duration_seconds{queue=\"default\",quantile=\"0.5\"} 0.025\n",
            "chronq_queue_last_attempt_duration_seconds{queue=\"default\",quantile=\"0.95\"} 0.25\n",
            "chronq_queue_messages_waiting{queue=\"orders\"} 7\n",
            "chronq_queue_messages_active{queue=\"orders\"} 1\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains("duration_seconds{queue=\"orders\""));
    }
}
