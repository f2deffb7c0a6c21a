//! URL groups.

use chronq::contract::limits;
use chronq::group::{Group, GroupEndpoint};
use chronq::{Destination, InvalidInput, Name};

use super::Refusal;
use crate::state::AppState;
use crate::store::types::group::{self, GroupAddition};

/// Every group, by name.
///
/// # Errors
/// [`Refusal::Store`].
pub async fn list(state: &AppState) -> Result<Vec<Group>, Refusal> {
    Ok(state.store.groups().await?.into_iter().map(wire).collect())
}

/// One group.
///
/// # Errors
/// [`Refusal::NotFound`].
pub async fn get(state: &AppState, name: &Name) -> Result<Group, Refusal> {
    state.store.group(name).await?.map(wire).ok_or_else(|| unknown(name))
}

/// Adds endpoints, making the group if it is missing; a known one is kept.
///
/// # Errors
/// [`Refusal::Invalid`] where the group would grow too large, or an address may not be dialled.
pub async fn add(state: &AppState, name: Name, urls: Vec<Destination>) -> Result<Group, Refusal> {
    for (index, url) in urls.iter().enumerate() {
        state.egress.guard().check_literal("url", url).map_err(|refused| refused.at_index(index))?;
    }
    match state.store.add_to_group(name, urls).await? {
        GroupAddition::Group(group) => Ok(wire(group)),
        GroupAddition::Full => {
            let message =
                format!("endpoints must be at most {} in one URL group", limits::MAX_GROUP_ENDPOINTS);
            Err(InvalidInput::new("endpoints", message).into())
        }
    }
}

/// Removes endpoints; the group may become empty.
///
/// # Errors
/// [`Refusal::NotFound`].
pub async fn remove(state: &AppState, name: &Name, urls: Vec<Destination>) -> Result<Group, Refusal> {
    state.store.remove_from_group(name, urls).await?.map(wire).ok_or_else(|| unknown(name))
}

/// Deletes a group; messages already queued still go.
///
/// # Errors
/// [`Refusal::NotFound`].
pub async fn delete(state: &AppState, name: &Name) -> Result<(), Refusal> {
    if state.store.delete_group(name).await? { Ok(()) } else { Err(unknown(name)) }
}

fn unknown(name: &Name) -> Refusal {
    Refusal::not_found("URL group", name.as_str())
}

fn wire(group: group::Group) -> Group {
    Group {
        name: group.name,
        created_at: group.created_at,
        updated_at: group.updated_at,
        endpoints: group.endpoints.into_iter().map(|url| GroupEndpoint { url }).collect(),
    }
}
