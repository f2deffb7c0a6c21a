//! Queues, and what this process knows of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use chronq::queue::QueueSettings;
use chronq::{Destination, Name};
use sqlx::PgConnection;

use crate::store::encoding::{from_json, json, name_of};
use crate::store::error::StoreError;
use crate::store::topology::makes_a_cycle;
use crate::store::types::UnixMillis;
use crate::store::types::group::{Group, GroupAddition};
use crate::store::types::message::Enqueued;
use crate::store::types::queue::{InForce, Queue, QueueDeleted, QueuePut, Wake};
use crate::store::{StoreResult, TopologyStore};

use super::error::{PgError, answered, despite_conflicts};
use super::{PostgresStore, groups};

/// The queues as they were read last. A statement that writes by them names their version.
#[derive(Debug, Default)]
pub(super) struct KnownQueues(Mutex<Option<Arc<Queues>>>);

/// A reading of all queues.
#[derive(Debug, Default)]
pub(super) struct Queues {
    by_name: HashMap<Name, Arc<QueueRow>>,
    by_id: HashMap<i64, Arc<QueueRow>>,
}

#[derive(Debug)]
pub(super) struct QueueRow {
    pub(super) id: i64,
    pub(super) name: Name,
    pub(super) version: i64,
    pub(super) settings: QueueSettings,
    pub(super) in_force: InForce,
}

impl Queues {
    pub(super) fn named(&self, name: &Name) -> Option<&Arc<QueueRow>> {
        self.by_name.get(name)
    }

    pub(super) fn with_id(&self, id: i64) -> Option<&Arc<QueueRow>> {
        self.by_id.get(&id)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<QueueRow>> {
        self.by_id.values()
    }

    pub(super) async fn read(connection: &mut PgConnection) -> Result<Self, PgError> {
        let rows: Vec<(i64, String, i64, String)> =
            sqlx::query_as("SELECT id, name, version, settings FROM queues").fetch_all(connection).await?;
        let mut queues = Self::default();
        for (id, name, version, settings) in rows {
            let settings: QueueSettings = from_json(&settings)?;
            let in_force = InForce::from(&settings);
            let row = Arc::new(QueueRow { id, name: name_of(&name)?, version, settings, in_force });
            queues.by_name.insert(row.name.clone(), Arc::clone(&row));
            queues.by_id.insert(id, row);
        }
        Ok(queues)
    }

    /// The queue, where it takes publishes.
    pub(super) fn accepts(&self, name: &Name) -> Result<&Arc<QueueRow>, Enqueued> {
        match self.named(name) {
            None => Err(Enqueued::UnknownQueue),
            Some(queue) if !queue.in_force.enabled => Err(Enqueued::QueueDisabled),
            Some(queue) => Ok(queue),
        }
    }
}

impl KnownQueues {
    /// What is known, read where nothing is.
    pub(super) async fn get(&self, connection: &mut PgConnection) -> Result<Arc<Queues>, PgError> {
        let known = self.lock().clone();
        match known {
            Some(queues) => Ok(queues),
            None => self.refresh(connection).await,
        }
    }

    /// Reads them again.
    pub(super) async fn refresh(&self, connection: &mut PgConnection) -> Result<Arc<Queues>, PgError> {
        let queues = Arc::new(Queues::read(connection).await?);
        *self.lock() = Some(Arc::clone(&queues));
        Ok(queues)
    }

    /// Forgets them: something changed.
    pub(super) fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Queues>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Row = (String, String, Option<i64>, Option<i64>);

fn queue((name, settings, created_at, updated_at): Row) -> Result<Queue, StoreError> {
    Ok(Queue { name: name_of(&name)?, settings: from_json(&settings)?, created_at, updated_at })
}

#[async_trait]
impl TopologyStore for PostgresStore {
    async fn put_queue(&self, name: Name, settings: QueueSettings) -> StoreResult<QueuePut> {
        let now = self.clock.now_ms();
        let put = despite_conflicts(|| put(self, now, &name, &settings)).await?;
        self.queues.forget();
        self.wake(Wake::QueuesChanged);
        Ok(put)
    }

    async fn queues(&self) -> StoreResult<Vec<Queue>> {
        let rows: Vec<Row> = answered(
            sqlx::query_as("SELECT name, settings, created_at, updated_at FROM queues ORDER BY name")
                .fetch_all(&self.pool),
        )
        .await?;
        rows.into_iter().map(queue).collect()
    }

    async fn queue(&self, name: &Name) -> StoreResult<Option<Queue>> {
        answered(async {
            let mut connection = self.pool.acquire().await?;
            one(&mut connection, name).await
        })
        .await
    }

    async fn delete_queue(&self, name: &Name) -> StoreResult<QueueDeleted> {
        let now = self.clock.now_ms();
        let deleted = despite_conflicts(|| delete(self, now, name)).await?;
        self.queues.forget();
        self.wake(Wake::QueuesChanged);
        Ok(deleted)
    }

    async fn add_to_group(&self, name: Name, endpoints: Vec<Destination>) -> StoreResult<GroupAddition> {
        despite_conflicts(|| groups::add(self, &name, &endpoints)).await
    }

    async fn remove_from_group(
        &self,
        name: &Name,
        endpoints: Vec<Destination>,
    ) -> StoreResult<Option<Group>> {
        despite_conflicts(|| groups::remove(self, name, &endpoints)).await
    }

    async fn groups(&self) -> StoreResult<Vec<Group>> {
        answered(groups::list(self, None)).await
    }

    async fn group(&self, name: &Name) -> StoreResult<Option<Group>> {
        Ok(answered(groups::list(self, Some(name))).await?.pop())
    }

    async fn delete_group(&self, name: &Name) -> StoreResult<bool> {
        answered(groups::delete(self, name)).await
    }
}

/// Puts and deletes wait for each other; publishes wait for neither.
pub(super) const LOCK_QUEUES: &str = "LOCK TABLE queues IN SHARE ROW EXCLUSIVE MODE";

async fn one(connection: &mut PgConnection, name: &Name) -> Result<Option<Queue>, PgError> {
    let row: Option<Row> =
        sqlx::query_as("SELECT name, settings, created_at, updated_at FROM queues WHERE name = $1")
            .bind(name.as_str())
            .fetch_optional(connection)
            .await?;
    Ok(row.map(queue).transpose()?)
}

async fn put(
    store: &PostgresStore,
    now: UnixMillis,
    name: &Name,
    settings: &QueueSettings,
) -> Result<QueuePut, PgError> {
    let mut transaction = store.pool.begin().await?;
    sqlx::query(LOCK_QUEUES).execute(&mut *transaction).await?;
    let queues = Queues::read(&mut transaction).await?;
    if let Some(dead_letters) = &settings.dead_letter_queue {
        if dead_letters != name && queues.named(dead_letters).is_none() {
            return Ok(QueuePut::UnknownDeadLetterQueue);
        }
        let next = |queue: &Name| queues.named(queue).and_then(|row| row.settings.dead_letter_queue.clone());
        if makes_a_cycle(name, settings, next) {
            return Ok(QueuePut::DeadLetterCycle);
        }
    }
    // A `default` that nobody has put is there without having been made.
    let known = one(&mut transaction, name).await?.is_some_and(|queue| queue.created_at.is_some());
    sqlx::query(
        "INSERT INTO queues AS q (name, settings, created_at, updated_at) VALUES ($1, $2, $3, $3) \
         ON CONFLICT (name) DO UPDATE SET settings = $2, created_at = coalesce(q.created_at, $3), \
         updated_at = $3, version = q.version + 1",
    )
    .bind(name.as_str())
    .bind(json(settings)?)
    .bind(now)
    .execute(&mut *transaction)
    .await?;
    let queue = one(&mut transaction, name)
        .await?
        .ok_or_else(|| StoreError::Internal(format!("queue {name} was put and is not there")))?;
    transaction.commit().await?;
    Ok(if known { QueuePut::Updated(queue) } else { QueuePut::Created(queue) })
}

async fn delete(store: &PostgresStore, now: UnixMillis, name: &Name) -> Result<QueueDeleted, PgError> {
    if *name == Name::default_queue() {
        return Ok(QueueDeleted::IsDefault);
    }
    let mut transaction = store.pool.begin().await?;
    sqlx::query(LOCK_QUEUES).execute(&mut *transaction).await?;
    let used: Option<String> = sqlx::query_scalar(
        "SELECT name FROM schedules WHERE coalesce(queue, name) = $1 ORDER BY name LIMIT 1",
    )
    .bind(name.as_str())
    .fetch_optional(&mut *transaction)
    .await?;
    let id: Option<i64> = sqlx::query_scalar("SELECT id FROM queues WHERE name = $1")
        .bind(name.as_str())
        .fetch_optional(&mut *transaction)
        .await?;
    let Some(id) = id else { return Ok(QueueDeleted::NotFound) };
    if let Some(schedule) = used {
        return Ok(QueueDeleted::UsedBySchedule(name_of(&schedule)?));
    }
    sqlx::query("DELETE FROM queues WHERE id = $1").bind(id).execute(&mut *transaction).await?;
    sqlx::query("INSERT INTO deleted_queues (id, deleted_at) VALUES ($1, $2)")
        .bind(id)
        .bind(now)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(QueueDeleted::Deleted)
}
