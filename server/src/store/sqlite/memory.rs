//! What the embedded store keeps in memory beside the file: what is due soon, the queues' settings,
//! the next sequence number. One server per file makes that sound.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use chronq::Name;
use chronq::queue::QueueSettings;
use rusqlite::Connection;
use tokio::sync::broadcast;

use crate::store::encoding::{from_json, name_of};
use crate::store::error::StoreError;
use crate::store::types::UnixMillis;
use crate::store::types::queue::{InForce, Wake};

use super::failure;
use super::near::Near;
use super::writer::Writing;

#[derive(Debug)]
pub(super) struct Memory {
    pub(super) near: Near,
    queues: Option<Queues>,
    next_seq: i64,
}

/// The queues as the writer's transaction sees them.
#[derive(Debug, Default)]
pub(super) struct Queues {
    by_name: HashMap<Name, Arc<QueueRow>>,
    by_id: HashMap<i64, Arc<QueueRow>>,
}

#[derive(Debug)]
pub(super) struct QueueRow {
    pub(super) id: i64,
    pub(super) name: Name,
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

    fn read(connection: &Connection) -> Result<Self, StoreError> {
        let mut queues = Self::default();
        let mut statement =
            connection.prepare_cached("SELECT id, name, settings FROM queues").map_err(failure)?;
        let rows = statement
            .query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?)))
            .map_err(failure)?;
        for row in rows {
            let (id, name, settings) = row.map_err(failure)?;
            let settings: QueueSettings = from_json(&settings)?;
            let in_force = InForce::from(&settings);
            let row = Arc::new(QueueRow { id, name: name_of(&name)?, settings, in_force });
            queues.by_name.insert(row.name.clone(), Arc::clone(&row));
            queues.by_id.insert(id, row);
        }
        Ok(queues)
    }
}

impl Memory {
    pub(super) fn read(connection: &Connection) -> Result<Self, StoreError> {
        let last: i64 = connection
            .query_row("SELECT coalesce(max(seq), 0) FROM messages", [], |row| row.get(0))
            .map_err(failure)?;
        Ok(Self { near: Near::new(), queues: Some(Queues::read(connection)?), next_seq: last + 1 })
    }

    /// Never given twice in a process, so that a lease can't meet another message under its number.
    pub(super) fn take_seq(&mut self) -> i64 {
        self.next_seq += 1;
        self.next_seq - 1
    }

    /// The queues, read again after a change.
    pub(super) fn queues(&mut self, connection: &Connection) -> Result<&Queues, StoreError> {
        match &mut self.queues {
            Some(queues) => Ok(queues),
            missing => Ok(missing.insert(Queues::read(connection)?)),
        }
    }

    /// The queues where they are known.
    pub(super) fn known_queues(&self) -> Option<&Queues> {
        self.queues.as_ref()
    }

    /// To be called by a job that changes a queue: what is read from now on is read from the file.
    pub(super) fn queues_changed(memory: &Arc<Mutex<Self>>, writing: &mut Writing<'_>) {
        lock(memory).queues = None;
        let undone = Arc::clone(memory);
        // A later job of the same transaction may have read what is now undone.
        writing.on_rollback(move || lock(&undone).queues = None);
    }
}

pub(super) fn lock(memory: &Mutex<Memory>) -> std::sync::MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What follows from a job once it is committed: entries of what is due soon, and wake-ups.
#[derive(Debug, Default)]
pub(super) struct Effects {
    waits: Vec<(i64, UnixMillis, i64)>,
    wakes: Vec<(Name, UnixMillis)>,
}

impl Effects {
    /// A message waits.
    pub(super) fn wait(&mut self, queue: &QueueRow, due_at: UnixMillis, seq: i64) {
        self.waits.push((queue.id, due_at, seq));
        match self.wakes.iter_mut().find(|(name, _)| *name == queue.name) {
            Some((_, first)) => *first = due_at.min(*first),
            None => self.wakes.push((queue.name.clone(), due_at)),
        }
    }

    /// Lets them follow.
    pub(super) fn follow(
        self,
        memory: &Arc<Mutex<Memory>>,
        wakes: &broadcast::Sender<Wake>,
        writing: &mut Writing<'_>,
    ) {
        if self.waits.is_empty() {
            return;
        }
        let (memory, wakes) = (Arc::clone(memory), wakes.clone());
        writing.on_commit(move || {
            let mut locked = lock(&memory);
            for (queue, due_at, seq) in self.waits {
                locked.near.wait(queue, due_at, seq);
            }
            drop(locked);
            for (queue, at) in self.wakes {
                // Without a listener nobody sleeps.
                let _ = wakes.send(Wake::Due { queue, at });
            }
        });
    }
}
