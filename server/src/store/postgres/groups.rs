//! URL groups.

use chronq::contract::limits;
use chronq::{Destination, Name};
use sqlx::PgConnection;

use crate::store::encoding::{destination_of, name_of};
use crate::store::error::StoreError;
use crate::store::types::group::{Group, GroupAddition};

use super::PostgresStore;
use super::error::PgError;

/// Changes of groups wait for each other; publishes only read them.
const LOCK_GROUPS: &str = "LOCK TABLE url_groups IN SHARE ROW EXCLUSIVE MODE";

pub(super) async fn add(
    store: &PostgresStore,
    name: &Name,
    endpoints: &[Destination],
) -> Result<GroupAddition, PgError> {
    let now = store.clock.now_ms();
    let mut transaction = store.pool.begin().await?;
    sqlx::query(LOCK_GROUPS).execute(&mut *transaction).await?;
    let known = read(&mut transaction, Some(name)).await?.pop();
    let mut urls: Vec<&Destination> = known.iter().flat_map(|group| &group.endpoints).collect();
    let before = urls.len();
    for endpoint in endpoints {
        if !urls.contains(&endpoint) {
            urls.push(endpoint);
        }
    }
    if urls.len() > limits::MAX_GROUP_ENDPOINTS {
        return Ok(GroupAddition::Full);
    }
    if known.is_none() || urls.len() > before {
        sqlx::query(
            "INSERT INTO url_groups (name, created_at, updated_at) VALUES ($1, $2, $2) \
             ON CONFLICT (name) DO UPDATE SET updated_at = $2",
        )
        .bind(name.as_str())
        .bind(now)
        .execute(&mut *transaction)
        .await?;
    }
    sqlx::query(
        "INSERT INTO url_group_endpoints (group_name, url) \
         SELECT $1, url FROM unnest($2::text[]) WITH ORDINALITY AS given (url, place) ORDER BY place",
    )
    .bind(name.as_str())
    .bind(urls[before..].iter().map(|url| url.as_str()).collect::<Vec<_>>())
    .execute(&mut *transaction)
    .await?;
    let group = read(&mut transaction, Some(name))
        .await?
        .pop()
        .ok_or_else(|| StoreError::Internal(format!("group {name} was made and is not there")))?;
    transaction.commit().await?;
    Ok(GroupAddition::Group(group))
}

pub(super) async fn remove(
    store: &PostgresStore,
    name: &Name,
    endpoints: &[Destination],
) -> Result<Option<Group>, PgError> {
    let now = store.clock.now_ms();
    let mut transaction = store.pool.begin().await?;
    sqlx::query(LOCK_GROUPS).execute(&mut *transaction).await?;
    let gone = sqlx::query("DELETE FROM url_group_endpoints WHERE group_name = $1 AND url = ANY($2)")
        .bind(name.as_str())
        .bind(endpoints.iter().map(Destination::as_str).collect::<Vec<_>>())
        .execute(&mut *transaction)
        .await?;
    if gone.rows_affected() > 0 {
        sqlx::query("UPDATE url_groups SET updated_at = $2 WHERE name = $1")
            .bind(name.as_str())
            .bind(now)
            .execute(&mut *transaction)
            .await?;
    }
    let left = read(&mut transaction, Some(name)).await?.pop();
    transaction.commit().await?;
    Ok(left)
}

/// All groups, or the one of this name.
pub(super) async fn list(store: &PostgresStore, name: Option<&Name>) -> Result<Vec<Group>, PgError> {
    let mut connection = store.pool.acquire().await?;
    read(&mut connection, name).await
}

pub(super) async fn delete(store: &PostgresStore, name: &Name) -> Result<bool, PgError> {
    let mut transaction = store.pool.begin().await?;
    sqlx::query(LOCK_GROUPS).execute(&mut *transaction).await?;
    sqlx::query("DELETE FROM url_group_endpoints WHERE group_name = $1")
        .bind(name.as_str())
        .execute(&mut *transaction)
        .await?;
    let gone = sqlx::query("DELETE FROM url_groups WHERE name = $1")
        .bind(name.as_str())
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(gone.rows_affected() > 0)
}

/// One statement, so that a group and its endpoints are of one snapshot.
async fn read(connection: &mut PgConnection, name: Option<&Name>) -> Result<Vec<Group>, PgError> {
    let rows: Vec<(String, i64, i64, Option<String>)> = sqlx::query_as(
        "SELECT g.name, g.created_at, g.updated_at, e.url FROM url_groups g \
         LEFT JOIN url_group_endpoints e ON e.group_name = g.name \
         WHERE $1::text IS NULL OR g.name = $1 ORDER BY g.name, e.seq",
    )
    .bind(name.map(Name::as_str))
    .fetch_all(connection)
    .await?;
    let mut groups: Vec<Group> = Vec::new();
    for (name, created_at, updated_at, url) in rows {
        // Rows of one group follow each other.
        if groups.last().is_none_or(|group| group.name.as_str() != name) {
            groups.push(Group { name: name_of(&name)?, created_at, updated_at, endpoints: Vec::new() });
        }
        if let (Some(group), Some(url)) = (groups.last_mut(), url) {
            group.endpoints.push(destination_of(&url)?);
        }
    }
    Ok(groups)
}
