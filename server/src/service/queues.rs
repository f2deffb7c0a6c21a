//! Queues and their settings.

use std::time::Duration;

use chronq::queue::{Queue, QueueSettings};
use chronq::{InvalidInput, Name};

use super::Refusal;
use crate::state::AppState;
use crate::store::types::queue::{self, InForce, QueueDeleted, QueuePut};

/// What a put did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is new.
    Made(Queue),
    /// It was there.
    Changed(Queue),
}

/// Makes or changes a queue; what is not given returns to its default. Acts at once.
///
/// # Errors
/// [`Refusal::Invalid`].
pub async fn put(state: &AppState, name: Name, settings: QueueSettings) -> Result<Put, Refusal> {
    settings.check()?;
    let dead_letters = settings.dead_letter_queue.clone();
    let refuse = |rule: &str| {
        let named = dead_letters.as_ref().map_or("", Name::as_str);
        Err(InvalidInput::with_rule("deadLetterQueue", rule, named).into())
    };
    match state.store.put_queue(name, settings).await? {
        QueuePut::Created(queue) => Ok(Put::Made(wire(queue))),
        QueuePut::Updated(queue) => Ok(Put::Changed(wire(queue))),
        QueuePut::UnknownDeadLetterQueue => refuse("must be an existing queue"),
        QueuePut::DeadLetterCycle => refuse("must not lead back to this queue"),
    }
}

/// Every queue, by name.
///
/// # Errors
/// [`Refusal::Store`].
pub async fn list(state: &AppState) -> Result<Vec<Queue>, Refusal> {
    Ok(state.store.queues().await?.into_iter().map(wire).collect())
}

/// One queue.
///
/// # Errors
/// [`Refusal::NotFound`].
pub async fn get(state: &AppState, name: &Name) -> Result<Queue, Refusal> {
    state.store.queue(name).await?.map(wire).ok_or_else(|| unknown(name))
}

/// Deletes a queue and its messages.
///
/// # Errors
/// [`Refusal::NotFound`]; [`Refusal::Invalid`] for `default`; [`Refusal::InUse`].
pub async fn delete(state: &AppState, name: &Name) -> Result<(), Refusal> {
    match state.store.delete_queue(name).await? {
        QueueDeleted::Deleted => Ok(()),
        QueueDeleted::NotFound => Err(unknown(name)),
        QueueDeleted::IsDefault => {
            Err(InvalidInput::new("queue", "the queue \"default\" is always there and cannot be deleted")
                .into())
        }
        QueueDeleted::UsedBySchedule(schedule) => Err(Refusal::InUse(format!(
            "the schedule \"{schedule}\" publishes through the queue \"{name}\": delete or change it first"
        ))),
    }
}

fn unknown(name: &Name) -> Refusal {
    Refusal::not_found("queue", name.as_str())
}

/// A queue with every setting in force.
fn wire(queue: queue::Queue) -> Queue {
    let InForce {
        retry_limit,
        retry_delay_ms,
        max_delay_ms,
        backoff,
        expire_ms,
        concurrency,
        keep_completed_ms,
        keep_queued_ms,
        enabled,
    } = queue.in_force();
    let duration = |ms| Some(Duration::from_millis(ms));
    Queue {
        name: queue.name,
        settings: QueueSettings {
            retry_limit: Some(retry_limit),
            retry_delay: duration(retry_delay_ms),
            max_delay: duration(max_delay_ms),
            backoff: Some(backoff),
            expire: duration(expire_ms),
            concurrency: Some(concurrency),
            keep_completed: duration(keep_completed_ms),
            keep_queued: duration(keep_queued_ms),
            dead_letter_queue: queue.settings.dead_letter_queue,
            enabled: Some(enabled),
            description: queue.settings.description,
        },
    }
}
