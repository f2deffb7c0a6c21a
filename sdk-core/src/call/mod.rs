//! Every call behind one door, for bindings: a closed enum of calls read from JSON, a closed enum of
//! answers written as JSON, and the exchange between them.
//!
//! A binding converts its language's arguments to JSON, drives the exchange, and converts the answer
//! back. Option names in the JSON, and so in errors, are spelled in the language's case ([`Spelling`]).

mod bridge;
mod fields;
mod read;
mod receiver;
mod schedules;
mod timers;

use bytes::Bytes;
use http::{Request, Response};

pub use bridge::{ClientConfig, Session, error_to_json};
pub use fields::{Fields, Spelling};
pub use receiver::{ReceiverOptions, body_value, moment, outcome_to_text, refusal_to_text, signature_value};

use crate::batch::Batch;
use crate::error::Error;
use crate::group::{ChangeEndpoints, DeleteGroup, GetGroup, ListGroups, PublishToGroup};
use crate::log::{Ack, Configure, Find, Pop, Push};
use crate::message::{CancelMessage, GetMessage, ListEvents, RetryMessage};
use crate::mint::Mint;
use crate::operation::{Circumstances, Endpoint, Operation, Parsed};
use crate::publish::Publish;
use crate::queue::{DeleteQueue, GetQueue, ListQueues, PutQueue};
use crate::retry::Idempotence;
use crate::schedule::{DeleteSchedule, GetSchedule, ListSchedules, PutSchedule, RunSchedule};
use crate::timer::{Cancel, List, Peek, Reschedule, Schedule, Settle, TimerBatch};

/// Declares [`Call`] and [`Answer`]: one variant per operation, with the name it has in JSON.
macro_rules! calls {
    ( $( $(#[$meta:meta])* $variant:ident($operation:ty) => $name:literal, )+ ) => {
        /// One call of the API, whichever.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Call { $( $(#[$meta])* $variant($operation), )+ }

        /// What a call answers, whichever it was.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Answer { $( $(#[$meta])* $variant(<$operation as Operation>::Output), )+ }

        /// The name of each call in JSON.
        pub const CALL_NAMES: &[&str] = &[$($name,)+];

        impl Call {
            /// The name of this call in JSON.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)+ }
            }
        }

        impl Operation for Call {
            type Output = Answer;

            fn idempotence(&self) -> Idempotence {
                match self { $(Self::$variant(operation) => operation.idempotence(),)+ }
            }

            fn prepare(&mut self, mint: &mut Mint) {
                match self { $(Self::$variant(operation) => operation.prepare(mint),)+ }
            }

            fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
                match self { $(Self::$variant(operation) => operation.request(endpoint),)+ }
            }

            fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
                match self {
                    $(Self::$variant(operation) => Ok(match operation.parse(response, circumstances)? {
                        Parsed::Done(output) => Parsed::Done(Answer::$variant(output)),
                        Parsed::Next(next) => Parsed::Next(Box::new(Self::$variant(*next))),
                    }),)+
                }
            }
        }

        $(impl From<$operation> for Call {
            fn from(operation: $operation) -> Self { Self::$variant(operation) }
        })+
    };
}

calls! {
    /// Publishes one message.
    Publish(Publish) => "publish",
    /// Publishes to a URL group.
    PublishToGroup(PublishToGroup) => "publish_to_group",
    /// Publishes several messages.
    Batch(Batch) => "batch",
    /// Looks a message up.
    GetMessage(GetMessage) => "messages.get",
    /// Takes a message back.
    CancelMessage(CancelMessage) => "messages.cancel",
    /// Gives a failed message one more attempt.
    RetryMessage(RetryMessage) => "messages.retry",
    /// Reads the event log.
    ListEvents(ListEvents) => "messages.events",
    /// Lists URL groups.
    ListGroups(ListGroups) => "groups.list",
    /// Reads a URL group.
    GetGroup(GetGroup) => "groups.get",
    /// Adds or removes endpoints of a URL group.
    ChangeEndpoints(ChangeEndpoints) => "groups.change_endpoints",
    /// Deletes a URL group.
    DeleteGroup(DeleteGroup) => "groups.delete",
    /// Makes or changes a queue.
    PutQueue(PutQueue) => "queues.put",
    /// Lists queues.
    ListQueues(ListQueues) => "queues.list",
    /// Reads a queue.
    GetQueue(GetQueue) => "queues.get",
    /// Deletes a queue.
    DeleteQueue(DeleteQueue) => "queues.delete",
    /// Makes or changes a schedule.
    PutSchedule(PutSchedule) => "schedules.put",
    /// Lists schedules.
    ListSchedules(ListSchedules) => "schedules.list",
    /// Reads a schedule.
    GetSchedule(GetSchedule) => "schedules.get",
    /// Deletes a schedule.
    DeleteSchedule(DeleteSchedule) => "schedules.delete",
    /// Makes one run of a schedule now.
    RunSchedule(RunSchedule) => "schedules.run",
    /// Schedules a timer.
    Schedule(Schedule) => "timers.schedule",
    /// Replaces a timer.
    Reschedule(Reschedule) => "timers.reschedule",
    /// Takes a timer back.
    Cancel(Cancel) => "timers.cancel",
    /// Several operations on timers.
    TimerBatch(TimerBatch) => "timers.batch",
    /// Looks at one timer.
    Peek(Peek) => "timers.peek",
    /// One page of a queue's timers; `nextAfter` is the next one's `after`.
    ListTimers(List) => "timers.list",
    /// Asks the log what became of an absent timer.
    Settle(Settle) => "timers.settle",
    /// Looks a transaction id up in the log.
    Find(Find) => "log.find",
    /// Takes messages of the log under a lease.
    Pop(Pop) => "log.pop",
    /// Settles a message of the log.
    Ack(Ack) => "log.ack",
    /// Appends to the log.
    Push(Push) => "log.push",
    /// Sets the options of a queue of the log.
    Configure(Configure) => "log.configure",
}

impl Answer {
    /// The answer as JSON, in the wire's shapes (camelCase); `null` where there is nothing to say.
    ///
    /// # Errors
    /// A protocol error where a value has no JSON form; none of the contract's has that.
    pub fn to_json(&self) -> Result<serde_json::Value, Error> {
        let value = match self {
            Self::Publish(published) => serde_json::to_value(published),
            Self::PublishToGroup(copies) => serde_json::to_value(copies),
            Self::Batch(results) => Ok(crate::batch::results_to_json(results)),
            Self::GetMessage(message) => serde_json::to_value(message),
            Self::ListEvents(events) => serde_json::to_value(events),
            Self::ListGroups(groups) => serde_json::to_value(groups),
            Self::GetGroup(group) | Self::ChangeEndpoints(group) => serde_json::to_value(group),
            Self::ListQueues(queues) => serde_json::to_value(queues),
            Self::PutQueue(queue) | Self::GetQueue(queue) => serde_json::to_value(queue),
            Self::CancelMessage(())
            | Self::RetryMessage(())
            | Self::DeleteGroup(())
            | Self::DeleteQueue(())
            | Self::DeleteSchedule(()) => Ok(serde_json::Value::Null),
            Self::PutSchedule(put) => serde_json::to_value(put),
            Self::ListSchedules(schedules) => serde_json::to_value(schedules),
            Self::GetSchedule(schedule) => serde_json::to_value(schedule),
            Self::RunSchedule(run) => serde_json::to_value(run),
            Self::Schedule(outcome) | Self::Reschedule(outcome) | Self::Cancel(outcome) => {
                timers::outcome_to_json(outcome)
            }
            Self::TimerBatch(outcomes) => {
                outcomes.iter().map(timers::outcome_to_json).collect::<Result<Vec<_>, _>>().map(Into::into)
            }
            Self::Peek(timer) => serde_json::to_value(timer),
            Self::ListTimers(page) => serde_json::to_value(page),
            Self::Settle(settled) => Ok(timers::settled_to_json(settled)),
            Self::Find(messages) => serde_json::to_value(messages),
            Self::Pop(popped) => serde_json::to_value(popped),
            Self::Ack(result) => serde_json::to_value(result),
            Self::Push(pushed) => serde_json::to_value(pushed),
            Self::Configure(configured) => serde_json::to_value(configured),
        };
        value.map_err(|error| Error::protocol(format!("the answer cannot be written as JSON: {error}")))
    }
}
