//! Names in paths, decoded.

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::ApiError;
use crate::state::AppState;

/// Extractor: as axum's, with refusals as `{"error": …}`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<AppState> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let found = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        found
            .map(|axum::extract::Path(names)| Self(names))
            .map_err(|_| ApiError::bad_request("a name in the path must be UTF-8, percent-encoded"))
    }
}
