//! Queues and URL groups.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chronq::queue::QueueSettings;
use chronq::{Destination, Name};
use rusqlite::{Connection, Row, params};

use crate::store::encoding::{from_json, json, name_of};
use crate::store::error::StoreError;
use crate::store::topology::makes_a_cycle;
use crate::store::types::UnixMillis;
use crate::store::types::group::{Group, GroupAddition};
use crate::store::types::queue::{Queue, QueueDeleted, QueuePut, Wake};
use crate::store::{StoreResult, TopologyStore};

use super::memory::{Memory, lock};
use super::rows::{all, column, execute};
use super::writer::Writing;
use super::{SqliteStore, groups};

#[async_trait]
impl TopologyStore for SqliteStore {
    async fn put_queue(&self, name: Name, settings: QueueSettings) -> StoreResult<QueuePut> {
        let now = self.clock.now_ms();
        let memory = Arc::clone(&self.memory);
        let put = self.write(move |writing| put(writing, &memory, now, &name, &settings)).await?;
        self.wake(Wake::QueuesChanged);
        Ok(put)
    }

    async fn queues(&self) -> StoreResult<Vec<Queue>> {
        self.read(|connection| {
            all(
                connection,
                "SELECT name, settings, created_at, updated_at FROM queues ORDER BY name",
                [],
                queue,
            )
        })
        .await
    }

    async fn queue(&self, name: &Name) -> StoreResult<Option<Queue>> {
        let name = name.clone();
        self.read(move |connection| one_queue(connection, &name)).await
    }

    async fn delete_queue(&self, name: &Name) -> StoreResult<QueueDeleted> {
        let name = name.clone();
        let memory = Arc::clone(&self.memory);
        let deleted = self.write(move |writing| delete(writing, &memory, &name)).await?;
        self.wake(Wake::QueuesChanged);
        Ok(deleted)
    }

    async fn add_to_group(&self, name: Name, endpoints: Vec<Destination>) -> StoreResult<GroupAddition> {
        let now = self.clock.now_ms();
        self.write(move |writing| groups::add(writing.connection, now, &name, &endpoints)).await
    }

    async fn remove_from_group(
        &self,
        name: &Name,
        endpoints: Vec<Destination>,
    ) -> StoreResult<Option<Group>> {
        let (now, name) = (self.clock.now_ms(), name.clone());
        self.write(move |writing| groups::remove(writing.connection, now, &name, &endpoints)).await
    }

    async fn groups(&self) -> StoreResult<Vec<Group>> {
        self.read(groups::list).await
    }

    async fn group(&self, name: &Name) -> StoreResult<Option<Group>> {
        let name = name.clone();
        self.read(move |connection| groups::get(connection, &name)).await
    }

    async fn delete_group(&self, name: &Name) -> StoreResult<bool> {
        let name = name.clone();
        self.write(move |writing| groups::delete(writing.connection, &name)).await
    }
}

fn queue(row: &Row<'_>) -> Result<Queue, StoreError> {
    Ok(Queue {
        name: name_of(&column::<String>(row, 0)?)?,
        settings: from_json(&column::<String>(row, 1)?)?,
        created_at: column(row, 2)?,
        updated_at: column(row, 3)?,
    })
}

fn one_queue(connection: &Connection, name: &Name) -> Result<Option<Queue>, StoreError> {
    let sql = "SELECT name, settings, created_at, updated_at FROM queues WHERE name = ?1";
    Ok(all(connection, sql, params![name.as_str()], queue)?.pop())
}

fn put(
    writing: &mut Writing<'_>,
    memory: &Arc<Mutex<Memory>>,
    now: UnixMillis,
    name: &Name,
    settings: &QueueSettings,
) -> Result<QueuePut, StoreError> {
    {
        let mut locked = lock(memory);
        let queues = locked.queues(writing.connection)?;
        if let Some(dead_letters) = &settings.dead_letter_queue {
            if dead_letters != name && queues.named(dead_letters).is_none() {
                return Ok(QueuePut::UnknownDeadLetterQueue);
            }
            let next =
                |queue: &Name| queues.named(queue).and_then(|row| row.settings.dead_letter_queue.clone());
            if makes_a_cycle(name, settings, next) {
                return Ok(QueuePut::DeadLetterCycle);
            }
        }
    }
    // A `default` that nobody has put is there without having been made.
    let known = one_queue(writing.connection, name)?.is_some_and(|queue| queue.created_at.is_some());
    execute(
        writing.connection,
        "INSERT INTO queues (name, settings, created_at, updated_at) VALUES (?1, ?2, ?3, ?3) \
         ON CONFLICT (name) DO UPDATE SET settings = ?2, created_at = coalesce(created_at, ?3), updated_at = ?3",
        params![name.as_str(), json(settings)?, now],
    )?;
    Memory::queues_changed(memory, writing);
    let queue = one_queue(writing.connection, name)?
        .ok_or_else(|| StoreError::Internal(format!("queue {name} was put and is not there")))?;
    Ok(if known { QueuePut::Updated(queue) } else { QueuePut::Created(queue) })
}

fn delete(
    writing: &mut Writing<'_>,
    memory: &Arc<Mutex<Memory>>,
    name: &Name,
) -> Result<QueueDeleted, StoreError> {
    if *name == Name::default_queue() {
        return Ok(QueueDeleted::IsDefault);
    }
    let id = {
        let mut locked = lock(memory);
        let Some(row) = locked.queues(writing.connection)?.named(name) else {
            return Ok(QueueDeleted::NotFound);
        };
        row.id
    };
    let used = all(
        writing.connection,
        "SELECT name FROM schedules WHERE coalesce(queue, name) = ?1 ORDER BY name LIMIT 1",
        params![name.as_str()],
        |row| name_of(&column::<String>(row, 0)?),
    )?;
    if let Some(schedule) = used.into_iter().next() {
        return Ok(QueueDeleted::UsedBySchedule(schedule));
    }
    execute(writing.connection, "DELETE FROM queues WHERE id = ?1", params![id])?;
    execute(writing.connection, "INSERT INTO deleted_queues (id) VALUES (?1)", params![id])?;
    Memory::queues_changed(memory, writing);
    let memory = Arc::clone(memory);
    writing.on_commit(move || lock(&memory).near.forget(id));
    Ok(QueueDeleted::Deleted)
}
