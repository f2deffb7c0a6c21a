//! The verbs of messages.

use async_trait::async_trait;
use uuid::Uuid;

use crate::store::draft::Draft;
use crate::store::types::UnixMillis;
use crate::store::types::claim::{Cancelled, ClaimRequest, Claimed, RetriedByHand, Settled, Settlement};
use crate::store::types::event::{EventFilter, EventPage, Message};
use crate::store::types::message::{EnqueueAnswer, HandOver, NewMessage};
use crate::store::types::queue::{QueueAgenda, QueueMetrics};
use crate::store::{QueueStore, StoreResult};

use super::error::{answered, despite_conflicts};
use super::{PostgresStore, deliver, log, publish, purge};

#[async_trait]
impl QueueStore for PostgresStore {
    async fn enqueue(&self, messages: Vec<NewMessage>, hand_over: HandOver) -> StoreResult<EnqueueAnswer> {
        let now = self.clock.now_ms();
        let drafts = Draft::all(messages, &self.ids, now)?;
        let (answer, wakes) = despite_conflicts(|| {
            let (drafts, hand_over) = (drafts.clone(), hand_over.clone());
            async move {
                let mut connection = self.pool.acquire().await?;
                publish::enqueue(&mut connection, &self.queues, now, drafts, hand_over).await
            }
        })
        .await?;
        self.wake_all(wakes);
        Ok(answer)
    }

    async fn claim(&self, request: ClaimRequest) -> StoreResult<Vec<Claimed>> {
        let now = self.clock.now_ms();
        despite_conflicts(|| deliver::claim(self, now, &request)).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> StoreResult<Vec<Settled>> {
        let now = self.clock.now_ms();
        let (settled, wakes) = despite_conflicts(|| deliver::settle(self, now, &settlements)).await?;
        self.wake_all(wakes);
        Ok(settled)
    }

    async fn rescue(&self) -> StoreResult<u64> {
        let now = self.clock.now_ms();
        let mut rescued = 0;
        loop {
            let (count, wakes) = despite_conflicts(|| deliver::rescue(self, now)).await?;
            self.wake_all(wakes);
            rescued += count;
            if count < deliver::RESCUE_ROWS {
                return Ok(rescued);
            }
        }
    }

    async fn agenda(&self) -> StoreResult<Vec<QueueAgenda>> {
        answered(deliver::agenda(self)).await
    }

    async fn message(&self, id: Uuid) -> StoreResult<Option<Message>> {
        answered(log::message(self, id)).await
    }

    async fn cancel(&self, id: Uuid) -> StoreResult<Cancelled> {
        let now = self.clock.now_ms();
        despite_conflicts(|| log::cancel(self, now, id)).await
    }

    async fn retry_failed(&self, id: Uuid) -> StoreResult<RetriedByHand> {
        let now = self.clock.now_ms();
        let (answer, wake) = despite_conflicts(|| log::retry_failed(self, now, id)).await?;
        self.wake_all(wake);
        Ok(answer)
    }

    async fn events(&self, filter: EventFilter) -> StoreResult<EventPage> {
        answered(log::events(self, &filter)).await
    }

    async fn queue_metrics(&self, since: UnixMillis) -> StoreResult<Vec<QueueMetrics>> {
        answered(log::metrics(self, since)).await
    }

    async fn purge(&self, limit: u32) -> StoreResult<u64> {
        let now = self.clock.now_ms();
        despite_conflicts(|| purge::purge(self, now, limit)).await
    }
}
