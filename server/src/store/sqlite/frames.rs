//! Appending frames on SQLite: offsets of a partition are handed out inside one transaction.

use rusqlite::{Connection, OptionalExtension, params};

use crate::store::log::NewFrame;
use crate::store::timers::UnixMicros;

/// A frame's row: `partition_id << 40 | offset`.
pub(super) const OFFSET_BITS: u32 = 40;

/// The first row of a partition.
pub(super) const fn position(partition_id: i64, offset: i64) -> i64 {
    partition_id << OFFSET_BITS | offset
}

/// Appends frames within one transaction.
pub(super) struct Appender<'a> {
    conn: &'a Connection,
    now_us: UnixMicros,
    open: Vec<OpenPartition>,
}

struct OpenPartition {
    queue_id: i64,
    name: String,
    id: i64,
    next_offset: i64,
}

impl<'a> Appender<'a> {
    pub(super) fn new(conn: &'a Connection, now_us: UnixMicros) -> Self {
        Self { conn, now_us, open: Vec::new() }
    }

    /// A queue that is only named by now exists from now on.
    pub(super) fn open_queue(&self, tenant: &str, queue: &str) -> rusqlite::Result<i64> {
        self.conn
            .prepare_cached(
                "INSERT INTO log_queues (tenant, name, created_us) VALUES (?1, ?2, ?3)
                 ON CONFLICT (tenant, name) DO UPDATE SET created_us = coalesce(created_us, excluded.created_us)
                 RETURNING id",
            )?
            .query_row(params![tenant, queue, self.now_us], |row| row.get(0))
    }

    /// A partition, made where it does not exist.
    fn partition(&mut self, queue_id: i64, partition: &str) -> rusqlite::Result<&mut OpenPartition> {
        let found = self.open.iter().position(|open| open.queue_id == queue_id && open.name == partition);
        let at = if let Some(at) = found {
            at
        } else {
            self.open.push(self.open_partition(queue_id, partition)?);
            self.open.len() - 1
        };
        Ok(&mut self.open[at])
    }

    /// Takes the place of the next frame of a partition.
    fn next(&mut self, queue_id: i64, partition: &str) -> rusqlite::Result<i64> {
        let open = self.partition(queue_id, partition)?;
        let next = position(open.id, open.next_offset);
        open.next_offset += 1;
        Ok(next)
    }

    fn open_partition(&self, queue_id: i64, partition: &str) -> rusqlite::Result<OpenPartition> {
        let found = self
            .conn
            .prepare_cached("SELECT id, next_offset FROM log_partitions WHERE queue_id = ?1 AND name = ?2")?
            .query_row(params![queue_id, partition], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let (id, next_offset) = if let Some(found) = found {
            found
        } else {
            self.conn
                .prepare_cached("UPDATE log_queues SET created_us = ?2 WHERE id = ?1 AND created_us IS NULL")?
                .execute(params![queue_id, self.now_us])?;
            self.conn
                .prepare_cached("INSERT INTO log_partitions (queue_id, name) VALUES (?1, ?2)")?
                .execute(params![queue_id, partition])?;
            (self.conn.last_insert_rowid(), 0)
        };
        Ok(OpenPartition { queue_id, name: partition.to_owned(), id, next_offset })
    }

    /// Timers become frames of a partition, in this order, without their payloads leaving the database.
    /// `ids` is a JSON array of `count` ids.
    pub(super) fn append_timers(
        &mut self,
        queue_id: i64,
        partition: &str,
        ids: &str,
        count: usize,
    ) -> rusqlite::Result<()> {
        let now_us = self.now_us;
        let conn = self.conn;
        let open = self.partition(queue_id, partition)?;
        let appended = conn
            .prepare_cached(
                "INSERT INTO log_frames (position, queue_id, txn, message_id, packing, producer, created_us, payload)
                 SELECT ?2 + j.key, t.queue_id, t.txn, t.message_id, t.packing, t.producer, ?3, t.payload
                 FROM json_each(?1) j CROSS JOIN timers t ON t.id = j.value",
            )?
            .execute(params![ids, position(open.id, open.next_offset), now_us])?;
        if appended != count {
            // A place in the log would stay empty.
            return Err(rusqlite::Error::StatementChangedRows(appended));
        }
        open.next_offset += i64::try_from(count).unwrap_or(i64::MAX);
        Ok(())
    }

    pub(super) fn append(
        &mut self,
        queue_id: i64,
        producer: Option<&str>,
        frame: &NewFrame,
    ) -> rusqlite::Result<()> {
        let position = self.next(queue_id, &frame.partition)?;
        self.conn
            .prepare_cached(
                "INSERT INTO log_frames (position, queue_id, txn, message_id, packing, producer, created_us, payload)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                position,
                queue_id,
                frame.txn,
                frame.message_id.as_bytes().as_slice(),
                frame.packing.bits(),
                producer,
                self.now_us,
                frame.payload,
            ])?;
        Ok(())
    }

    /// A dead letter becomes a frame again.
    pub(super) fn append_dead_letter(
        &mut self,
        id: i64,
        queue_id: i64,
        partition: &str,
        message_id: &[u8],
    ) -> rusqlite::Result<()> {
        let position = self.next(queue_id, partition)?;
        self.conn
            .prepare_cached(
                "INSERT INTO log_frames (position, queue_id, txn, message_id, packing, producer, created_us, payload)
                 SELECT ?2, queue_id, txn, ?3, packing, producer, ?4, payload FROM log_dead_letters WHERE id = ?1",
            )?
            .execute(params![id, position, message_id, self.now_us])?;
        Ok(())
    }

    /// Writes the offsets back; nothing is appended without it.
    pub(super) fn finish(self) -> rusqlite::Result<()> {
        for open in &self.open {
            self.conn
                .prepare_cached("UPDATE log_partitions SET next_offset = ?2 WHERE id = ?1")?
                .execute(params![open.id, open.next_offset])?;
        }
        Ok(())
    }
}
