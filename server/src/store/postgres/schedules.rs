//! Schedules: a run and the move to the next occurrence are one transaction under a lease.

use async_trait::async_trait;
use chronq::{Destination, Name};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row};

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

use super::PostgresStore;
use super::error::{PgError, answered, despite_conflicts};
use super::publish::enqueue;
use super::queues::LOCK_QUEUES;

const COLUMNS: &str = "name, expression, timezone, missed, url, method, headers, body, timeout_ms, queue, \
     failure_callback, enabled, description, next_run, last_run, created_at, updated_at, claim";

#[async_trait]
impl ScheduleStore for PostgresStore {
    async fn put_schedule(
        &self,
        spec: ScheduleSpec,
        next_run: Option<UnixMillis>,
    ) -> StoreResult<SchedulePut> {
        let now = self.clock.now_ms();
        let put = despite_conflicts(|| put(self, now, &spec, next_run)).await?;
        self.queues.forget();
        self.wake(Wake::SchedulesChanged);
        Ok(put)
    }

    async fn schedules(&self) -> StoreResult<Vec<Schedule>> {
        let sql = format!("SELECT {COLUMNS} FROM schedules ORDER BY name");
        let rows = answered(sqlx::query(AssertSqlSafe(sql)).fetch_all(&self.pool)).await?;
        rows.iter().map(schedule).collect::<Result<_, PgError>>().map_err(PgError::into_store)
    }

    async fn schedule(&self, name: &Name) -> StoreResult<Option<Schedule>> {
        answered(async {
            let mut connection = self.pool.acquire().await?;
            get(&mut connection, name).await
        })
        .await
    }

    async fn delete_schedule(&self, name: &Name) -> StoreResult<bool> {
        let delete = sqlx::query("DELETE FROM schedules WHERE name = $1").bind(name.as_str());
        let gone = answered(delete.execute(&self.pool)).await?;
        self.wake(Wake::SchedulesChanged);
        Ok(gone.rows_affected() > 0)
    }

    async fn claim_due_schedules(&self, limit: usize, lease_ms: u64) -> StoreResult<Vec<DueSchedule>> {
        let now = self.clock.now_ms();
        despite_conflicts(|| claim(self, now, limit, lease_ms)).await
    }

    async fn fire_schedule(&self, fire: ScheduleFire) -> StoreResult<ScheduleFired> {
        let now = self.clock.now_ms();
        let draft = fire.run.map(|run| Draft::new(run, &self.ids, now)).transpose()?;
        let (lease, next_run) = (fire.lease, fire.next_run);
        let (fired, wakes) = despite_conflicts(|| run(self, now, &lease, draft.clone(), next_run)).await?;
        self.wake_all(wakes);
        Ok(fired)
    }

    async fn next_schedule_due(&self) -> StoreResult<Option<UnixMillis>> {
        let first = sqlx::query_scalar(
            "SELECT min(greatest(next_run, lease_until)) FROM schedules WHERE enabled AND next_run IS NOT NULL",
        );
        answered(first.fetch_one(&self.pool)).await
    }
}

async fn put(
    store: &PostgresStore,
    now: UnixMillis,
    spec: &ScheduleSpec,
    next_run: Option<UnixMillis>,
) -> Result<SchedulePut, PgError> {
    let (name, own) = match &spec.queue {
        ScheduleQueue::Named(name) => (name, false),
        ScheduleQueue::Own => (&spec.name, true),
    };
    let mut transaction = store.pool.begin().await?;
    // The queue must not be deleted meanwhile.
    sqlx::query(LOCK_QUEUES).execute(&mut *transaction).await?;
    if own {
        sqlx::query(
            "INSERT INTO queues (name, settings, created_at, updated_at) VALUES ($1, '{}', $2, $2) \
             ON CONFLICT (name) DO NOTHING",
        )
        .bind(name.as_str())
        .bind(now)
        .execute(&mut *transaction)
        .await?;
    }
    let known: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM queues WHERE name = $1)")
        .bind(name.as_str())
        .fetch_one(&mut *transaction)
        .await?;
    if !known {
        return Ok(SchedulePut::UnknownQueue);
    }
    let is_new = get(&mut transaction, &spec.name).await?.is_none();
    sqlx::query(
        "INSERT INTO schedules AS s (name, expression, timezone, missed, url, method, headers, body, \
         timeout_ms, queue, failure_callback, enabled, description, next_run, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15) \
         ON CONFLICT (name) DO UPDATE SET expression = $2, timezone = $3, missed = $4, url = $5, method = $6, \
         headers = $7, body = $8, timeout_ms = $9, queue = $10, failure_callback = $11, enabled = $12, \
         description = $13, next_run = $14, updated_at = $15, claim = s.claim + 1, lease_until = NULL",
    )
    .bind(spec.name.as_str())
    .bind(&spec.expression)
    .bind(&spec.timezone)
    .bind(spec.missed.as_str())
    .bind(spec.destination.as_str())
    .bind(spec.method.as_str())
    .bind(headers_json(&spec.headers)?)
    .bind(&spec.body[..])
    .bind(signed(spec.timeout_ms))
    .bind((!own).then_some(name.as_str()))
    .bind(spec.failure_callback.as_ref().map(Destination::as_str))
    .bind(spec.enabled)
    .bind(spec.description.as_deref())
    .bind(next_run.filter(|_| spec.enabled))
    .bind(now)
    .execute(&mut *transaction)
    .await?;
    let schedule = get(&mut transaction, &spec.name)
        .await?
        .ok_or_else(|| StoreError::Internal(format!("schedule {} was put and is not there", spec.name)))?;
    transaction.commit().await?;
    Ok(if is_new { SchedulePut::Created(schedule) } else { SchedulePut::Updated(schedule) })
}

async fn claim(
    store: &PostgresStore,
    now: UnixMillis,
    limit: usize,
    lease_ms: u64,
) -> Result<Vec<DueSchedule>, PgError> {
    let sql = format!(
        "UPDATE schedules SET claim = claim + 1, lease_until = $2 WHERE name IN \
         (SELECT name FROM schedules WHERE enabled AND next_run <= $1 \
          AND (lease_until IS NULL OR lease_until <= $1) ORDER BY next_run LIMIT $3 FOR UPDATE SKIP LOCKED) \
         RETURNING {COLUMNS}"
    );
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(now)
        .bind(now.saturating_add(signed(lease_ms)))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(&store.pool)
        .await?;
    rows.iter()
        .map(|row| {
            let schedule = schedule(row)?;
            Ok(DueSchedule {
                due_at: schedule.next_run.unwrap_or(now),
                lease: ScheduleLease { name: schedule.spec.name.clone(), claim: row.try_get(17)? },
                schedule,
            })
        })
        .collect()
}

async fn run(
    store: &PostgresStore,
    now: UnixMillis,
    lease: &ScheduleLease,
    draft: Option<Draft>,
    next_run: Option<UnixMillis>,
) -> Result<(ScheduleFired, Vec<Wake>), PgError> {
    let mut transaction = store.pool.begin().await?;
    let moved = sqlx::query(
        "UPDATE schedules SET next_run = $3, lease_until = NULL, \
         last_run = CASE WHEN $4 THEN $5 ELSE last_run END \
         WHERE name = $1 AND claim = $2 AND lease_until IS NOT NULL",
    )
    .bind(lease.name.as_str())
    .bind(lease.claim)
    .bind(next_run)
    .bind(draft.is_some())
    .bind(now)
    .execute(&mut *transaction)
    .await?;
    if moved.rows_affected() == 0 {
        return Ok((ScheduleFired::Stale, Vec::new()));
    }
    let (fired, wakes) = match draft {
        None => (ScheduleFired::Skipped, Vec::new()),
        Some(draft) => {
            let (mut answer, wakes) =
                enqueue(&mut transaction, &store.queues, now, vec![draft], HandOver::default()).await?;
            let outcome = answer.outcomes.pop();
            let outcome = outcome.ok_or_else(|| StoreError::Internal("a run had no outcome".to_owned()))?;
            (ScheduleFired::Ran(outcome), wakes)
        }
    };
    transaction.commit().await?;
    Ok((fired, wakes))
}

async fn get(connection: &mut PgConnection, name: &Name) -> Result<Option<Schedule>, PgError> {
    let sql = format!("SELECT {COLUMNS} FROM schedules WHERE name = $1");
    let row = sqlx::query(AssertSqlSafe(sql)).bind(name.as_str()).fetch_optional(connection).await?;
    row.as_ref().map(schedule).transpose()
}

fn schedule(row: &PgRow) -> Result<Schedule, PgError> {
    let queue = match row.try_get::<Option<&str>, _>(9)? {
        Some(name) => ScheduleQueue::Named(name_of(name)?),
        None => ScheduleQueue::Own,
    };
    Ok(Schedule {
        spec: ScheduleSpec {
            name: name_of(row.try_get(0)?)?,
            expression: row.try_get(1)?,
            timezone: row.try_get(2)?,
            missed: word_of(row.try_get(3)?)?,
            destination: destination_of(row.try_get(4)?)?,
            method: word_of(row.try_get(5)?)?,
            headers: headers_of(row.try_get(6)?)?,
            body: row.try_get::<Vec<u8>, _>(7)?.into(),
            timeout_ms: unsigned(row.try_get(8)?),
            queue,
            failure_callback: row.try_get::<Option<&str>, _>(10)?.map(destination_of).transpose()?,
            enabled: row.try_get(11)?,
            description: row.try_get(12)?,
        },
        next_run: row.try_get(13)?,
        last_run: row.try_get(14)?,
        created_at: row.try_get(15)?,
        updated_at: row.try_get(16)?,
    })
}
