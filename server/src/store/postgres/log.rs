//! The event log: lookup, cancel, retry by hand, pages, figures.

use chronq::contract::MessageState;
use sqlx::{AssertSqlSafe, Postgres, QueryBuilder};
use uuid::Uuid;

use crate::store::encoding::{name_of, state_code, state_of, unsigned};
use crate::store::types::UnixMillis;
use crate::store::types::claim::{Cancelled, RetriedByHand};
use crate::store::types::event::{EventFilter, EventPage, Message};
use crate::store::types::queue::{QueueMetrics, Wake};

use super::PostgresStore;
use super::error::PgError;
use super::rows::{MESSAGE_COLUMNS, MESSAGE_TABLES, message as message_of};

pub(super) async fn message(store: &PostgresStore, id: Uuid) -> Result<Option<Message>, PgError> {
    let sql = format!("SELECT {MESSAGE_COLUMNS} FROM {MESSAGE_TABLES} WHERE c.id = $1");
    let row = sqlx::query(AssertSqlSafe(sql)).bind(id).fetch_optional(&store.pool).await?;
    row.as_ref().map(message_of).transpose()
}

/// The state of a message whose queue is there.
async fn state(store: &PostgresStore, id: Uuid) -> Result<Option<MessageState>, PgError> {
    let code: Option<i16> = sqlx::query_scalar(
        "SELECT m.state FROM contents c JOIN messages m ON m.seq = c.seq JOIN queues q ON q.id = c.queue \
         WHERE c.id = $1",
    )
    .bind(id)
    .fetch_optional(&store.pool)
    .await?;
    Ok(code.map(state_of).transpose()?)
}

pub(super) async fn cancel(store: &PostgresStore, now: UnixMillis, id: Uuid) -> Result<Cancelled, PgError> {
    let cancelled = sqlx::query(
        "UPDATE messages m SET state = $2, finished_at = $3 FROM contents c JOIN queues q ON q.id = c.queue \
         WHERE c.id = $1 AND m.seq = c.seq AND m.state < 2",
    )
    .bind(id)
    .bind(state_code(MessageState::Cancelled))
    .bind(now)
    .execute(&store.pool)
    .await?;
    if cancelled.rows_affected() > 0 {
        return Ok(Cancelled::Cancelled);
    }
    Ok(state(store, id).await?.map_or(Cancelled::NotFound, Cancelled::NotCancellable))
}

pub(super) async fn retry_failed(
    store: &PostgresStore,
    now: UnixMillis,
    id: Uuid,
) -> Result<(RetriedByHand, Option<Wake>), PgError> {
    let queue: Option<String> = sqlx::query_scalar(
        "UPDATE messages m SET state = 1, due_at = $2, finished_at = NULL, retried = m.retried + 1, \
         max_retries = m.retried + 1 FROM contents c JOIN queues q ON q.id = c.queue \
         WHERE c.id = $1 AND m.seq = c.seq AND m.state = 5 RETURNING q.name",
    )
    .bind(id)
    .bind(now)
    .fetch_optional(&store.pool)
    .await?;
    if let Some(queue) = queue {
        return Ok((RetriedByHand::Queued, Some(Wake::Due { queue: name_of(&queue)?, at: now })));
    }
    let answer = state(store, id).await?.map_or(RetriedByHand::NotFound, RetriedByHand::NotFailed);
    Ok((answer, None))
}

pub(super) async fn events(store: &PostgresStore, filter: &EventFilter) -> Result<EventPage, PgError> {
    let mut transaction = store.pool.begin().await?;
    // The page and its total are of one snapshot.
    sqlx::query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        .execute(&mut *transaction)
        .await?;
    let mut count = QueryBuilder::new("SELECT count(*) FROM contents c JOIN queues q ON q.id = c.queue");
    if filter.state.is_some() {
        count.push(" JOIN messages m ON m.seq = c.seq");
    }
    count.push(" WHERE TRUE");
    conditions(&mut count, filter);
    let total: i64 = count.build_query_scalar().fetch_one(&mut *transaction).await?;
    let mut page = QueryBuilder::new("SELECT ");
    page.push(MESSAGE_COLUMNS).push(" FROM ").push(MESSAGE_TABLES).push(" WHERE TRUE");
    conditions(&mut page, filter);
    page.push(" ORDER BY c.seq DESC LIMIT ").push_bind(i64::from(filter.limit));
    page.push(" OFFSET ").push_bind(i64::from(filter.offset));
    let rows = page.build().fetch_all(&mut *transaction).await?;
    transaction.commit().await?;
    let messages = rows.iter().map(message_of).collect::<Result<_, _>>()?;
    Ok(EventPage { messages, total: unsigned(total) })
}

fn conditions(query: &mut QueryBuilder<Postgres>, filter: &EventFilter) {
    if let Some(queue) = &filter.queue {
        query.push(" AND q.name = ").push_bind(queue.as_str().to_owned());
    }
    if let Some(state) = filter.state {
        query.push(" AND m.state = ").push_bind(state_code(state));
    }
    if let Some(schedule) = &filter.schedule {
        query.push(" AND c.schedule = ").push_bind(schedule.as_str().to_owned());
    }
    if let Some(label) = &filter.label {
        query.push(" AND c.seq IN (SELECT seq FROM message_labels WHERE label = ");
        query.push_bind(label.clone()).push(")");
    }
}

type Figures = (String, i64, i64, Option<i64>, Option<i64>, i64, i64);

pub(super) async fn metrics(store: &PostgresStore, since: UnixMillis) -> Result<Vec<QueueMetrics>, PgError> {
    let rows: Vec<Figures> = sqlx::query_as(
        "SELECT q.name, f.finished, f.succeeded, f.p50, f.p95, w.waiting, a.active FROM queues q \
         CROSS JOIN LATERAL ( \
             SELECT count(*) AS finished, count(*) FILTER (WHERE state = 3) AS succeeded, \
                    percentile_disc(0.5) WITHIN GROUP (ORDER BY coalesce(duration_ms, 0)) AS p50, \
                    percentile_disc(0.95) WITHIN GROUP (ORDER BY coalesce(duration_ms, 0)) AS p95 \
             FROM messages m WHERE m.queue = q.id AND m.finished_at >= $1 AND m.state IN (3, 5)) AS f \
         CROSS JOIN LATERAL ( \
             SELECT count(*) AS waiting FROM messages m WHERE m.queue = q.id AND m.state < 2) AS w \
         LEFT JOIN LATERAL ( \
             SELECT count(*) AS active FROM messages m WHERE m.queue = q.id AND m.state = 2) AS a ON TRUE \
         ORDER BY q.name",
    )
    .bind(since)
    .fetch_all(&store.pool)
    .await?;
    rows.into_iter()
        .map(|(queue, finished, succeeded, p50, p95, waiting, active)| {
            Ok(QueueMetrics {
                queue: name_of(&queue)?,
                finished: unsigned(finished),
                succeeded: unsigned(succeeded),
                p50_ms: p50.map(unsigned),
                p95_ms: p95.map(unsigned),
                waiting: unsigned(waiting),
                active: unsigned(active),
            })
        })
        .collect()
}
