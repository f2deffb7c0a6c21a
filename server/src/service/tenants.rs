//! Tenants and the operator's switches: stored, and in force at once in this process.

use chronq::InvalidInput;

use crate::error::ApiError;
use crate::state::AppState;
use crate::store::StoreError;
use crate::store::timers::{TenantQuota, TimerSwitches};
use crate::timers;

/// Every tenant with a quota.
///
/// # Errors
/// Only store trouble.
pub async fn list(state: &AppState) -> Result<Vec<(String, TenantQuota)>, ApiError> {
    state.store.tenants().await.map_err(unavailable)
}

/// One tenant's quota.
///
/// # Errors
/// 404, or store trouble.
pub async fn get(state: &AppState, name: &str) -> Result<TenantQuota, ApiError> {
    let tenants = list(state).await?;
    let found = tenants.into_iter().find(|(tenant, _)| tenant == name);
    found.map(|(_, quota)| quota).ok_or_else(|| unknown(name))
}

/// Makes or replaces a tenant's quota: its grant and its plan.
///
/// # Errors
/// 400 for a name or number that cannot be; store trouble.
pub async fn put(state: &AppState, name: &str, quota: TenantQuota) -> Result<TenantQuota, ApiError> {
    check(name, &quota)?;
    state.store.put_tenant(name, quota.clone()).await.map_err(unavailable)?;
    timers::read_known(state).await.map_err(unavailable)?;
    Ok(quota)
}

/// Whether a tenant can have that name and that quota.
///
/// # Errors
/// [`InvalidInput`] naming the option.
pub fn check(name: &str, quota: &TenantQuota) -> Result<(), InvalidInput> {
    chronq::Name::parse("tenant", name)?;
    if quota.max_schedules_per_second.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
        let option = "maxSchedulesPerSecond";
        return Err(InvalidInput::new(option, format!("{option} must be a number above 0")));
    }
    if quota.burst == Some(0) {
        return Err(InvalidInput::new("burst", "burst must be at least 1"));
    }
    Ok(())
}

/// Deletes a tenant's quota: it may schedule nothing from now on. Its timers stay, and fire.
///
/// # Errors
/// 404, or store trouble.
pub async fn delete(state: &AppState, name: &str) -> Result<(), ApiError> {
    let deleted = state.store.delete_tenant(name).await.map_err(unavailable)?;
    timers::read_known(state).await.map_err(unavailable)?;
    if deleted { Ok(()) } else { Err(unknown(name)) }
}

/// Sets the operator's switches.
///
/// # Errors
/// Only store trouble.
pub async fn put_switches(state: &AppState, switches: TimerSwitches) -> Result<(), ApiError> {
    state.store.put_timer_switches(switches).await.map_err(unavailable)?;
    timers::read_known(state).await.map_err(unavailable)
}

fn unknown(name: &str) -> ApiError {
    ApiError::not_found(format!("no such tenant: \"{name}\""))
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to map_err by name")]
fn unavailable(error: StoreError) -> ApiError {
    tracing::warn!(%error, "the store could not serve an operator's call");
    ApiError::unavailable()
}
