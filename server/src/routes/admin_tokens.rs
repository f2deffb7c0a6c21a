//! `/v2/admin/tokens` and `/v2/admin/publish-token/rotate`.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{delete, get, post};
use chronq::contract::{AccessLevel, paths};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::Value;
use uuid::Uuid;

use super::body::read_body;
use super::path::Path;
use crate::auth::{Admin, Authorized};
use crate::error::ApiError;
use crate::service::tokens::{Minted, TokenError, TokenRequest, Tokens};
use crate::state::AppState;
use crate::store::UnixMillis;
use crate::store::types::admin::Token;

const MAX_REQUEST_BYTES: usize = 16 * 1_024;

/// The routes.
pub(super) fn router() -> Router<AppState> {
    Router::new()
        .route(paths::ADMIN_TOKENS, get(list).post(create))
        .route(&format!("{}/{{id}}", paths::ADMIN_TOKENS), delete(revoke))
        .route(paths::ADMIN_PUBLISH_TOKEN_ROTATE, post(rotate))
}

/// A token as the list shows it: never the token itself.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenView {
    /// Its id, by which it is revoked.
    pub id: Uuid,
    /// For people.
    pub name: String,
    /// What it may do.
    pub level: AccessLevel,
    /// Whose it is.
    pub tenant: String,
    /// Its last four characters.
    pub last_four: String,
    /// When it was made, unix milliseconds.
    pub created_at: UnixMillis,
    /// The minute of its last use, unix milliseconds.
    pub last_used_at: Option<UnixMillis>,
}

impl From<Token> for TokenView {
    fn from(token: Token) -> Self {
        Self {
            id: token.id,
            name: token.name,
            level: token.level,
            tenant: token.tenant,
            last_four: token.last_four,
            created_at: token.created_at,
            last_used_at: token.last_used_at,
        }
    }
}

async fn create(
    State(state): State<AppState>,
    _: Authorized<Admin>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let body = read_body(&headers, body, MAX_REQUEST_BYTES).await?;
    let minted = Tokens::of(&state).create(read_request(&body)?).await?;
    Ok(shown_once(StatusCode::CREATED, &minted))
}

async fn rotate(State(state): State<AppState>, _: Authorized<Admin>) -> Result<Response, ApiError> {
    let minted = Tokens::of(&state).rotate_publish().await?;
    Ok(shown_once(StatusCode::OK, &minted))
}

async fn list(State(state): State<AppState>, _: Authorized<Admin>) -> Result<Json<Vec<TokenView>>, ApiError> {
    Ok(Json(Tokens::of(&state).list().await?.into_iter().map(TokenView::from).collect()))
}

async fn revoke(
    State(state): State<AppState>,
    _: Authorized<Admin>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    Tokens::of(&state).revoke(&id).await?;
    Ok(Json(serde_json::json!({ "id": id, "revoked": true })))
}

fn read_request(body: &[u8]) -> Result<TokenRequest, ApiError> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Fields {
        name: String,
        level: String,
        tenant: Option<String>,
    }
    let fields: Fields = serde_json::from_slice(body).map_err(|error| {
        ApiError::bad_request(format!("the body must be {{\"name\",\"level\",\"tenant\"?}}: {error}"))
    })?;
    Ok(TokenRequest::new(&fields.name, &fields.level, fields.tenant.as_deref())?)
}

/// The one answer that holds a token: no cache may keep it.
fn shown_once(status: StatusCode, minted: &Minted) -> Response {
    let uncached = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (status, uncached, Json(minted_view(minted))).into_response()
}

/// A new token as it is shown this once.
pub fn minted_view(minted: &Minted) -> Value {
    let kept = &minted.kept;
    serde_json::json!({
        "id": kept.id,
        "name": kept.name,
        "level": kept.level,
        "tenant": kept.tenant,
        "token": minted.token.expose(),
        "lastFour": kept.last_four,
    })
}

impl From<TokenError> for ApiError {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Refused(input) => input.into(),
            TokenError::NotFound(_) => Self::not_found(error.to_string()),
            TokenError::Store(error) => error.into(),
            TokenError::System(error) => {
                tracing::error!(%error, "cannot make a token");
                Self::internal()
            }
        }
    }
}
