//! Every call behind one door, for bindings: a closed enum of calls read from JSON, their answers as JSON, and the
//! exchange between them.
//!
//! A binding converts its language's arguments to JSON, drives the exchange, and converts the answer
//! back. Option names in the JSON, and so in errors, are spelled in the language's case ([`Spelling`]).

mod bridge;
mod fields;
mod read;
mod receiver;
mod schedules;
mod timers;

pub use bridge::{ClientConfig, Session, error_to_json};
pub use fields::{Fields, Spelling};
pub use receiver::{ReceiverOptions, body_value, moment, outcome_to_text, refusal_to_text, signature_value};

use crate::batch::Batch;
use crate::error::Error;
use crate::group::{ChangeEndpoints, DeleteGroup, GetGroup, ListGroups, PublishToGroup};
use crate::json::Json;
use crate::log::{Ack, Configure, Find, Pop, Push};
use crate::message::{CancelMessage, GetMessage, ListEvents, RetryMessage};
use crate::mint::Mint;
use crate::operation::{Circumstances, Endpoint, Operation};
use crate::publish::Publish;
use crate::queue::{DeleteQueue, GetQueue, ListQueues, PutQueue};
use crate::retry::Idempotence;
use crate::schedule::{DeleteSchedule, GetSchedule, ListSchedules, PutSchedule, RunSchedule};
use crate::timer::{Cancel, List, Peek, Reschedule, Schedule, Settle, TimerBatch};
use crate::wire::{Request, Response};

/// Declares [`Call`]: one variant per operation, with the name it has in JSON.
macro_rules! calls {
    ( $( $(#[$meta:meta])* $variant:ident($operation:ty) => $name:literal, )+ ) => {
        /// One call of the API, whichever.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Call { $( $(#[$meta])* $variant($operation), )+ }

        /// The name of each call in JSON.
        pub const CALL_NAMES: &[&str] = &[$($name,)+];

        impl Call {
            /// The name of this call in JSON.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)+ }
            }
        }

        impl Operation for Call {
            type Output = Json;

            fn idempotence(&self) -> Idempotence {
                match self { $(Self::$variant(operation) => operation.idempotence(),)+ }
            }

            fn prepare(&mut self, mint: &mut Mint) {
                match self { $(Self::$variant(operation) => operation.prepare(mint),)+ }
            }

            fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
                match self { $(Self::$variant(operation) => operation.request(endpoint),)+ }
            }

            fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
                match self { $(Self::$variant(operation) => operation.answer(response, circumstances),)+ }
            }

            /// The wire's shapes (camelCase); `null` where there is nothing to say.
            fn output(answer: Json) -> Result<Json, Error> {
                Ok(answer)
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
