//! Schedules: put, list, get, delete and run, both directions (contract/http-queue.md, "Schedules").

mod fields;
mod operations;

use std::time::Duration;

use crate::contract::{Method, Missed, limits};
use crate::destination::Destination;
use crate::duration;
use crate::ids::Name;
use crate::input::InvalidInput;
use crate::publish::ForwardedHeaders;

pub use operations::{
    DeleteSchedule, GetSchedule, ListSchedules, PutSchedule, RunSchedule, ScheduleInfo, SchedulePut,
    ScheduleRun,
};

/// A URL that is called on a schedule, through a queue, like a publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// What identifies it; putting the same name again changes it.
    pub name: Name,
    /// Five cron fields, six with seconds, `@daily` and the like, or an RRULE.
    pub cron: String,
    /// Where each run goes.
    pub url: Destination,
    /// Method of each run; POST unless set.
    pub method: Method,
    /// Headers of each run, in the order given.
    pub headers: ForwardedHeaders,
    /// Body of each run; empty unless set.
    pub body: String,
    /// IANA name of the zone in which `cron` is read; UTC unless set.
    pub timezone: String,
    /// What becomes of runs that came due while nothing ran.
    pub missed: Missed,
    /// Bound of one attempt; 30 s unless set.
    pub timeout: Duration,
    /// An existing queue; `None` gives the schedule its own.
    pub queue: Option<Name>,
    /// A disabled schedule makes no runs by itself.
    pub enabled: bool,
    /// For people.
    pub description: Option<String>,
    /// Called once when a run fails for good, with the schedule's name as label.
    pub failure_callback: Option<Destination>,
}

impl Schedule {
    /// A schedule with the defaults of the contract.
    ///
    /// # Errors
    /// [`InvalidInput`] naming `name`, `cron` or `url`.
    pub fn new(name: &str, cron: &str, url: &str) -> Result<Self, InvalidInput> {
        let schedule = Self {
            name: Name::parse("name", name)?,
            cron: cron.to_owned(),
            url: Destination::parse("url", url)?,
            method: Method::Post,
            headers: ForwardedHeaders::default(),
            body: String::new(),
            timezone: limits::DEFAULT_TIMEZONE.to_owned(),
            missed: Missed::default(),
            timeout: Duration::from_millis(limits::DEFAULT_TIMEOUT_MS),
            queue: None,
            enabled: true,
            description: None,
            failure_callback: None,
        };
        schedule.check()?;
        Ok(schedule)
    }

    /// Holds the schedule to what can be known without a calendar; whether the expression ever runs
    /// and whether the zone exists, the server says.
    ///
    /// # Errors
    /// [`InvalidInput`] naming the field.
    pub fn check(&self) -> Result<(), InvalidInput> {
        if self.cron.trim().is_empty() {
            return Err(InvalidInput::new("cron", "cron must not be empty"));
        }
        if self.cron.len() > limits::MAX_SCHEDULE_EXPRESSION_BYTES {
            let rule = format!("must be at most {} bytes", limits::MAX_SCHEDULE_EXPRESSION_BYTES);
            return Err(InvalidInput::with_rule("cron", rule, &self.cron));
        }
        if self.timezone.is_empty() {
            return Err(InvalidInput::new("timezone", "timezone must not be empty"));
        }
        if self.body.len() > limits::MAX_BODY_BYTES {
            let message = format!("body must be at most {} bytes", limits::MAX_BODY_BYTES);
            return Err(InvalidInput::new("body", message));
        }
        if self.description.as_ref().is_some_and(|text| text.len() > limits::MAX_DESCRIPTION_BYTES) {
            let message = format!("description must be at most {} bytes", limits::MAX_DESCRIPTION_BYTES);
            return Err(InvalidInput::new("description", message));
        }
        duration::check("timeoutMs", self.timeout, limits::MAX_TIMEOUT_MS)
    }
}
