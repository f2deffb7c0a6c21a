//! Schedule, reschedule, cancel, and several of them in one call.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use serde_json::{Map, Value, json};

use crate::contract::{ErrorCode, TimerStatus, limits, paths};
use crate::error::Error;
use crate::ids::escape_segment;
use crate::input::InvalidInput;
use crate::mint::Mint;
use crate::operation::{self, Circumstances, Endpoint, Operation, Parsed};
use crate::retry::Idempotence;

use super::outcome::TimerOutcome;
use super::rules::{self, Delay};

/// What a timer promises: a frame in a queue, not before `delay` from now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTimer {
    /// The queue that the frame will enter; created at fire where it does not exist.
    pub queue: String,
    /// The timer's identity within queue and tenant: scheduling it again replaces it.
    pub timer_key: String,
    /// What the frame will hold, at most 1 MiB.
    pub payload: Bytes,
    /// From now, by the server's clock; negative is due at once.
    pub delay: Delay,
    /// The transaction id that the frame will carry. Where none is given, one is minted once
    /// per call and kept over its retries.
    pub txn: Option<String>,
    /// The partition; `Default` where none is given.
    pub partition: Option<String>,
    /// The payload is a zstd frame.
    pub payload_zstd: bool,
    /// The caller has encrypted the payload; refused where the queue encrypts at rest.
    pub encrypted: bool,
}

impl NewTimer {
    /// A timer with nothing but what it needs.
    pub fn new(
        queue: impl Into<String>,
        timer_key: impl Into<String>,
        payload: impl Into<Bytes>,
        delay: impl Into<Delay>,
    ) -> Self {
        Self {
            queue: queue.into(),
            timer_key: timer_key.into(),
            payload: payload.into(),
            delay: delay.into(),
            txn: None,
            partition: None,
            payload_zstd: false,
            encrypted: false,
        }
    }

    fn mint_txn(&mut self, mint: &mut Mint) {
        if self.txn.is_none() {
            self.txn = Some(mint.uuid_v7());
        }
    }

    fn check(&self, horizon: Option<Duration>) -> Result<(), InvalidInput> {
        check_identity(&self.queue, &self.timer_key)?;
        if let Some(partition) = self.partition.as_deref().filter(|partition| !rules::is_partition(partition))
        {
            let rule = format!("must be 1 to {} bytes without NUL", limits::MAX_PARTITION_BYTES);
            return Err(InvalidInput::with_rule("partition", rule, partition));
        }
        if let Some(horizon) = horizon.filter(|horizon| self.delay.is_beyond(*horizon)) {
            let rule = format!("must be at most {} ms, the horizon", horizon.as_millis());
            return Err(InvalidInput::with_rule("delay", rule, &format!("{} ms", self.delay.millis_json())));
        }
        if let Some(txn) = self.txn.as_deref() {
            check_txn(txn)?;
        }
        if self.payload.len() > limits::MAX_TIMER_PAYLOAD_BYTES {
            let rule = format!("must be at most {} bytes", limits::MAX_TIMER_PAYLOAD_BYTES);
            return Err(InvalidInput::with_rule("payload", rule, &format!("{} bytes", self.payload.len())));
        }
        Ok(())
    }

    fn to_json(&self, op: &str) -> Value {
        let mut fields = Map::new();
        fields.insert("op".to_owned(), op.into());
        fields.insert("queue".to_owned(), self.queue.as_str().into());
        fields.insert("timerKey".to_owned(), self.timer_key.as_str().into());
        fields.insert("delayMs".to_owned(), self.delay.millis_json());
        fields.insert("txn".to_owned(), self.txn.clone().into());
        fields.insert("payload".to_owned(), rules::encode_payload(&self.payload).into());
        if let Some(partition) = &self.partition {
            fields.insert("partition".to_owned(), partition.as_str().into());
        }
        if self.payload_zstd {
            fields.insert("payloadZstd".to_owned(), true.into());
        }
        if self.encrypted {
            fields.insert("encrypted".to_owned(), true.into());
        }
        Value::Object(fields)
    }
}

pub(super) fn check_identity(queue: &str, timer_key: &str) -> Result<(), InvalidInput> {
    check_queue(queue)?;
    if !rules::is_timer_key(timer_key) {
        let rule = format!("must be 1 to {} bytes without NUL", limits::MAX_TIMER_KEY_BYTES);
        return Err(InvalidInput::with_rule("timer_key", rule, timer_key));
    }
    Ok(())
}

pub(crate) fn check_queue(queue: &str) -> Result<(), InvalidInput> {
    if rules::is_queue(queue) {
        return Ok(());
    }
    let rule = format!("must be 1 to {} bytes without NUL", limits::MAX_TIMER_QUEUE_BYTES);
    Err(InvalidInput::with_rule("queue", rule, queue))
}

pub(crate) fn check_txn(txn: &str) -> Result<(), InvalidInput> {
    if rules::is_txn(txn) {
        return Ok(());
    }
    let rule = format!("must be 1 to {} bytes without NUL", limits::MAX_TXN_BYTES);
    Err(InvalidInput::with_rule("txn", rule, txn))
}

/// Puts a timer where there was none; where there was one, it is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The timer.
    pub timer: NewTimer,
    /// The horizon in force, where the caller knows it: checked before the network.
    pub horizon: Option<Duration>,
}

/// The same upsert under the name of the intent. It mints a new `txn`, because it is a new message,
/// and resets the attempt budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reschedule {
    /// The timer.
    pub timer: NewTimer,
    /// The horizon in force, where the caller knows it: checked before the network.
    pub horizon: Option<Duration>,
}

macro_rules! upsert {
    ($name:ident, $op:literal) => {
        impl $name {
            /// The operation, without a known horizon.
            pub const fn new(timer: NewTimer) -> Self {
                Self { timer, horizon: None }
            }
        }

        impl Operation for $name {
            type Output = TimerOutcome;

            /// Safe: the upsert carries its own txn.
            fn idempotence(&self) -> Idempotence {
                Idempotence::Safe
            }

            fn prepare(&mut self, mint: &mut Mint) {
                self.timer.mint_txn(mint);
            }

            fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
                self.timer.check(self.horizon)?;
                post(endpoint, &[self.timer.to_json($op)])
            }

            fn parse(
                &self,
                response: &Response<Bytes>,
                circumstances: Circumstances,
            ) -> Result<Parsed<Self>, Error> {
                let expected = [Expected::upsert(&self.timer)];
                let mut outcomes = read_results(&expected, response, circumstances)?;
                outcomes
                    .pop()
                    .map(Parsed::Done)
                    .ok_or_else(|| Error::protocol("the answer to a timer call holds no result"))
            }
        }
    };
}

upsert!(Schedule, "schedule");
upsert!(Reschedule, "reschedule");

/// Takes a timer back, over the route that no gate may refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancel {
    /// The queue.
    pub queue: String,
    /// The timer's key.
    pub timer_key: String,
    /// The transaction id that the schedule answered: with it, an absent timer can be settled.
    pub txn: Option<String>,
}

impl Operation for Cancel {
    type Output = TimerOutcome;

    /// Safe: but a repetition can read `absent` although the first attempt cancelled; see
    /// [`Absent::after_lost_answer`](super::Absent::after_lost_answer).
    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        check_identity(&self.queue, &self.timer_key)?;
        if let Some(txn) = self.txn.as_deref() {
            check_txn(txn)?;
        }
        let path = timer_path(&self.queue, &self.timer_key);
        let path = operation::with_query(&path, &[("txn", self.txn.as_deref())]);
        endpoint.request(Method::DELETE, &path, Bytes::new())
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        if response.status() != 200 {
            return Err(operation::refusal(response, circumstances));
        }
        let element: Value = operation::read_json("a cancel", response)?;
        Expected::cancel(&self.queue, &self.timer_key).read(&element, circumstances).map(Parsed::Done)
    }
}

/// One operation of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchOperation {
    /// See [`Schedule`].
    Schedule(NewTimer),
    /// See [`Reschedule`].
    Reschedule(NewTimer),
    /// See [`Cancel`]; needs [`TimerBatch::allow_cancel`].
    Cancel(Cancel),
}

impl BatchOperation {
    fn identity(&self) -> (&str, &str) {
        match self {
            Self::Schedule(timer) | Self::Reschedule(timer) => (&timer.queue, &timer.timer_key),
            Self::Cancel(cancel) => (&cancel.queue, &cancel.timer_key),
        }
    }

    fn check(&self, horizon: Option<Duration>) -> Result<(), InvalidInput> {
        match self {
            Self::Schedule(timer) | Self::Reschedule(timer) => timer.check(horizon),
            Self::Cancel(cancel) => {
                check_identity(&cancel.queue, &cancel.timer_key)?;
                cancel.txn.as_deref().map_or(Ok(()), check_txn)
            }
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Schedule(timer) => timer.to_json("schedule"),
            Self::Reschedule(timer) => timer.to_json("reschedule"),
            Self::Cancel(cancel) => {
                let mut fields = json!({"op": "cancel", "queue": cancel.queue, "timerKey": cancel.timer_key});
                if let (Some(txn), Some(fields)) = (&cancel.txn, fields.as_object_mut()) {
                    fields.insert("txn".to_owned(), txn.as_str().into());
                }
                fields
            }
        }
    }

    fn expected(&self) -> Expected<'_> {
        match self {
            Self::Schedule(timer) | Self::Reschedule(timer) => Expected::upsert(timer),
            Self::Cancel(cancel) => Expected::cancel(&cancel.queue, &cancel.timer_key),
        }
    }
}

/// Several operations, applied in order; results keep it. A call holds 256 of them, and each call is
/// one transaction: a longer batch is sent as several, so that a failure in a later one leaves the
/// earlier ones applied (the error says how many).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimerBatch {
    operations: Vec<BatchOperation>,
    allow_cancel: bool,
    horizon: Option<Duration>,
    outcomes: Vec<TimerOutcome>,
}

impl TimerBatch {
    /// A batch without cancels.
    pub const fn new(operations: Vec<BatchOperation>) -> Self {
        Self { operations, allow_cancel: false, horizon: None, outcomes: Vec::new() }
    }

    /// Allows cancels in this batch. A cancel in a batch has chosen the schedule route's
    /// authorization: where scheduling is paused, gated or over quota, the whole batch is refused,
    /// its cancels too, while the timers keep firing. [`Cancel`] takes the route that always works.
    #[must_use]
    pub const fn allow_cancel(mut self) -> Self {
        self.allow_cancel = true;
        self
    }

    /// The horizon in force, where the caller knows it: checked before the network.
    #[must_use]
    pub const fn with_horizon(mut self, horizon: Duration) -> Self {
        self.horizon = Some(horizon);
        self
    }

    fn check(&self) -> Result<(), InvalidInput> {
        let mut seen = HashSet::with_capacity(self.operations.len());
        for (index, operation) in self.operations.iter().enumerate() {
            operation.check(self.horizon).map_err(|error| error.at_index(index))?;
            if matches!(operation, BatchOperation::Cancel(_)) && !self.allow_cancel {
                let message = "cancel in a batch can be refused together with it: cancel by itself, or allow it with allow_cancel";
                return Err(InvalidInput::new("allow_cancel", message).at_index(index));
            }
            if !seen.insert(operation.identity()) {
                let (queue, key) = operation.identity();
                let rule = format!("must not stand twice in a batch for queue \"{queue}\"");
                return Err(InvalidInput::with_rule("timer_key", rule, key).at_index(index));
            }
        }
        Ok(())
    }

    /// The operations of the call at hand.
    fn part(&self) -> &[BatchOperation] {
        let rest = &self.operations[self.outcomes.len().min(self.operations.len())..];
        &rest[..rest.len().min(limits::MAX_TIMER_OPERATIONS)]
    }

    /// A refusal of a later part counts from the part's first operation, and leaves the earlier ones
    /// applied: the sentence says both.
    fn refused(&self, error: Error) -> Error {
        let done = self.outcomes.len();
        if done == 0 {
            return error;
        }
        let code = error.code().parse().unwrap_or(ErrorCode::Protocol);
        let message = format!("{error} (counted from operation {done}; the {done} before it were applied)");
        let context = error.context().clone();
        Error::new(error.kind().clone(), code, message).with_context(|new| *new = context)
    }
}

impl Operation for TimerBatch {
    type Output = Vec<TimerOutcome>;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn prepare(&mut self, mint: &mut Mint) {
        for operation in &mut self.operations {
            if let BatchOperation::Schedule(timer) | BatchOperation::Reschedule(timer) = operation {
                timer.mint_txn(mint);
            }
        }
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        if self.outcomes.is_empty() {
            self.check()?;
        }
        post(endpoint, &self.part().iter().map(BatchOperation::to_json).collect::<Vec<_>>())
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        let expected: Vec<_> = self.part().iter().map(BatchOperation::expected).collect();
        let part = read_results(&expected, response, circumstances).map_err(|error| self.refused(error))?;
        let mut outcomes = self.outcomes.clone();
        outcomes.extend(part);
        if outcomes.len() >= self.operations.len() {
            return Ok(Parsed::Done(outcomes));
        }
        Ok(Parsed::Next(Box::new(Self { outcomes, ..self.clone() })))
    }
}

/// `{TIMERS}/{queue}/{key}`, each escaped whole: no key can name another route.
pub(super) fn timer_path(queue: &str, timer_key: &str) -> String {
    format!("{}/{}/{}", paths::TIMERS, escape_segment(queue), escape_segment(timer_key))
}

fn post(endpoint: &Endpoint, operations: &[Value]) -> Result<Request<Bytes>, Error> {
    endpoint.json_request(Method::POST, paths::TIMERS, &json!({ "operations": operations }))
}

/// What an element must be about, and the statuses that can answer the operation.
struct Expected<'a> {
    queue: &'a str,
    timer_key: &'a str,
    statuses: &'static [TimerStatus],
}

impl<'a> Expected<'a> {
    /// Neither schedule nor reschedule ever answers `absent`.
    fn upsert(timer: &'a NewTimer) -> Self {
        const STATUSES: &[TimerStatus] =
            &[TimerStatus::Scheduled, TimerStatus::Rescheduled, TimerStatus::TooLate];
        Self { queue: &timer.queue, timer_key: &timer.timer_key, statuses: STATUSES }
    }

    fn cancel(queue: &'a str, timer_key: &'a str) -> Self {
        const STATUSES: &[TimerStatus] = &[TimerStatus::Cancelled, TimerStatus::Absent, TimerStatus::TooLate];
        Self { queue, timer_key, statuses: STATUSES }
    }

    fn read(&self, element: &Value, circumstances: Circumstances) -> Result<TimerOutcome, Error> {
        let outcome = TimerOutcome::from_element(element, circumstances)?;
        if outcome.subject() != (self.queue, self.timer_key) {
            return Err(Error::protocol("a timer's result is about another timer than the one asked for"));
        }
        if !self.statuses.contains(&outcome.status()) {
            let message = format!("{} cannot be the result of this timer operation", outcome.status());
            return Err(Error::protocol(message));
        }
        Ok(outcome)
    }
}

fn read_results(
    expected: &[Expected<'_>],
    response: &Response<Bytes>,
    circumstances: Circumstances,
) -> Result<Vec<TimerOutcome>, Error> {
    #[derive(serde::Deserialize)]
    struct Results {
        results: Vec<Value>,
    }

    if response.status() != 200 {
        return Err(operation::refusal(response, circumstances));
    }
    let Results { results } = operation::read_json("a timer call", response)?;
    if results.len() != expected.len() {
        return Err(Error::protocol(format!(
            "the answer holds {} results for {} timer operations",
            results.len(),
            expected.len()
        )));
    }
    expected.iter().zip(&results).map(|(expected, element)| expected.read(element, circumstances)).collect()
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
