//! `/v2/admin/keys`.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use chronq::contract::{KeyState, paths};
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;
use uuid::Uuid;

use crate::auth::{Admin, Authorized};
use crate::error::ApiError;
use crate::service::keys::{KeyError, Keys};
use crate::state::AppState;
use crate::store::UnixMillis;
use crate::store::types::admin::SigningKey;

/// The routes.
pub(super) fn router() -> Router<AppState> {
    let verb = |name: &str| format!("{}/{name}", paths::ADMIN_KEYS);
    Router::new()
        .route(paths::ADMIN_KEYS, get(list))
        .route(&verb("rotate"), post(rotate))
        .route(&verb("stage"), post(stage))
        .route(&verb("activate"), post(activate))
        .route(&verb("prune"), post(prune))
}

/// A signing key as admins see it, the key included: receivers need it.
#[derive(Clone, Copy, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyView<'a> {
    /// Its id.
    pub id: Uuid,
    /// What it is used for.
    pub state: KeyState,
    /// When it was minted, unix milliseconds.
    pub created_at: UnixMillis,
    /// The key.
    pub key: &'a str,
}

impl<'a> From<&'a SigningKey> for KeyView<'a> {
    fn from(key: &'a SigningKey) -> Self {
        Self { id: key.id, state: key.state, created_at: key.created_at, key: key.key.expose() }
    }
}

async fn list(State(state): State<AppState>, _: Authorized<Admin>) -> Result<Response, ApiError> {
    let keys = Keys::of(&state).list().await?;
    Ok(uncached(&keys.iter().map(KeyView::from).collect::<Vec<_>>()))
}

async fn rotate(State(state): State<AppState>, _: Authorized<Admin>) -> Result<Response, ApiError> {
    Ok(uncached(&KeyView::from(&Keys::of(&state).rotate().await?)))
}

async fn stage(State(state): State<AppState>, _: Authorized<Admin>) -> Result<Response, ApiError> {
    Ok(uncached(&KeyView::from(&Keys::of(&state).stage().await?)))
}

async fn activate(State(state): State<AppState>, _: Authorized<Admin>) -> Result<Response, ApiError> {
    Ok(uncached(&KeyView::from(&Keys::of(&state).activate().await?)))
}

async fn prune(State(state): State<AppState>, _: Authorized<Admin>) -> Result<Json<Value>, ApiError> {
    let pruned = Keys::of(&state).prune().await?;
    Ok(Json(serde_json::json!({ "pruned": pruned })))
}

/// No cache may keep a key.
fn uncached(body: &impl serde::Serialize) -> Response {
    ([(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], Json(body)).into_response()
}

impl From<KeyError> for ApiError {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::NothingStaged | KeyError::AlreadyStaged => {
                Self::new(StatusCode::CONFLICT, error.to_string())
            }
            KeyError::Store(error) => error.into(),
            KeyError::Signing(_) | KeyError::System(_) => {
                tracing::error!(%error, "cannot make a signing key");
                Self::internal()
            }
        }
    }
}
