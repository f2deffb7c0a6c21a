//! What is done with a schedule that came due. Pure.

use chronq::contract::Missed;

use super::next::Recurrence;

/// How late a run may be and still be one of its own: the loop's own delay, and that of a restart
/// which no one would call "nothing ran".
pub const LAG_MS: i64 = 2_000;

/// What to do, and when the schedule is due next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Whether to make a run.
    pub runs: bool,
    /// The next occurrence; `None` once there is none.
    pub next_run: Option<i64>,
}

/// Decides. `alive_since` is the instant since which this process has watched the schedules without
/// a break: an occurrence before it was missed, unless another instance ran it, and then it would
/// not be due.
pub fn plan(recurrence: &Recurrence, missed: Missed, due_at: i64, now: i64, alive_since: i64) -> Plan {
    let watched_since = alive_since.saturating_sub(LAG_MS);
    if due_at >= watched_since {
        // Late by more than the lag although somebody watched: the store was away, or the clock was
        // moved. One run stands for all that came due.
        let after = if now - due_at <= LAG_MS { due_at } else { now };
        return Plan { runs: true, next_run: recurrence.next_after(after) };
    }
    match missed {
        Missed::Once => Plan { runs: true, next_run: recurrence.next_after(now) },
        // What came due since we watch is not missed; it may be due at once.
        Missed::Skip => Plan { runs: false, next_run: recurrence.next_after(watched_since.min(now) - 1) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 60 * MINUTE;

    fn hourly(missed: Missed, due_at: i64, now: i64, alive_since: i64) -> Plan {
        let recurrence = Recurrence::parse("0 * * * *", "UTC", 0).expect("legal");
        plan(&recurrence, missed, due_at, now, alive_since)
    }

    #[test]
    fn a_run_on_time_is_made_whatever_the_policy() {
        for missed in [Missed::Skip, Missed::Once] {
            let plan = hourly(missed, HOUR, HOUR + 3, 0);
            assert_eq!(plan, Plan { runs: true, next_run: Some(2 * HOUR) });
        }
    }

    #[test]
    fn missed_once_makes_one_catch_up_run_for_all_that_came_due() {
        let plan = hourly(Missed::Once, HOUR, 5 * HOUR + MINUTE, 5 * HOUR + MINUTE);
        assert_eq!(plan, Plan { runs: true, next_run: Some(6 * HOUR) });
    }

    #[test]
    fn missed_skip_makes_none() {
        let plan = hourly(Missed::Skip, HOUR, 5 * HOUR + MINUTE, 5 * HOUR + MINUTE);
        assert_eq!(plan, Plan { runs: false, next_run: Some(6 * HOUR) });
    }

    #[test]
    fn what_came_due_since_the_start_is_not_missed() {
        let plan = hourly(Missed::Skip, HOUR, 5 * HOUR + 1, 5 * HOUR - MINUTE);
        assert_eq!(plan, Plan { runs: false, next_run: Some(5 * HOUR) });
        let plan = hourly(Missed::Skip, 5 * HOUR, 5 * HOUR + 1, 5 * HOUR - MINUTE);
        assert_eq!(plan, Plan { runs: true, next_run: Some(6 * HOUR) });
    }

    #[test]
    fn a_start_just_after_the_instant_still_makes_the_run() {
        let plan = hourly(Missed::Skip, HOUR, HOUR + 1_500, HOUR + 1_000);
        assert_eq!(plan, Plan { runs: true, next_run: Some(2 * HOUR) });
    }

    #[test]
    fn a_store_that_was_away_while_we_watched_costs_no_run_and_makes_no_burst() {
        let plan = hourly(Missed::Skip, HOUR, 3 * HOUR + MINUTE, 0);
        assert_eq!(plan, Plan { runs: true, next_run: Some(4 * HOUR) });
    }

    #[test]
    fn a_schedule_by_the_second_makes_each_run_within_the_lag() {
        let recurrence = Recurrence::parse("* * * * * *", "UTC", 0).expect("legal");
        let plan = plan(&recurrence, Missed::Skip, 10_000, 11_900, 0);
        assert_eq!(plan, Plan { runs: true, next_run: Some(11_000) });
    }

    #[test]
    fn a_rule_that_has_ended_is_due_no_more() {
        let recurrence = Recurrence::parse("DTSTART:19700101T010000 RRULE:FREQ=HOURLY;COUNT=1", "UTC", 0);
        let plan = plan(&recurrence.expect("legal"), Missed::Skip, HOUR, HOUR, 0);
        assert_eq!(plan, Plan { runs: true, next_run: None });
    }
}
