//! The statements of URL groups.

use chronq::contract::limits;
use chronq::{Destination, Name};
use rusqlite::{Connection, params};

use crate::store::encoding::{destination_of, name_of};
use crate::store::error::StoreError;
use crate::store::types::UnixMillis;
use crate::store::types::group::{Group, GroupAddition};

use super::rows::{all, column, execute};

pub(super) fn add(
    connection: &Connection,
    now: UnixMillis,
    name: &Name,
    endpoints: &[Destination],
) -> Result<GroupAddition, StoreError> {
    let known = get(connection, name)?;
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
    if known.is_none() {
        let sql = "INSERT INTO url_groups (name, created_at, updated_at) VALUES (?1, ?2, ?2)";
        execute(connection, sql, params![name.as_str(), now])?;
    }
    for url in &urls[before..] {
        execute(
            connection,
            "INSERT INTO url_group_endpoints (group_name, url) VALUES (?1, ?2)",
            params![name.as_str(), url.as_str()],
        )?;
    }
    if urls.len() > before {
        touch(connection, now, name)?;
    }
    let group = get(connection, name)?
        .ok_or_else(|| StoreError::Internal(format!("group {name} was made and is not there")))?;
    Ok(GroupAddition::Group(group))
}

pub(super) fn remove(
    connection: &Connection,
    now: UnixMillis,
    name: &Name,
    endpoints: &[Destination],
) -> Result<Option<Group>, StoreError> {
    let mut gone = 0;
    for endpoint in endpoints {
        gone += execute(
            connection,
            "DELETE FROM url_group_endpoints WHERE group_name = ?1 AND url = ?2",
            params![name.as_str(), endpoint.as_str()],
        )?;
    }
    if gone > 0 {
        touch(connection, now, name)?;
    }
    get(connection, name)
}

pub(super) fn list(connection: &Connection) -> Result<Vec<Group>, StoreError> {
    let sql = "SELECT name, created_at, updated_at FROM url_groups ORDER BY name";
    let mut groups = all(connection, sql, [], group)?;
    for group in &mut groups {
        group.endpoints = endpoints(connection, &group.name)?;
    }
    Ok(groups)
}

pub(super) fn get(connection: &Connection, name: &Name) -> Result<Option<Group>, StoreError> {
    let sql = "SELECT name, created_at, updated_at FROM url_groups WHERE name = ?1";
    let Some(mut found) = all(connection, sql, params![name.as_str()], group)?.pop() else {
        return Ok(None);
    };
    found.endpoints = endpoints(connection, name)?;
    Ok(Some(found))
}

pub(super) fn delete(connection: &Connection, name: &Name) -> Result<bool, StoreError> {
    execute(connection, "DELETE FROM url_group_endpoints WHERE group_name = ?1", params![name.as_str()])?;
    Ok(execute(connection, "DELETE FROM url_groups WHERE name = ?1", params![name.as_str()])? > 0)
}

fn touch(connection: &Connection, now: UnixMillis, name: &Name) -> Result<(), StoreError> {
    let sql = "UPDATE url_groups SET updated_at = ?2 WHERE name = ?1";
    execute(connection, sql, params![name.as_str(), now]).map(drop)
}

fn endpoints(connection: &Connection, name: &Name) -> Result<Vec<Destination>, StoreError> {
    let sql = "SELECT url FROM url_group_endpoints WHERE group_name = ?1 ORDER BY seq";
    all(connection, sql, params![name.as_str()], |row| destination_of(&column::<String>(row, 0)?))
}

fn group(row: &rusqlite::Row<'_>) -> Result<Group, StoreError> {
    Ok(Group {
        name: name_of(&column::<String>(row, 0)?)?,
        created_at: column(row, 1)?,
        updated_at: column(row, 2)?,
        endpoints: Vec::new(),
    })
}
