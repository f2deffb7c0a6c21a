//! The verbs of messages, each one job of the writer or one query of a reader.

use std::sync::Arc;

use async_trait::async_trait;
use uuid::Uuid;

use crate::store::draft::Draft;
use crate::store::types::UnixMillis;
use crate::store::types::claim::{Cancelled, ClaimRequest, Claimed, RetriedByHand, Settled, Settlement};
use crate::store::types::event::{EventFilter, EventPage, Message};
use crate::store::types::message::{EnqueueAnswer, HandOver, NewMessage};
use crate::store::types::queue::{QueueAgenda, QueueMetrics};
use crate::store::{QueueStore, StoreResult};

use super::{SqliteStore, deliver, log, memory, publish, purge};

#[async_trait]
impl QueueStore for SqliteStore {
    async fn enqueue(&self, messages: Vec<NewMessage>, hand_over: HandOver) -> StoreResult<EnqueueAnswer> {
        let now = self.clock.now_ms();
        let drafts = Draft::all(messages, &self.ids, now)?;
        let (memory, wakes) = (Arc::clone(&self.memory), self.wakes.clone());
        self.write(move |writing| publish::enqueue(writing, &memory, &wakes, now, drafts, hand_over)).await
    }

    async fn claim(&self, request: ClaimRequest) -> StoreResult<Vec<Claimed>> {
        self.load_near().await?;
        let now = self.clock.now_ms();
        let memory = Arc::clone(&self.memory);
        self.write(move |writing| deliver::claim(writing, &memory, now, &request)).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> StoreResult<Vec<Settled>> {
        let now = self.clock.now_ms();
        let (memory, wakes, ids) = (Arc::clone(&self.memory), self.wakes.clone(), Arc::clone(&self.ids));
        self.write(move |writing| deliver::settle(writing, &memory, &wakes, &ids, now, &settlements)).await
    }

    async fn rescue(&self) -> StoreResult<u64> {
        let now = self.clock.now_ms();
        let (memory, wakes) = (Arc::clone(&self.memory), self.wakes.clone());
        self.write(move |writing| deliver::rescue(writing, &memory, &wakes, now)).await
    }

    async fn agenda(&self) -> StoreResult<Vec<QueueAgenda>> {
        self.load_near().await?;
        if let Some(agenda) = deliver::agenda(&self.memory()) {
            return Ok(agenda);
        }
        let memory = Arc::clone(&self.memory);
        self.write(move |writing| {
            let mut locked = memory::lock(&memory);
            locked.queues(writing.connection)?;
            Ok(deliver::agenda(&locked).unwrap_or_default())
        })
        .await
    }

    async fn message(&self, id: Uuid) -> StoreResult<Option<Message>> {
        self.read(move |connection| log::message(connection, id)).await
    }

    async fn cancel(&self, id: Uuid) -> StoreResult<Cancelled> {
        let now = self.clock.now_ms();
        let memory = Arc::clone(&self.memory);
        self.write(move |writing| log::cancel(writing.connection, &memory, now, id)).await
    }

    async fn retry_failed(&self, id: Uuid) -> StoreResult<RetriedByHand> {
        let now = self.clock.now_ms();
        let (memory, wakes) = (Arc::clone(&self.memory), self.wakes.clone());
        self.write(move |writing| log::retry_failed(writing, &memory, &wakes, now, id)).await
    }

    async fn events(&self, filter: EventFilter) -> StoreResult<EventPage> {
        self.read(move |connection| log::events(connection, &filter)).await
    }

    async fn queue_metrics(&self, since: UnixMillis) -> StoreResult<Vec<QueueMetrics>> {
        self.read(move |connection| log::metrics(connection, since)).await
    }

    async fn purge(&self, limit: u32) -> StoreResult<u64> {
        let now = self.clock.now_ms();
        let memory = Arc::clone(&self.memory);
        self.write(move |writing| purge::purge(writing.connection, &memory, now, limit)).await
    }
}

impl SqliteStore {
    /// Brings what is due soon into memory, in steps that let other jobs pass between them.
    async fn load_near(&self) -> StoreResult<()> {
        loop {
            let wanted = self.memory().near.load_through(self.clock.now_ms());
            let Some(wanted) = wanted else { return Ok(()) };
            let (memory, wakes) = (Arc::clone(&self.memory), self.wakes.clone());
            self.write(move |writing| deliver::load(writing, &memory, &wakes, wanted)).await?;
        }
    }
}
