//! The calls by groups (contract/sdk.md, "Client"), declared once: the async and the blocking client
//! spell each in their own way.

/// Hands every call to `$emit!`, with what builds its operation.
macro_rules! with_calls {
    ($emit:ident) => {
        $emit! {
            Client {
                /// Publishes one message to a URL, byte for byte as written. Safe to repeat: without a
                /// deduplication id one is minted, the same for every attempt of this call.
                fn publish(destination: &str, content: Content, options: PublishOptions) -> Published {
                    Ok(Publish { destination: Destination::parse("destination", destination)?, content, options })
                }

                /// Publishes one message to every URL of a group; one answer per URL.
                fn publish_to_group(group: &str, content: Content, options: PublishOptions) -> Vec<PublishedCopy> {
                    Ok(PublishToGroup { group: Name::parse("group", group)?, content, options })
                }

                /// Publishes up to a hundred messages in one request; one result per entry, in order.
                fn batch(entries: Vec<Publish>) -> Vec<EntryResult> {
                    Ok(Batch { entries })
                }
            }

            /// Calls on messages.
            messages: Messages {
                /// Looks a message up.
                fn get(id: &str) -> Message {
                    Ok(GetMessage { id: MessageId::new(id)? })
                }

                /// Takes a message back before its next attempt. One that is already over is a
                /// [`Conflict`](crate::ErrorKind::Conflict) with its state.
                fn cancel(id: &str) -> () {
                    Ok(CancelMessage { id: MessageId::new(id)? })
                }

                /// Gives a failed message one more attempt.
                fn retry(id: &str) -> () {
                    Ok(RetryMessage { id: MessageId::new(id)? })
                }

                /// Reads a page of the event log, newest first.
                fn events(filter: ListEvents) -> Events {
                    Ok(filter)
                }
            }

            /// Calls on URL groups.
            groups: Groups {
                /// Lists the groups by name.
                fn list() -> Vec<Group> {
                    Ok(ListGroups)
                }

                /// Reads one group.
                fn get(name: &str) -> Group {
                    Ok(GetGroup { name: Name::parse("name", name)? })
                }

                /// Adds URLs; the group is made where it is missing.
                fn add_endpoints(name: &str, urls: &[&str]) -> Group {
                    change_endpoints(name, EndpointChange::Add, urls)
                }

                /// Removes URLs; the group stays, even empty.
                fn remove_endpoints(name: &str, urls: &[&str]) -> Group {
                    change_endpoints(name, EndpointChange::Remove, urls)
                }

                /// Deletes a group; messages already queued still go.
                fn delete(name: &str) -> () {
                    Ok(DeleteGroup { name: Name::parse("name", name)? })
                }
            }

            /// Calls on queues.
            queues: Queues {
                /// Makes or changes a queue; what is not given keeps its value.
                fn put(name: &str, settings: QueueSettings) -> Queue {
                    Ok(PutQueue { name: Name::parse("name", name)?, settings })
                }

                /// Lists the queues by name.
                fn list() -> Vec<Queue> {
                    Ok(ListQueues)
                }

                /// Reads one queue.
                fn get(name: &str) -> Queue {
                    Ok(GetQueue { name: Name::parse("name", name)? })
                }

                /// Deletes a queue with all its messages.
                fn delete(name: &str) -> () {
                    Ok(DeleteQueue { name: Name::parse("name", name)? })
                }
            }

            /// Calls on schedules.
            schedules: Schedules {
                /// Makes or changes a schedule: what is left out falls back to its default.
                fn put(schedule: Schedule) -> SchedulePut {
                    Ok(PutSchedule { schedule })
                }

                /// Lists the schedules by name.
                fn list() -> Vec<ScheduleInfo> {
                    Ok(ListSchedules)
                }

                /// Reads one schedule.
                fn get(name: &str) -> ScheduleInfo {
                    Ok(GetSchedule { name: Name::parse("name", name)? })
                }

                /// Deletes a schedule; messages of its earlier runs stay.
                fn delete(name: &str) -> () {
                    Ok(DeleteSchedule { name: Name::parse("name", name)? })
                }

                /// Makes one run now.
                fn run(name: &str) -> ScheduleRun {
                    Ok(RunSchedule { name: Name::parse("name", name)? })
                }
            }

            /// Calls on timers.
            timers: Timers {
                /// Puts a timer; where one stands under the same key, it is replaced.
                fn schedule(timer: NewTimer) -> TimerOutcome {
                    Ok(timer::Schedule::new(timer))
                }

                /// The same upsert under the name of the intent.
                fn reschedule(timer: NewTimer) -> TimerOutcome {
                    Ok(Reschedule::new(timer))
                }

                /// Takes a timer back. Absent is no proof that it was not delivered: see
                /// [`Absent::settle`](crate::timer::Absent::settle).
                fn cancel(queue: &str, timer_key: &str, txn: Option<&str>) -> TimerOutcome {
                    Ok(Cancel { queue: queue.to_owned(), timer_key: timer_key.to_owned(), txn: txn.map(str::to_owned) })
                }

                /// Several operations in order; a long batch is sent as several calls.
                fn batch(batch: TimerBatch) -> Vec<TimerOutcome> {
                    Ok(batch)
                }

                /// One pending timer with its payload, or none.
                fn peek(queue: &str, timer_key: &str) -> Option<PeekedTimer> {
                    Ok(Peek { queue: queue.to_owned(), timer_key: timer_key.to_owned() })
                }

                /// Asks the log what became of an absent timer; `since` bounds the search.
                fn settle(absent: &Absent, since: Option<Instant>) -> Settled {
                    absent.settle(since).map_err(Error::from)
                }
            }

            /// Calls on the log.
            log: Log {
                /// The messages of a queue that carry a transaction id, oldest first.
                fn find(queue: &str, txn: &str, since: Option<Instant>) -> Vec<LogMessage> {
                    Ok(Find { queue: queue.to_owned(), txn: txn.to_owned(), since })
                }

                /// Takes messages under a lease; none where there is nothing to take.
                fn pop(pop: Pop) -> Option<Popped> {
                    Ok(pop)
                }

                /// Settles one message under its lease.
                fn ack(message: &PoppedMessage, status: AckStatus) -> AckResult {
                    Ok(Ack::of(message, status))
                }

                /// Appends messages. Not repeated after a lost answer: the log takes a transaction id
                /// twice.
                fn push(items: Vec<PushItem>) -> Vec<Pushed> {
                    Ok(Push { items })
                }

                /// Sets a queue's options; it is made where it does not exist.
                fn configure(queue: Configure) -> Configured {
                    Ok(queue)
                }
            }
        }
    };
}

pub(super) use with_calls;

/// What the bodies above are written with.
pub(super) mod prelude {
    pub(in crate::client) use crate::batch::{Batch, EntryResult};
    pub(in crate::client) use crate::destination::Destination;
    pub(in crate::client) use crate::error::Error;
    pub(in crate::client) use crate::group::{
        ChangeEndpoints, DeleteGroup, EndpointChange, GetGroup, Group, ListGroups, PublishToGroup,
        PublishedCopy,
    };
    pub(in crate::client) use crate::ids::{MessageId, Name};
    pub(in crate::client) use crate::instant::Instant;
    pub(in crate::client) use crate::log::{
        Ack, AckResult, AckStatus, Configure, Configured, Find, LogMessage, Pop, Popped, PoppedMessage, Push,
        PushItem, Pushed,
    };
    pub(in crate::client) use crate::message::{
        CancelMessage, Events, GetMessage, ListEvents, Message, RetryMessage,
    };
    pub(in crate::client) use crate::publish::{Content, Publish, PublishOptions, Published};
    pub(in crate::client) use crate::queue::{
        DeleteQueue, GetQueue, ListQueues, PutQueue, Queue, QueueSettings,
    };
    pub(in crate::client) use crate::schedule::{
        DeleteSchedule, GetSchedule, ListSchedules, PutSchedule, RunSchedule, Schedule, ScheduleInfo,
        SchedulePut, ScheduleRun,
    };
    pub(in crate::client) use crate::timer::{
        self, Absent, Cancel, NewTimer, Peek, PeekedTimer, Reschedule, Settled, TimerBatch, TimerOutcome,
    };

    pub(in crate::client) fn change_endpoints(
        name: &str,
        change: EndpointChange,
        urls: &[&str],
    ) -> Result<ChangeEndpoints, Error> {
        let urls = urls.iter().enumerate();
        let urls =
            urls.map(|(index, url)| Destination::parse("url", url).map_err(|error| error.at_index(index)));
        Ok(ChangeEndpoints {
            name: Name::parse("name", name)?,
            change,
            urls: urls.collect::<Result<_, _>>()?,
        })
    }
}
