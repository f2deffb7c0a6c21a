//! `/v2/admin/tenants`: grants and plans of tenants.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use chronq::contract::paths;
use serde::Serialize;
use serde_json::{Value, json};

use super::body::Whole;
use super::path::Path;
use crate::auth::{Admin, Authorized};
use crate::error::ApiError;
use crate::service::tenants;
use crate::state::AppState;
use crate::store::timers::TenantQuota;

pub(super) fn router() -> Router<AppState> {
    Router::new()
        .route(paths::ADMIN_TENANTS, get(list))
        .route(&format!("{}/{{name}}", paths::ADMIN_TENANTS), get(read).put(put).delete(delete))
}

#[derive(Serialize)]
struct Tenant {
    name: String,
    #[serde(flatten)]
    quota: TenantQuota,
}

async fn list(State(state): State<AppState>, _: Authorized<Admin>) -> Result<Json<Vec<Tenant>>, ApiError> {
    let tenants = tenants::list(&state).await?;
    Ok(Json(tenants.into_iter().map(|(name, quota)| Tenant { name, quota }).collect()))
}

async fn read(
    State(state): State<AppState>,
    _: Authorized<Admin>,
    Path(name): Path<String>,
) -> Result<Json<Tenant>, ApiError> {
    let quota = tenants::get(&state, &name).await?;
    Ok(Json(Tenant { name, quota }))
}

async fn put(
    State(state): State<AppState>,
    _: Authorized<Admin>,
    Path(name): Path<String>,
    Whole(body): Whole,
) -> Result<Json<Tenant>, ApiError> {
    let quota = serde_json::from_slice(&body)
        .map_err(|error| ApiError::bad_request(format!("the body must be a tenant's quota: {error}")))?;
    let quota = tenants::put(&state, &name, quota).await?;
    Ok(Json(Tenant { name, quota }))
}

async fn delete(
    State(state): State<AppState>,
    _: Authorized<Admin>,
    Path(name): Path<String>,
) -> Result<Json<Value>, ApiError> {
    tenants::delete(&state, &name).await?;
    Ok(Json(json!({ "name": name, "deleted": true })))
}
