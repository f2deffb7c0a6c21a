//! Reads rows into values.

use bytes::Bytes;
use chronq::Name;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::store::encoding::{
    destination_of, headers_of, labels_of, name_of, optional_json, state_of, unsigned, word_of,
};
use crate::store::error::StoreError;
use crate::store::types::claim::{AttemptResponse, Claimed, Lease};
use crate::store::types::event::Message;
use crate::store::types::queue::InForce;

use super::error::PgError;

/// What [`claimed`] reads, in its order; `m` a claimed message, `c` contents.
pub(super) const CLAIMED_COLUMNS: &str = "m.seq, m.claim, m.lease_until, c.id, m.retried, m.max_retries, \
     m.timeout_ms, m.retry_delay_ms, c.created_at, c.schedule, c.dead_letter_of, c.method, c.url, c.headers, \
     c.labels, c.callback, c.failure_callback, c.body";

pub(super) fn claimed(row: &PgRow, queue: &Name, in_force: &InForce) -> Result<Claimed, PgError> {
    Ok(Claimed {
        lease: Lease { seq: row.try_get(0)?, claim: row.try_get(1)?, until: row.try_get(2)? },
        id: row.try_get(3)?,
        queue: queue.clone(),
        retried: count(row, 4)?,
        max_retries: count(row, 5)?,
        timeout_ms: unsigned(row.try_get(6)?),
        retry_delay_ms: unsigned(row.try_get(7)?),
        max_delay_ms: in_force.max_delay_ms,
        backoff: in_force.backoff,
        created_at: row.try_get(8)?,
        schedule: row.try_get::<Option<&str>, _>(9)?.map(name_of).transpose()?,
        dead_letter_of: row.try_get(10)?,
        method: word_of(row.try_get(11)?)?,
        destination: destination_of(row.try_get(12)?)?,
        headers: headers_of(row.try_get(13)?)?,
        labels: labels_of(row.try_get(14)?)?,
        callback: optional_json(row.try_get(15)?)?,
        failure_callback: optional_json(row.try_get(16)?)?,
        body: Bytes::from(row.try_get::<Vec<u8>, _>(17)?),
    })
}

/// What [`message`] reads, in its order; `m` messages, `q` queues, `c` contents, `r` responses.
pub(super) const MESSAGE_COLUMNS: &str = "c.id, q.name, m.state, c.url, c.method, c.labels, c.schedule, \
     c.dead_letter_of, c.created_at, m.due_at, m.started_at, m.finished_at, m.retried, m.max_retries, \
     r.status, r.headers, r.body, r.truncated, r.duration_ms";

/// The tables under [`MESSAGE_COLUMNS`].
pub(super) const MESSAGE_TABLES: &str = "contents c JOIN messages m ON m.seq = c.seq \
     JOIN queues q ON q.id = c.queue LEFT JOIN responses r ON r.seq = c.seq";

pub(super) fn message(row: &PgRow) -> Result<Message, PgError> {
    let response = match row.try_get::<Option<i32>, _>(14)? {
        None => None,
        Some(status) => Some(AttemptResponse {
            status: u16::try_from(status).map_err(|_| StoreError::Corrupt(format!("status {status}")))?,
            headers: headers_of(row.try_get(15)?)?,
            body: Bytes::from(row.try_get::<Vec<u8>, _>(16)?),
            truncated: row.try_get(17)?,
            duration_ms: unsigned(row.try_get(18)?),
        }),
    };
    Ok(Message {
        id: row.try_get(0)?,
        queue: name_of(row.try_get(1)?)?,
        state: state_of(row.try_get(2)?)?,
        destination: destination_of(row.try_get(3)?)?,
        method: word_of(row.try_get(4)?)?,
        labels: labels_of(row.try_get(5)?)?,
        schedule: row.try_get::<Option<&str>, _>(6)?.map(name_of).transpose()?,
        dead_letter_of: row.try_get(7)?,
        created_at: row.try_get(8)?,
        due_at: row.try_get(9)?,
        started_at: row.try_get(10)?,
        finished_at: row.try_get(11)?,
        retried: count(row, 12)?,
        max_retries: count(row, 13)?,
        response,
    })
}

fn count(row: &PgRow, index: usize) -> Result<u32, PgError> {
    Ok(u32::try_from(row.try_get::<i32, _>(index)?).unwrap_or(0))
}
