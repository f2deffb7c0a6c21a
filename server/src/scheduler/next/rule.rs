//! Recurrence rules (RFC 5545 section 3.8.5.3), evaluated on the wall clock of one zone.

use chrono::{DateTime, Datelike, Months, NaiveDate, NaiveDateTime, TimeDelta, Timelike, Utc};
use chrono_tz::Tz;
use chronq::InvalidInput;
use chronq::contract::limits;
use rrule::{Frequency, RRule, RRuleSet, Unvalidated};

use super::{local_of, parse_zone};

/// Most local times that a rule may name in one period: the library holds a period in memory.
const MAX_TIMES_PER_PERIOD: usize = 100_000;

/// Most local times looked at for one answer.
const MAX_ITERATIONS: usize = 250_000;

/// A rule with its start, both on the wall clock.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    start: NaiveDateTime,
    pattern: RRule<Unvalidated>,
    within: Within,
    extra: Vec<NaiveDateTime>,
    except: Vec<NaiveDateTime>,
}

/// Hours and minutes that the library is not asked about: a rule by the minute or second that limits
/// both the day and the hour ends there without a run. Empty lists allow all.
#[derive(Clone, Debug, Default)]
struct Within {
    hours: Vec<u8>,
    minutes: Vec<u8>,
}

impl Within {
    fn allows(&self, local: NaiveDateTime) -> bool {
        let allowed = |list: &[u8], value: u32| {
            list.is_empty() || list.iter().any(|allowed| u32::from(*allowed) == value)
        };
        allowed(&self.hours, local.hour()) && allowed(&self.minutes, local.minute())
    }
}

/// Whether an expression is a rule rather than cron fields.
pub(super) fn looks_like_a_rule(expression: &str) -> bool {
    expression.to_ascii_uppercase().contains("FREQ=")
}

impl Rule {
    /// Reads lines `DTSTART`, `RRULE`, `RDATE`, `EXDATE`, divided by white space or line ends, or a
    /// bare `FREQ=…`. Also answers the zone in which the rule is meant.
    pub(super) fn parse(expression: &str, zone: Tz, created_ms: i64) -> Result<(Self, Tz), InvalidInput> {
        let refuse = |why: &str| {
            InvalidInput::with_rule("cron", format!("must be an RRULE as in RFC 5545 ({why})"), expression)
        };
        let lines = Lines::read(expression).map_err(|why| refuse(&why))?;
        let (start, zone) = if let Some(start) = lines.start {
            read_start(start, zone)?
        } else {
            let created = DateTime::from_timestamp_millis(created_ms).ok_or_else(|| refuse("no start"))?;
            (local_of(created, zone), zone)
        };
        let moment =
            |text: &str| read_local(text, zone).ok_or_else(|| refuse(&format!("\"{text}\" is no date")));
        let extra = lines.extra.iter().map(|text| moment(text)).collect::<Result<_, _>>()?;
        let except = lines.except.iter().map(|text| moment(text)).collect::<Result<_, _>>()?;
        let (pattern, within) = read_rule(&lines.rule, start, zone).map_err(|why| refuse(&why))?;
        Ok((Self { start, pattern, within, extra, except }, zone))
    }

    /// The first local time after `after`, that one excluded.
    pub(super) fn next_local(&self, after: NaiveDateTime) -> Option<NaiveDateTime> {
        let start = pretend_utc(self.start_near(after));
        let rule = self.pattern.clone().validate(start).ok()?;
        let extra = self.extra.iter().copied().map(pretend_utc).collect();
        let except = self.except.iter().copied().map(pretend_utc).collect();
        let set = RRuleSet::new(start).rrule(rule).set_rdates(extra).set_exdates(except).limit();
        (&set)
            .into_iter()
            .take(MAX_ITERATIONS)
            .map(|moment| moment.naive_utc())
            .find(|local| *local > after && (self.within.allows(*local) || self.extra.contains(local)))
    }

    /// A later start with the same runs after `after`, so that a rule which began long ago need not
    /// be played from there. A rule with a count must be.
    fn start_near(&self, after: NaiveDateTime) -> NaiveDateTime {
        let interval = i64::from(self.pattern.get_interval());
        let until = self.pattern.get_until().map_or(after, |until| until.naive_utc().min(after));
        if self.pattern.get_count().is_some() || interval == 0 || until <= self.start {
            return self.start;
        }
        let passed = until - self.start;
        let whole = |period: TimeDelta| {
            let step = period.num_seconds() * interval;
            self.start + TimeDelta::seconds(passed.num_seconds() / step * step)
        };
        match self.pattern.get_freq() {
            Frequency::Secondly => whole(TimeDelta::seconds(1)),
            Frequency::Minutely => whole(TimeDelta::minutes(1)),
            Frequency::Hourly => whole(TimeDelta::hours(1)),
            Frequency::Daily => whole(TimeDelta::days(1)),
            Frequency::Weekly => whole(TimeDelta::weeks(1)),
            Frequency::Monthly => self.months_near(until, interval),
            Frequency::Yearly => self.months_near(until, interval * 12),
        }
    }

    /// The last month that the rule's steps reach before `until` and that has the start's day.
    fn months_near(&self, until: NaiveDateTime, step: i64) -> NaiveDateTime {
        let month = |date: NaiveDateTime| i64::from(date.year()) * 12 + i64::from(date.month0());
        let mut steps = (month(until) - month(self.start)) / step;
        // Day 29 of February is the rarest: eight years apart at most, further with an interval.
        while steps > 0 {
            let months = u32::try_from(steps * step).ok().map(Months::new);
            let moved = months.and_then(|months| self.start.checked_add_months(months));
            match moved.filter(|moved| moved.day() == self.start.day() && *moved <= until) {
                Some(moved) => return moved,
                None => steps -= 1,
            }
        }
        self.start
    }
}

/// The library is given the wall clock as if it were UTC.
fn pretend_utc(local: NaiveDateTime) -> DateTime<rrule::Tz> {
    local.and_utc().with_timezone(&rrule::Tz::UTC)
}

/// The content lines of an expression, not yet read.
#[derive(Default)]
struct Lines<'a> {
    /// What follows the name `DTSTART`, parameters included.
    start: Option<&'a str>,
    rule: String,
    extra: Vec<&'a str>,
    except: Vec<&'a str>,
}

impl<'a> Lines<'a> {
    fn read(expression: &'a str) -> Result<Self, String> {
        let mut lines = Self::default();
        for line in expression.split_ascii_whitespace() {
            let name = line.split([';', ':', '=']).next().unwrap_or_default();
            let rest = &line[name.len()..];
            match name.to_ascii_uppercase().as_str() {
                "DTSTART" if lines.start.is_none() => lines.start = Some(rest),
                "DTSTART" => return Err("two DTSTART".to_owned()),
                "RRULE" => lines.set_rule(rest.strip_prefix(':').ok_or("RRULE takes no parameters")?)?,
                "RDATE" => lines.extra.extend(values(rest)),
                "EXDATE" => lines.except.extend(values(rest)),
                "FREQ" | "INTERVAL" | "COUNT" | "UNTIL" | "WKST" => lines.set_rule(line)?,
                by if by.starts_with("BY") => lines.set_rule(line)?,
                _ => return Err(format!("{name} is not supported")),
            }
        }
        if lines.rule.is_empty() { Err("no RRULE".to_owned()) } else { Ok(lines) }
    }

    fn set_rule(&mut self, text: &str) -> Result<(), String> {
        if !self.rule.is_empty() {
            return Err("more than one rule".to_owned());
        }
        self.rule = text.to_ascii_uppercase();
        Ok(())
    }
}

/// The comma-separated values behind a line's parameters.
fn values(rest: &str) -> impl Iterator<Item = &str> {
    rest.rsplit_once(':').map_or("", |(_, values)| values).split(',')
}

/// Reads `DTSTART`'s remainder: `:20260101T090000`, `:…Z`, `;TZID=Europe/Berlin:…`, `;VALUE=DATE:…`.
fn read_start(rest: &str, zone: Tz) -> Result<(NaiveDateTime, Tz), InvalidInput> {
    let refuse =
        || InvalidInput::with_rule("cron", "must have a DTSTART such as DTSTART:20261201T090000", rest);
    let (parameters, text) = rest.rsplit_once(':').or_else(|| rest.rsplit_once('=')).ok_or_else(refuse)?;
    let named = parameters
        .split(';')
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.eq_ignore_ascii_case("TZID"))
        .map(|(_, value)| parse_zone("cron", value))
        .transpose()?;
    let zone = match (named, text.ends_with(['Z', 'z'])) {
        (Some(named), _) => named,
        (None, true) => Tz::UTC,
        (None, false) => zone,
    };
    Ok((read_local(text, zone).ok_or_else(refuse)?, zone))
}

/// A date or date-time as the wall clock of `zone` shows it; one with `Z` is an instant.
fn read_local(text: &str, zone: Tz) -> Option<NaiveDateTime> {
    let text = text.to_ascii_uppercase();
    if let Some(utc) = text.strip_suffix('Z') {
        let instant: DateTime<Utc> = NaiveDateTime::parse_from_str(utc, "%Y%m%dT%H%M%S").ok()?.and_utc();
        return Some(local_of(instant, zone));
    }
    NaiveDateTime::parse_from_str(&text, "%Y%m%dT%H%M%S")
        .ok()
        .or_else(|| NaiveDate::parse_from_str(&text, "%Y%m%d").ok()?.and_hms_opt(0, 0, 0))
}

/// Reads the rule itself, with `UNTIL` moved to the wall clock, and holds it to the caps.
fn read_rule(text: &str, start: NaiveDateTime, zone: Tz) -> Result<(RRule<Unvalidated>, Within), String> {
    let parts = read_parts(text, zone)?;
    let rule: RRule<Unvalidated> = parts.join(";").parse().map_err(|error| format!("{error}"))?;
    if rule.get_count().is_some_and(|count| count > limits::MAX_SCHEDULE_COUNT) {
        return Err(format!("COUNT must be at most {}", limits::MAX_SCHEDULE_COUNT));
    }
    if rule.get_interval() == 0 {
        return Err("INTERVAL must be at least 1".to_owned());
    }
    let days = match rule.get_freq() {
        Frequency::Yearly => 366,
        Frequency::Monthly => 31,
        Frequency::Weekly => 7,
        Frequency::Daily | Frequency::Hourly | Frequency::Minutely | Frequency::Secondly => 1,
    };
    let many = |list: &[u8]| list.len().max(1);
    let times = many(rule.get_by_hour()) * many(rule.get_by_minute()) * many(rule.get_by_second());
    if days * times > MAX_TIMES_PER_PERIOD {
        return Err(format!("more than {MAX_TIMES_PER_PERIOD} times in one period"));
    }
    // The library's own checks, once, so that they speak at the put and not at a run.
    rule.clone().validate(pretend_utc(start)).map_err(|error| format!("{error}"))?;
    split_off_hours(parts, rule)
}

/// The parts of a rule, `UNTIL` moved to the wall clock.
fn read_parts(text: &str, zone: Tz) -> Result<Vec<String>, String> {
    let read = |part: &str| {
        let (name, value) = part.split_once('=').ok_or_else(|| format!("\"{part}\" has no value"))?;
        if name != "UNTIL" {
            return Ok(part.to_owned());
        }
        let until = read_until(value, zone).ok_or_else(|| format!("UNTIL \"{value}\" is no date"))?;
        Ok(format!("UNTIL={}Z", until.format("%Y%m%dT%H%M%S")))
    };
    text.split(';').filter(|part| !part.is_empty()).map(read).collect()
}

/// See [`Within`].
fn split_off_hours(
    parts: Vec<String>,
    rule: RRule<Unvalidated>,
) -> Result<(RRule<Unvalidated>, Within), String> {
    let taken: &[&str] = match rule.get_freq() {
        Frequency::Minutely => &["BYHOUR="],
        Frequency::Secondly => &["BYHOUR=", "BYMINUTE="],
        _ => return Ok((rule, Within::default())),
    };
    let is_taken = |part: &String| taken.iter().any(|name| part.starts_with(name));
    let names_days = ["BYDAY=", "BYMONTHDAY=", "BYMONTH=", "BYYEARDAY="];
    let limits_days = |part: &String| names_days.iter().any(|name| part.starts_with(name));
    if !parts.iter().any(is_taken) || !parts.iter().any(limits_days) {
        return Ok((rule, Within::default()));
    }
    if rule.get_count().is_some() {
        return Err("COUNT cannot stand with both days and hours by the minute or second".to_owned());
    }
    let minutes = if taken.len() > 1 { rule.get_by_minute().to_vec() } else { Vec::new() };
    let within = Within { hours: rule.get_by_hour().to_vec(), minutes };
    let kept: Vec<String> = parts.into_iter().filter(|part| !is_taken(part)).collect();
    let rule = kept.join(";").parse().map_err(|error| format!("{error}"))?;
    Ok((rule, within))
}

/// `UNTIL`, its own day included where it is only a date.
fn read_until(text: &str, zone: Tz) -> Option<NaiveDateTime> {
    match NaiveDate::parse_from_str(text, "%Y%m%d") {
        Ok(day) => day.and_hms_opt(23, 59, 59),
        Err(_) => read_local(text, zone),
    }
}
