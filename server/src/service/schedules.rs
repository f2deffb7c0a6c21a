//! Schedules: put, list, get, delete, run now (contract/http-queue.md, "Schedules").

use std::time::Duration;

use bytes::Bytes;
use chronq::contract::limits;
use chronq::publish::{Callback, ForwardedHeaders};
use chronq::schedule::{Schedule, ScheduleInfo, ScheduleRun};
use chronq::{InvalidInput, MessageId, Name};

use crate::scheduler::next::Recurrence;
use crate::state::AppState;
use crate::store::types::message::{Enqueued, HandOver, NewMessage};
use crate::store::types::schedule::{Schedule as Stored, SchedulePut, ScheduleQueue, ScheduleSpec};
use crate::store::{StoreError, UnixMillis};

/// Why a call on schedules was not done.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// A field that the contract refuses.
    #[error(transparent)]
    Refused(#[from] InvalidInput),
    /// No such schedule.
    #[error("unknown schedule: \"{0}\"")]
    NotFound(Name),
    /// It names a queue that does not exist.
    #[error("unknown queue: \"{0}\"")]
    UnknownQueue(Name),
    /// Its queue takes no messages.
    #[error("queue is disabled: \"{0}\"")]
    QueueDisabled(Name),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a put did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is new.
    Made(ScheduleInfo),
    /// It was there; the edit holds from the next run on.
    Changed(ScheduleInfo),
}

/// Makes or changes a schedule.
///
/// # Errors
/// [`ScheduleError`]; an expression that never runs is refused.
pub async fn put(state: &AppState, schedule: Schedule) -> Result<Put, ScheduleError> {
    let guard = state.egress.guard();
    guard.check_literal("url", &schedule.url)?;
    if let Some(alert) = &schedule.failure_callback {
        guard.check_literal("failureCallback", alert)?;
    }
    let now = state.clock.now_ms();
    // A bare rule counts from the first put, also after an edit.
    let created = state.store.schedule(&schedule.name).await?.map_or(now, |known| known.created_at);
    let next = next_run(&schedule, created, now).await?;
    match store(state, &schedule, next).await? {
        // The clock went on to another second in between, and a bare rule counts from what is stored.
        // It is looked for from there as well: from `now`, the rule's own beginning would be a run.
        Put::Made(info) if info.created_at.div_euclid(1_000) != created.div_euclid(1_000) => {
            let next = next_run(&schedule, info.created_at, info.created_at).await?;
            match store(state, &schedule, next).await? {
                Put::Made(info) | Put::Changed(info) => Ok(Put::Made(info)),
            }
        }
        put => Ok(put),
    }
}

async fn store(
    state: &AppState,
    schedule: &Schedule,
    next: Option<UnixMillis>,
) -> Result<Put, ScheduleError> {
    match state.store.put_schedule(spec_of(schedule.clone()), next).await? {
        SchedulePut::Created(stored) => Ok(Put::Made(info_of(stored)?)),
        SchedulePut::Updated(stored) => Ok(Put::Changed(info_of(stored)?)),
        SchedulePut::UnknownQueue => {
            let queue = schedule.queue.clone().unwrap_or_else(Name::default_queue);
            Err(ScheduleError::UnknownQueue(queue))
        }
    }
}

/// All schedules, by name.
///
/// # Errors
/// [`ScheduleError::Store`].
pub async fn list(state: &AppState) -> Result<Vec<ScheduleInfo>, ScheduleError> {
    state.store.schedules().await?.into_iter().map(info_of).collect()
}

/// One schedule.
///
/// # Errors
/// [`ScheduleError::NotFound`], [`ScheduleError::Store`].
pub async fn get(state: &AppState, name: &Name) -> Result<ScheduleInfo, ScheduleError> {
    info_of(find(state, name).await?)
}

/// Deletes a schedule; its queue and the messages of its runs stay.
///
/// # Errors
/// [`ScheduleError::NotFound`], [`ScheduleError::Store`].
pub async fn delete(state: &AppState, name: &Name) -> Result<(), ScheduleError> {
    if state.store.delete_schedule(name).await? { Ok(()) } else { Err(ScheduleError::NotFound(name.clone())) }
}

/// Makes one run now, through the path of every other run; also of a disabled schedule, because
/// disabling stops only what it would do by itself.
///
/// # Errors
/// [`ScheduleError`].
pub async fn run_now(state: &AppState, name: &Name) -> Result<ScheduleRun, ScheduleError> {
    let stored = find(state, name).await?;
    let answer = state.store.enqueue(vec![run_of(&stored)], HandOver::default()).await?;
    match answer.outcomes.into_iter().next() {
        Some(Enqueued::Queued { id, queue } | Enqueued::Duplicate { id, queue }) => {
            Ok(ScheduleRun { message_id: MessageId::new(id.to_string())?, queue })
        }
        Some(Enqueued::QueueDisabled) => Err(ScheduleError::QueueDisabled(stored.queue().clone())),
        Some(Enqueued::UnknownQueue) => Err(ScheduleError::UnknownQueue(stored.queue().clone())),
        None => Err(StoreError::Internal("enqueue answered nothing".to_owned()).into()),
    }
}

/// The message of a run: the schedule as it is now, labelled with its name.
pub(crate) fn run_of(schedule: &Stored) -> NewMessage {
    let spec = &schedule.spec;
    let mut message = NewMessage::new(schedule.queue().clone(), spec.destination.clone(), spec.body.clone());
    message.method = spec.method;
    message.headers.clone_from(&spec.headers);
    message.timeout_ms = Some(spec.timeout_ms);
    message.labels = vec![spec.name.to_string()];
    message.schedule = Some(spec.name.clone());
    message.failure_callback = spec.failure_callback.clone().map(|url| Callback {
        url,
        method: None,
        timeout: None,
        headers: ForwardedHeaders::default(),
    });
    message
}

/// What the stored expression means.
pub(crate) fn recurrence_of(schedule: &Stored) -> Result<Recurrence, InvalidInput> {
    Recurrence::parse(&schedule.spec.expression, &schedule.spec.timezone, schedule.created_at)
}

async fn find(state: &AppState, name: &Name) -> Result<Stored, ScheduleError> {
    state.store.schedule(name).await?.ok_or_else(|| ScheduleError::NotFound(name.clone()))
}

/// When the schedule runs next. A rule can take the library some hundred milliseconds to look
/// through, so it has a thread of its own.
async fn next_run(
    schedule: &Schedule,
    created: UnixMillis,
    now: UnixMillis,
) -> Result<Option<UnixMillis>, ScheduleError> {
    let (expression, timezone) = (schedule.cron.clone(), schedule.timezone.clone());
    let looked = tokio::task::spawn_blocking(move || {
        Recurrence::parse(&expression, &timezone, created).map(|recurrence| recurrence.next_after(now))
    });
    let unreadable = |_| InvalidInput::with_rule("cron", "cannot be evaluated", &schedule.cron);
    match looked.await.map_err(unreadable)?? {
        Some(next) => Ok(schedule.enabled.then_some(next)),
        None => {
            Err(InvalidInput::with_rule("cron", "must run at least once from now on", &schedule.cron).into())
        }
    }
}

fn spec_of(schedule: Schedule) -> ScheduleSpec {
    ScheduleSpec {
        expression: schedule.cron,
        timezone: schedule.timezone,
        missed: schedule.missed,
        destination: schedule.url,
        method: schedule.method,
        headers: schedule.headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        body: Bytes::from(schedule.body),
        timeout_ms: u64::try_from(schedule.timeout.as_millis()).unwrap_or(limits::MAX_TIMEOUT_MS),
        queue: schedule.queue.map_or(ScheduleQueue::Own, ScheduleQueue::Named),
        failure_callback: schedule.failure_callback,
        enabled: schedule.enabled,
        description: schedule.description,
        name: schedule.name,
    }
}

fn info_of(stored: Stored) -> Result<ScheduleInfo, ScheduleError> {
    let queue = stored.queue().clone();
    let spec = stored.spec;
    let corrupt = || StoreError::Corrupt(format!("the body of schedule {} is not UTF-8", spec.name));
    let schedule = Schedule {
        cron: spec.expression,
        url: spec.destination,
        method: spec.method,
        headers: ForwardedHeaders::new("headers.", spec.headers)?,
        body: String::from_utf8(spec.body.to_vec()).map_err(|_| corrupt())?,
        timezone: spec.timezone,
        missed: spec.missed,
        timeout: Duration::from_millis(spec.timeout_ms),
        queue: Some(queue),
        enabled: spec.enabled,
        description: spec.description,
        failure_callback: spec.failure_callback,
        name: spec.name,
    };
    Ok(ScheduleInfo {
        schedule,
        created_at: stored.created_at,
        updated_at: stored.updated_at,
        next_run_at: stored.next_run,
        last_run_at: stored.last_run,
    })
}
