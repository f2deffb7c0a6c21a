//! When a schedule runs next. Pure: instants are arguments, unix milliseconds.
//!
//! An expression is evaluated on the wall clock alone, as if the zone had no changes; each local time
//! it names is then mapped to one instant. A local time that a DST change skips maps to the first
//! instant after the gap, one that a change repeats to its first pass (contract/http-queue.md,
//! "Schedules"). So no run is lost or made twice, whatever the expression.

mod rule;

use chrono::{DateTime, NaiveDateTime, TimeDelta, TimeZone, Timelike, Utc, offset::LocalResult};
use chrono_tz::{GapInfo, Tz};
use chronq::InvalidInput;
use chronq::contract::limits;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

use rule::Rule;

/// Local times looked at for one answer. A change repeats a day at most, 86,400 local seconds; beyond
/// that, no occurrence is near.
const MAX_LOCAL_TIMES: u32 = 100_000;

/// What a schedule's expression means.
#[derive(Clone, Debug)]
pub struct Recurrence {
    expression: Expression,
    zone: Tz,
}

#[derive(Clone, Debug)]
enum Expression {
    Cron(Box<Cron>),
    Rule(Box<Rule>),
}

impl Recurrence {
    /// Reads an expression: five cron fields, six with seconds, `@daily` and the like, or an RRULE.
    /// A bare `FREQ=…` counts from `created_ms`. A rule whose `DTSTART` names a zone of its own
    /// (`TZID`, or `Z` for UTC) is read in that one.
    ///
    /// # Errors
    /// [`InvalidInput`] naming `cron` or `timezone`.
    pub fn parse(expression: &str, timezone: &str, created_ms: i64) -> Result<Self, InvalidInput> {
        let zone = parse_zone("timezone", timezone)?;
        if expression.len() > limits::MAX_SCHEDULE_EXPRESSION_BYTES {
            let rule = format!("must be at most {} bytes", limits::MAX_SCHEDULE_EXPRESSION_BYTES);
            return Err(InvalidInput::with_rule("cron", rule, expression));
        }
        if rule::looks_like_a_rule(expression) {
            let (rule, zone) = Rule::parse(expression, zone, created_ms)?;
            return Ok(Self { expression: Expression::Rule(Box::new(rule)), zone });
        }
        let cron = parse_cron(expression)?;
        Ok(Self { expression: Expression::Cron(Box::new(cron)), zone })
    }

    /// The first run after `after_ms`, that instant excluded; `None` once there is none.
    pub fn next_after(&self, after_ms: i64) -> Option<i64> {
        let after = DateTime::from_timestamp_millis(after_ms)?;
        let mut local = after.with_timezone(&self.zone).naive_local().with_nanosecond(0)?;
        for _ in 0..MAX_LOCAL_TIMES {
            local = self.next_local(local)?;
            let instant = instant_of(local, self.zone)?.timestamp_millis();
            // Not so in the second pass of a repeated hour: its local times ran in the first.
            if instant > after_ms {
                return Some(instant);
            }
        }
        None
    }

    fn next_local(&self, after: NaiveDateTime) -> Option<NaiveDateTime> {
        match &self.expression {
            Expression::Cron(cron) => {
                cron.find_next_occurrence(&after.and_utc(), false).ok().map(|next| next.naive_utc())
            }
            Expression::Rule(rule) => rule.next_local(after),
        }
    }
}

/// The one instant at which a local time runs.
fn instant_of(local: NaiveDateTime, zone: Tz) -> Option<DateTime<Utc>> {
    match zone.from_local_datetime(&local) {
        LocalResult::Single(instant) | LocalResult::Ambiguous(instant, _) => Some(instant.to_utc()),
        LocalResult::None => GapInfo::new(&local, &zone)?.end.map(|end| end.to_utc()),
    }
}

/// The local time of an instant, to the second.
fn local_of(instant: DateTime<Utc>, zone: Tz) -> NaiveDateTime {
    let local = instant.with_timezone(&zone).naive_local();
    local - TimeDelta::nanoseconds(i64::from(local.nanosecond()))
}

fn parse_zone(option: &str, name: &str) -> Result<Tz, InvalidInput> {
    name.parse()
        .map_err(|_| InvalidInput::with_rule(option, "must be an IANA name such as America/Chicago", name))
}

fn parse_cron(expression: &str) -> Result<Cron, InvalidInput> {
    let refuse = |why: &str| {
        let rule = format!(
            "must be five cron fields, six with seconds, a nickname such as @daily, or an RRULE ({why})"
        );
        InvalidInput::with_rule("cron", rule, expression)
    };
    // Nicknames that cron(8) has and the parser lacks, spelled as it spells the others.
    let pattern = if expression.trim().eq_ignore_ascii_case("@midnight") { "@daily" } else { expression };
    let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
    parser.parse(pattern).map_err(|error| refuse(&error.to_string()))
}

#[cfg(test)]
mod tests;
