//! Every refusal of the HTTP routes: a status and a JSON body that says what to do.

use axum::Json;
use axum::response::{IntoResponse, Response};
use chronq::InvalidInput;
use chronq::contract::{ErrorCode, MessageState};
use http::{HeaderValue, StatusCode, header};

use crate::service::Refusal;
use crate::store::StoreError;

/// A refusal. The queue's routes put the sentence into `error`; the timer routes put a code there
/// and the sentence into `detail` (contract/timers.md, "Validation").
#[derive(Clone, Debug)]
pub struct ApiError {
    status: StatusCode,
    body: ErrorBody,
    retry_after_seconds: Option<u32>,
}

/// The JSON of a refusal.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ErrorBody {
    /// The sentence, or the code where `detail` has the sentence.
    pub error: String,
    /// A finer word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The sentence where `error` is a code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The state that stands in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<MessageState>,
}

impl ApiError {
    /// A refusal whose sentence stands in `error`.
    pub fn new(status: StatusCode, sentence: impl Into<String>) -> Self {
        Self {
            status,
            body: ErrorBody { error: sentence.into(), reason: None, detail: None, state: None },
            retry_after_seconds: None,
        }
    }

    /// A refusal in the shape of the timer routes: code, finer word, sentence.
    pub fn coded(
        status: StatusCode,
        code: ErrorCode,
        reason: Option<&str>,
        detail: impl Into<String>,
    ) -> Self {
        let mut error = Self::new(status, code.as_str());
        error.body.reason = reason.map(str::to_owned);
        error.body.detail = Some(detail.into());
        error
    }

    /// 400.
    pub fn bad_request(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, sentence)
    }

    /// 404.
    pub fn not_found(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, sentence)
    }

    /// 409 with the state that stands in the way.
    pub fn conflict(sentence: impl Into<String>, state: MessageState) -> Self {
        let mut error = Self::new(StatusCode::CONFLICT, sentence);
        error.body.state = Some(state);
        error
    }

    /// 503: the store cannot answer; nothing was acknowledged.
    pub fn unavailable() -> Self {
        let sentence = "the store is unavailable: nothing is acknowledged, try again";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, sentence).with_retry_after(1)
    }

    /// 500: a fault of the server; what it was goes to the log, not to the caller.
    pub fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the server made a mistake; its log says which")
    }

    /// Adds `Retry-After`.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_seconds = Some(seconds);
        self
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The body.
    pub fn body(&self) -> &ErrorBody {
        &self.body
    }
}

impl From<InvalidInput> for ApiError {
    fn from(error: InvalidInput) -> Self {
        Self::bad_request(error.to_string())
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Invalid(input) => input.into(),
            Refusal::Store(error) => error.into(),
            Refusal::NotFound { .. } => Self::not_found(refusal.to_string()),
            Refusal::WrongState { state, .. } => Self::conflict(refusal.to_string(), state),
            Refusal::InUse(_) => Self::new(StatusCode::CONFLICT, refusal.to_string()),
            Refusal::UnknownQueue(_) | Refusal::QueueDisabled(_) | Refusal::EmptyGroup(_) => {
                Self::bad_request(refusal.to_string())
            }
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        if error.is_temporary() {
            tracing::warn!(%error, "a request was refused");
            return Self::unavailable();
        }
        tracing::error!(%error, "a request failed");
        Self::internal()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        if let Some(seconds) = self.retry_after_seconds {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_is_away_is_a_503_with_retry_after_and_says_nothing_of_itself() {
        let error = ApiError::from(StoreError::Unavailable("password authentication failed".to_owned()));
        assert_eq!(error.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(!error.body().error.contains("password"));
        let response = error.into_response();
        assert_eq!(response.headers()[header::RETRY_AFTER], "1");
    }

    #[test]
    fn a_fault_of_ours_is_a_500_that_says_nothing_of_itself() {
        let error = ApiError::from(StoreError::Internal("no such column: secrets".to_owned()));
        assert_eq!(error.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!error.body().error.contains("column"));
    }
}
