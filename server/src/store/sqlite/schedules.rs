//! Schedules: a run and the move to the next occurrence are one transaction under a lease.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chronq::Name;
use rusqlite::{Connection, Row, params};
use tokio::sync::broadcast;

use crate::store::draft::Draft;
use crate::store::encoding::{destination_of, headers_json, headers_of, name_of, signed, unsigned, word_of};
use crate::store::error::StoreError;
use crate::store::types::UnixMillis;
use crate::store::types::message::HandOver;
use crate::store::types::queue::Wake;
use crate::store::types::schedule::{
    DueSchedule, Schedule, ScheduleFire, ScheduleFired, ScheduleLease, SchedulePut, ScheduleQueue,
    ScheduleSpec,
};
use crate::store::{ScheduleStore, StoreResult};

use super::SqliteStore;
use super::memory::{Memory, lock};
use super::publish::enqueue;
use super::rows::{all, column, execute, one};
use super::writer::Writing;

const COLUMNS: &str = "name, expression, timezone, missed, url, method, headers, body, timeout_ms, queue, \
     failure_callback, enabled, description, next_run, last_run, created_at, updated_at, claim";

#[async_trait]
impl ScheduleStore for SqliteStore {
    async fn put_schedule(
        &self,
        spec: ScheduleSpec,
        next_run: Option<UnixMillis>,
    ) -> StoreResult<SchedulePut> {
        let now = self.clock.now_ms();
        let memory = Arc::clone(&self.memory);
        let put = self.write(move |writing| put(writing, &memory, now, &spec, next_run)).await?;
        self.wake(Wake::SchedulesChanged);
        Ok(put)
    }

    async fn schedules(&self) -> StoreResult<Vec<Schedule>> {
        self.read(|connection| {
            let sql = format!("SELECT {COLUMNS} FROM schedules ORDER BY name");
            all(connection, &sql, [], schedule)
        })
        .await
    }

    async fn schedule(&self, name: &Name) -> StoreResult<Option<Schedule>> {
        let name = name.clone();
        self.read(move |connection| get(connection, &name)).await
    }

    async fn delete_schedule(&self, name: &Name) -> StoreResult<bool> {
        let name = name.clone();
        let deleted = self
            .write(move |writing| {
                let sql = "DELETE FROM schedules WHERE name = ?1";
                Ok(execute(writing.connection, sql, params![name.as_str()])? > 0)
            })
            .await?;
        self.wake(Wake::SchedulesChanged);
        Ok(deleted)
    }

    async fn claim_due_schedules(&self, limit: usize, lease_ms: u64) -> StoreResult<Vec<DueSchedule>> {
        let now = self.clock.now_ms();
        self.write(move |writing| claim(writing.connection, now, limit, lease_ms)).await
    }

    async fn fire_schedule(&self, fire: ScheduleFire) -> StoreResult<ScheduleFired> {
        let now = self.clock.now_ms();
        let draft = fire.run.map(|run| Draft::new(run, &self.ids, now)).transpose()?;
        let (memory, wakes) = (Arc::clone(&self.memory), self.wakes.clone());
        let (lease, next_run) = (fire.lease, fire.next_run);
        self.write(move |writing| run(writing, (&memory, &wakes), now, &lease, draft, next_run)).await
    }

    async fn next_schedule_due(&self) -> StoreResult<Option<UnixMillis>> {
        self.read(|connection| {
            let sql = "SELECT min(max(next_run, coalesce(lease_until, next_run))) FROM schedules \
                       WHERE enabled AND next_run IS NOT NULL";
            Ok(one(connection, sql, [], |row| row.get::<_, Option<i64>>(0))?.flatten())
        })
        .await
    }
}

fn put(
    writing: &mut Writing<'_>,
    memory: &Arc<Mutex<Memory>>,
    now: UnixMillis,
    spec: &ScheduleSpec,
    next_run: Option<UnixMillis>,
) -> Result<SchedulePut, StoreError> {
    let name = match &spec.queue {
        ScheduleQueue::Named(name) => name,
        ScheduleQueue::Own => &spec.name,
    };
    let known = lock(memory).queues(writing.connection)?.named(name).is_some();
    if !known {
        if matches!(spec.queue, ScheduleQueue::Named(_)) {
            return Ok(SchedulePut::UnknownQueue);
        }
        execute(
            writing.connection,
            "INSERT INTO queues (name, settings, created_at, updated_at) VALUES (?1, '{}', ?2, ?2)",
            params![name.as_str(), now],
        )?;
        Memory::queues_changed(memory, writing);
    }
    let is_new = get(writing.connection, &spec.name)?.is_none();
    let queue = match &spec.queue {
        ScheduleQueue::Named(name) => Some(name.as_str()),
        ScheduleQueue::Own => None,
    };
    execute(
        writing.connection,
        "INSERT INTO schedules (name, expression, timezone, missed, url, method, headers, body, timeout_ms, \
         queue, failure_callback, enabled, description, next_run, created_at, updated_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?15) \
         ON CONFLICT (name) DO UPDATE SET expression = ?2, timezone = ?3, missed = ?4, url = ?5, method = ?6, \
         headers = ?7, body = ?8, timeout_ms = ?9, queue = ?10, failure_callback = ?11, enabled = ?12, \
         description = ?13, next_run = ?14, updated_at = ?15, claim = claim + 1, lease_until = NULL",
        params![
            spec.name.as_str(),
            spec.expression,
            spec.timezone,
            spec.missed.as_str(),
            spec.destination.as_str(),
            spec.method.as_str(),
            headers_json(&spec.headers)?,
            &spec.body[..],
            signed(spec.timeout_ms),
            queue,
            spec.failure_callback.as_ref().map(chronq::Destination::as_str),
            spec.enabled,
            spec.description,
            next_run.filter(|_| spec.enabled),
            now,
        ],
    )?;
    let schedule = get(writing.connection, &spec.name)?
        .ok_or_else(|| StoreError::Internal(format!("schedule {} was put and is not there", spec.name)))?;
    Ok(if is_new { SchedulePut::Created(schedule) } else { SchedulePut::Updated(schedule) })
}

fn claim(
    connection: &Connection,
    now: UnixMillis,
    limit: usize,
    lease_ms: u64,
) -> Result<Vec<DueSchedule>, StoreError> {
    let sql = format!(
        "UPDATE schedules SET claim = claim + 1, lease_until = ?2 WHERE name IN \
         (SELECT name FROM schedules WHERE enabled AND next_run <= ?1 \
          AND (lease_until IS NULL OR lease_until <= ?1) ORDER BY next_run LIMIT ?3) RETURNING {COLUMNS}"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    all(connection, &sql, params![now, now.saturating_add(signed(lease_ms)), limit], |row| {
        let schedule = schedule(row)?;
        Ok(DueSchedule {
            due_at: schedule.next_run.unwrap_or(now),
            lease: ScheduleLease { name: schedule.spec.name.clone(), claim: column(row, 17)? },
            schedule,
        })
    })
}

fn run(
    writing: &mut Writing<'_>,
    (memory, wakes): (&Arc<Mutex<Memory>>, &broadcast::Sender<Wake>),
    now: UnixMillis,
    lease: &ScheduleLease,
    draft: Option<Draft>,
    next_run: Option<UnixMillis>,
) -> Result<ScheduleFired, StoreError> {
    let moved = execute(
        writing.connection,
        "UPDATE schedules SET next_run = ?3, lease_until = NULL, \
         last_run = CASE WHEN ?4 THEN ?5 ELSE last_run END \
         WHERE name = ?1 AND claim = ?2 AND lease_until IS NOT NULL",
        params![lease.name.as_str(), lease.claim, next_run, draft.is_some(), now],
    )?;
    if moved == 0 {
        return Ok(ScheduleFired::Stale);
    }
    let Some(draft) = draft else { return Ok(ScheduleFired::Skipped) };
    let mut answer = enqueue(writing, memory, wakes, now, vec![draft], HandOver::default())?;
    let outcome = answer.outcomes.pop();
    outcome.map(ScheduleFired::Ran).ok_or_else(|| StoreError::Internal("a run had no outcome".to_owned()))
}

fn get(connection: &Connection, name: &Name) -> Result<Option<Schedule>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM schedules WHERE name = ?1");
    Ok(all(connection, &sql, params![name.as_str()], schedule)?.pop())
}

fn schedule(row: &Row<'_>) -> Result<Schedule, StoreError> {
    let queue = match column::<Option<String>>(row, 9)? {
        Some(name) => ScheduleQueue::Named(name_of(&name)?),
        None => ScheduleQueue::Own,
    };
    Ok(Schedule {
        spec: ScheduleSpec {
            name: name_of(&column::<String>(row, 0)?)?,
            expression: column(row, 1)?,
            timezone: column(row, 2)?,
            missed: word_of(&column::<String>(row, 3)?)?,
            destination: destination_of(&column::<String>(row, 4)?)?,
            method: word_of(&column::<String>(row, 5)?)?,
            headers: headers_of(&column::<String>(row, 6)?)?,
            body: column::<Vec<u8>>(row, 7)?.into(),
            timeout_ms: unsigned(column(row, 8)?),
            queue,
            failure_callback: column::<Option<String>>(row, 10)?
                .as_deref()
                .map(destination_of)
                .transpose()?,
            enabled: column(row, 11)?,
            description: column(row, 12)?,
        },
        next_run: column(row, 13)?,
        last_run: column(row, 14)?,
        created_at: column(row, 15)?,
        updated_at: column(row, 16)?,
    })
}
