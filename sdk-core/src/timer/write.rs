//! Schedule, reschedule, cancel, and several of them in one call.

use std::time::Duration;

use bytes::Bytes;

use crate::contract::{ErrorCode, Method, TimerStatus, limits, paths};
use crate::error::Error;
use crate::ids::escape_segment;
use crate::input::InvalidInput;
use crate::json::Json;
use crate::json::shape::{Shape, required};
use crate::mint::Mint;
use crate::operation::{self, Circumstances, Endpoint, Operation};
use crate::retry::Idempotence;
use crate::wire::{Request, Response};

use super::outcome::{self, TimerOutcome};
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
            let rule = format!("must be at most {} ms, the horizon", crate::duration::millis(horizon));
            return Err(InvalidInput::with_rule("delay", rule, &format!("{} ms", self.delay.to_json())));
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

    fn to_json(&self, op: &str) -> Json {
        let mut timer = Json::object_of_given([
            ("op", op.into()),
            ("queue", self.queue.as_str().into()),
            ("timerKey", self.timer_key.as_str().into()),
            ("delayMs", self.delay.to_json()),
            ("txn", self.txn.as_deref().into()),
            ("payload", rules::encode_payload(&self.payload).into()),
            ("partition", self.partition.as_deref().into()),
        ]);
        for (name, is_set) in [("payloadZstd", self.payload_zstd), ("encrypted", self.encrypted)] {
            if is_set {
                timer.put(name, true);
            }
        }
        timer
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

            fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
                self.timer.check(self.horizon)?;
                Ok(post(endpoint, vec![self.timer.to_json($op)]))
            }

            fn answer(
                &mut self,
                response: &Response,
                circumstances: Circumstances,
            ) -> Result<Option<Json>, Error> {
                let mut outcomes = read_results(&[Expected::upsert(&self.timer)], response, circumstances)?;
                outcomes
                    .pop()
                    .map(Some)
                    .ok_or_else(|| Error::protocol("the answer to a timer call holds no result"))
            }

            fn output(answer: Json) -> Result<Self::Output, Error> {
                TimerOutcome::of(&answer)
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

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        check_identity(&self.queue, &self.timer_key)?;
        if let Some(txn) = self.txn.as_deref() {
            check_txn(txn)?;
        }
        let path = timer_path(&self.queue, &self.timer_key);
        let path = operation::with_query(&path, &[("txn", self.txn.as_deref())]);
        Ok(endpoint.request(Method::Delete, &path, Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        if response.status != 200 {
            return Err(operation::refusal(response, circumstances));
        }
        let element = operation::read("a cancel", &Shape::Any, response)?;
        Expected::cancel(&self.queue, &self.timer_key).read(element, circumstances).map(Some)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        TimerOutcome::of(&answer)
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

    fn to_json(&self) -> Json {
        match self {
            Self::Schedule(timer) => timer.to_json("schedule"),
            Self::Reschedule(timer) => timer.to_json("reschedule"),
            Self::Cancel(cancel) => Json::object_of_given([
                ("op", "cancel".into()),
                ("queue", cancel.queue.as_str().into()),
                ("timerKey", cancel.timer_key.as_str().into()),
                ("txn", cancel.txn.as_deref().into()),
            ]),
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
    outcomes: Vec<Json>,
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
        let mut seen = Seen::of(self.operations.len());
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

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        if self.outcomes.is_empty() {
            self.check()?;
        }
        Ok(post(endpoint, self.part().iter().map(BatchOperation::to_json).collect()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        let expected: Vec<_> = self.part().iter().map(BatchOperation::expected).collect();
        let part = read_results(&expected, response, circumstances).map_err(|error| self.refused(error))?;
        self.outcomes.extend(part);
        let is_over = self.outcomes.len() >= self.operations.len();
        Ok(is_over.then(|| std::mem::take(&mut self.outcomes).into()))
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        let Json::List(outcomes) = answer else { return Err(Error::protocol("a batch answers a list")) };
        outcomes.iter().map(TimerOutcome::of).collect()
    }
}

/// The timers that a batch has named so far. A set of the standard library would bring its hash function along.
struct Seen<'a>(Vec<Vec<(&'a str, &'a str)>>);

impl<'a> Seen<'a> {
    fn of(count: usize) -> Self {
        Self(vec![Vec::new(); count.max(1)])
    }

    /// Whether it is the first with this identity. Buckets are found by FNV-1a: who makes them collide waits
    /// for his own batch.
    fn insert(&mut self, identity: (&'a str, &'a str)) -> bool {
        let bytes = identity.0.bytes().chain([0]).chain(identity.1.bytes());
        let hash =
            bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let count = self.0.len();
        let bucket = usize::try_from(hash).ok().and_then(|hash| self.0.get_mut(hash % count));
        bucket.is_some_and(|bucket| {
            let is_new = !bucket.contains(&identity);
            bucket.push(identity);
            is_new
        })
    }
}

/// `{TIMERS}/{queue}/{key}`, each escaped whole: no key can name another route.
pub(super) fn timer_path(queue: &str, timer_key: &str) -> String {
    [paths::TIMERS, "/", &escape_segment(queue), "/", &escape_segment(timer_key)].concat()
}

fn post(endpoint: &Endpoint, operations: Vec<Json>) -> Request {
    endpoint.json_request(Method::Post, paths::TIMERS, &Json::object([("operations", operations.into())]))
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

    fn read(&self, element: Json, circumstances: Circumstances) -> Result<Json, Error> {
        let element = outcome::read_element(element, circumstances)?;
        if (element.text("queue"), element.text("timerKey")) != (Some(self.queue), Some(self.timer_key)) {
            return Err(Error::protocol("a timer's result is about another timer than the one asked for"));
        }
        let status = outcome::status_of(&element)?;
        if !self.statuses.contains(&status) {
            let message = [status.as_str(), " cannot be the result of this timer operation"].concat();
            return Err(Error::protocol(message));
        }
        Ok(element)
    }
}

static RESULTS: Shape = Shape::Object(&[required("results", Shape::List(&Shape::Any))]);

fn read_results(
    expected: &[Expected<'_>],
    response: &Response,
    circumstances: Circumstances,
) -> Result<Vec<Json>, Error> {
    if response.status != 200 {
        return Err(operation::refusal(response, circumstances));
    }
    let answer = operation::read("a timer call", &RESULTS, response)?;
    let results =
        if let Some(Json::List(results)) = answer.get("results") { results.as_slice() } else { &[] };
    if results.len() != expected.len() {
        return Err(Error::protocol(format!(
            "the answer holds {} results for {} timer operations",
            results.len(),
            expected.len()
        )));
    }
    let pairs = expected.iter().zip(results);
    pairs.map(|(expected, element)| expected.read(element.clone(), circumstances)).collect()
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
