//! A message on its way into a table: minted and encoded before the transaction begins.

use uuid::Uuid;

use super::encoding::{callback_json, headers_json, labels_json, signed};
use super::error::StoreError;
use super::ids::IdMint;
use super::types::UnixMillis;
use super::types::claim::{Claimed, Lease};
use super::types::message::NewMessage;
use super::types::queue::InForce;

/// A message with its id and its columns.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) id: Uuid,
    pub(crate) message: NewMessage,
    pub(crate) headers: String,
    pub(crate) labels: Option<String>,
    pub(crate) callback: Option<String>,
    pub(crate) failure_callback: Option<String>,
    /// The failed message that this one replaces.
    pub(crate) dead_letter_of: Option<Uuid>,
}

/// The options of a message with the queue's settings under them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolved {
    pub(crate) max_retries: u32,
    pub(crate) timeout_ms: u64,
    pub(crate) retry_delay_ms: u64,
}

impl Draft {
    pub(crate) fn new(message: NewMessage, mint: &IdMint, now: UnixMillis) -> Result<Self, StoreError> {
        Ok(Self {
            id: mint.mint(now)?,
            headers: headers_json(&message.headers)?,
            labels: labels_json(&message.labels)?,
            callback: callback_json(message.callback.as_ref())?,
            failure_callback: callback_json(message.failure_callback.as_ref())?,
            message,
            dead_letter_of: None,
        })
    }

    pub(crate) fn all(
        messages: Vec<NewMessage>,
        mint: &IdMint,
        now: UnixMillis,
    ) -> Result<Vec<Self>, StoreError> {
        messages.into_iter().map(|message| Self::new(message, mint, now)).collect()
    }

    /// Header over queue setting over default.
    pub(crate) fn resolve(&self, queue: &InForce) -> Resolved {
        Resolved {
            max_retries: self.message.retries.unwrap_or(queue.retry_limit),
            timeout_ms: self.message.timeout_ms.unwrap_or(queue.expire_ms),
            retry_delay_ms: self.message.retry_delay_ms.unwrap_or(queue.retry_delay_ms),
        }
    }

    /// The message as the first claim of it would read it.
    pub(crate) fn into_claimed(self, lease: Lease, queue: &InForce, now: UnixMillis) -> Claimed {
        let resolved = self.resolve(queue);
        let message = self.message;
        Claimed {
            lease,
            id: self.id,
            queue: message.queue,
            destination: message.destination,
            method: message.method,
            headers: message.headers,
            body: message.body,
            retried: 0,
            max_retries: resolved.max_retries,
            timeout_ms: resolved.timeout_ms,
            retry_delay_ms: resolved.retry_delay_ms,
            max_delay_ms: queue.max_delay_ms,
            backoff: queue.backoff,
            labels: message.labels,
            callback: message.callback,
            failure_callback: message.failure_callback,
            schedule: message.schedule,
            dead_letter_of: self.dead_letter_of,
            created_at: now,
        }
    }
}

impl Resolved {
    /// The end of a lease that begins now.
    pub(crate) fn lease_until(&self, now: UnixMillis, lease_ms: u64) -> UnixMillis {
        now.saturating_add(signed(self.timeout_ms)).saturating_add(signed(lease_ms))
    }
}
