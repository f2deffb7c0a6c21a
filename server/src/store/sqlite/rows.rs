//! Reads rows into values.

use bytes::Bytes;
use chronq::Name;
use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use crate::store::encoding::{
    count_u32, destination_of, headers_of, labels_of, name_of, optional_json, state_of, unsigned, word_of,
};
use crate::store::error::StoreError;
use crate::store::types::claim::{AttemptResponse, Claimed, Lease};
use crate::store::types::event::Message;
use crate::store::types::queue::InForce;

use super::failure;

/// A column; a wrong type is corruption, not our caller's fault.
pub(super) fn column<T: rusqlite::types::FromSql>(row: &Row<'_>, index: usize) -> Result<T, StoreError> {
    row.get(index).map_err(|error| StoreError::Corrupt(error.to_string()))
}

pub(super) fn uuid(row: &Row<'_>, index: usize) -> Result<Uuid, StoreError> {
    column::<[u8; 16]>(row, index).map(Uuid::from_bytes)
}

pub(super) fn optional_uuid(row: &Row<'_>, index: usize) -> Result<Option<Uuid>, StoreError> {
    Ok(column::<Option<[u8; 16]>>(row, index)?.map(Uuid::from_bytes))
}

/// What a claim's `UPDATE … RETURNING` answers.
pub(super) struct ClaimedRow {
    pub(super) id: Uuid,
    pub(super) claim: i32,
    pub(super) lease_until: i64,
    pub(super) retried: i64,
    pub(super) max_retries: i64,
    pub(super) timeout_ms: i64,
    pub(super) retry_delay_ms: i64,
    pub(super) created_at: i64,
    pub(super) schedule: Option<String>,
    pub(super) dead_letter_of: Option<Uuid>,
}

impl ClaimedRow {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: Uuid::from_bytes(row.get(0)?),
            claim: row.get(1)?,
            lease_until: row.get(2)?,
            retried: row.get(3)?,
            max_retries: row.get(4)?,
            timeout_ms: row.get(5)?,
            retry_delay_ms: row.get(6)?,
            created_at: row.get(7)?,
            schedule: row.get(8)?,
            dead_letter_of: row.get::<_, Option<[u8; 16]>>(9)?.map(Uuid::from_bytes),
        })
    }

    /// With its content, all that an attempt needs.
    pub(super) fn with_content(
        self,
        connection: &Connection,
        seq: i64,
        queue: (&Name, &InForce),
    ) -> Result<Claimed, StoreError> {
        let sql = "SELECT method, url, headers, labels, callback, failure_callback, body \
                   FROM contents WHERE seq = ?1";
        let mut statement = connection.prepare_cached(sql).map_err(failure)?;
        let mut rows = statement.query(params![seq]).map_err(failure)?;
        let row = rows
            .next()
            .map_err(failure)?
            .ok_or_else(|| StoreError::Corrupt(format!("message {} has no content", self.id)))?;
        Ok(Claimed {
            lease: Lease { seq, claim: self.claim, until: self.lease_until },
            id: self.id,
            queue: queue.0.clone(),
            method: word_of(&column::<String>(row, 0)?)?,
            destination: destination_of(&column::<String>(row, 1)?)?,
            headers: headers_of(&column::<String>(row, 2)?)?,
            labels: labels_of(column::<Option<String>>(row, 3)?.as_deref())?,
            callback: optional_json(column::<Option<String>>(row, 4)?.as_deref())?,
            failure_callback: optional_json(column::<Option<String>>(row, 5)?.as_deref())?,
            body: Bytes::from(column::<Vec<u8>>(row, 6)?),
            retried: count_u32(self.retried),
            max_retries: count_u32(self.max_retries),
            timeout_ms: unsigned(self.timeout_ms),
            retry_delay_ms: unsigned(self.retry_delay_ms),
            max_delay_ms: queue.1.max_delay_ms,
            backoff: queue.1.backoff,
            schedule: self.schedule.as_deref().map(name_of).transpose()?,
            dead_letter_of: self.dead_letter_of,
            created_at: self.created_at,
        })
    }
}

/// What [`message`] reads, in its order; `m` messages, `q` queues, `c` contents, `r` responses.
pub(super) const MESSAGE_COLUMNS: &str = "m.id, q.name, m.state, c.url, c.method, c.labels, m.schedule, \
     m.dead_letter_of, m.created_at, m.due_at, m.started_at, m.finished_at, m.retried, m.max_retries, \
     r.status, r.headers, r.body, r.truncated, r.duration_ms";

/// The tables under [`MESSAGE_COLUMNS`].
pub(super) const MESSAGE_TABLES: &str = "messages m JOIN queues q ON q.id = m.queue \
     JOIN contents c ON c.seq = m.seq LEFT JOIN responses r ON r.seq = m.seq";

pub(super) fn message(row: &Row<'_>) -> Result<Message, StoreError> {
    let response = match column::<Option<i64>>(row, 14)? {
        None => None,
        Some(status) => Some(AttemptResponse {
            status: u16::try_from(status).map_err(|_| StoreError::Corrupt(format!("status {status}")))?,
            headers: headers_of(&column::<String>(row, 15)?)?,
            body: Bytes::from(column::<Vec<u8>>(row, 16)?),
            truncated: column(row, 17)?,
            duration_ms: unsigned(column(row, 18)?),
        }),
    };
    Ok(Message {
        id: uuid(row, 0)?,
        queue: name_of(&column::<String>(row, 1)?)?,
        state: state_of(column(row, 2)?)?,
        destination: destination_of(&column::<String>(row, 3)?)?,
        method: word_of(&column::<String>(row, 4)?)?,
        labels: labels_of(column::<Option<String>>(row, 5)?.as_deref())?,
        schedule: column::<Option<String>>(row, 6)?.as_deref().map(name_of).transpose()?,
        dead_letter_of: optional_uuid(row, 7)?,
        created_at: column(row, 8)?,
        due_at: column(row, 9)?,
        started_at: column(row, 10)?,
        finished_at: column(row, 11)?,
        retried: count_u32(column(row, 12)?),
        max_retries: count_u32(column(row, 13)?),
        response,
    })
}

/// One row or none.
pub(super) fn one<T, P: rusqlite::Params>(
    connection: &Connection,
    sql: &str,
    parameters: P,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(failure)?;
    statement.query_row(parameters, read).optional().map_err(failure)
}

/// Every row.
pub(super) fn all<T, P: rusqlite::Params>(
    connection: &Connection,
    sql: &str,
    parameters: P,
    read: impl Fn(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(failure)?;
    let mut rows = statement.query(parameters).map_err(failure)?;
    let mut values = Vec::new();
    while let Some(row) = rows.next().map_err(failure)? {
        values.push(read(row)?);
    }
    Ok(values)
}

/// Runs a statement; answers how many rows it changed.
pub(super) fn execute<P: rusqlite::Params>(
    connection: &Connection,
    sql: &str,
    parameters: P,
) -> Result<usize, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(failure)?;
    statement.execute(parameters).map_err(failure)
}
