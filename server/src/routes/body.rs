//! Request bodies, held to their size before they are read.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;

use crate::error::ApiError;
use crate::state::AppState;

/// A client that sends its body drop by drop must not hold a connection for ever.
const READ_TIMEOUT: Duration = Duration::from_mins(1);
/// Of a body whose content has no limit of its own.
const MAX_WHOLE_BYTES: usize = 2 * 1_024 * 1_024;
const MAX_DISCARDED_BYTES: usize = 16 * 1_024 * 1_024;
const DISCARD_TIMEOUT: Duration = Duration::from_secs(5);

/// Extractor: a body of at most 2 MiB, refused as [`read_body`] does.
#[derive(Clone, Debug)]
pub(super) struct Whole(pub(super) Bytes);

impl FromRequest<AppState> for Whole {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &AppState) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        Ok(Self(read_body(&head.headers, body, MAX_WHOLE_BYTES).await?))
    }
}

/// Reads a body of at most `max_bytes`. A larger one is refused by its `Content-Length` before it is
/// read, or, where it has none, at the first byte over.
///
/// # Errors
/// 413, 408, or 400 where the body breaks off.
pub async fn read_body(headers: &HeaderMap, body: Body, max_bytes: usize) -> Result<Bytes, ApiError> {
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse::<u64>().ok());
    let mut body = body;
    let read = if announced.is_some_and(|bytes| bytes > max_bytes as u64) {
        Err(too_large(max_bytes))
    } else {
        tokio::time::timeout(READ_TIMEOUT, collect(&mut body, max_bytes)).await.unwrap_or_else(|_| {
            Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"))
        })
    };
    let waits_for_go_ahead = headers.contains_key(header::EXPECT);
    if read.as_ref().is_err_and(|error| error.status() == StatusCode::PAYLOAD_TOO_LARGE)
        && !waits_for_go_ahead
    {
        tokio::spawn(discard(body));
    }
    read
}

/// Lets a client finish what it is already sending: where a connection is closed on unread bytes, the
/// client may never see the answer.
async fn discard(mut body: Body) {
    let read_on = async {
        let mut left = MAX_DISCARDED_BYTES;
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(DISCARD_TIMEOUT, read_on).await;
}

async fn collect(body: &mut Body, max_bytes: usize) -> Result<Bytes, ApiError> {
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| ApiError::bad_request(format!("the body broke off: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + all.len() + data.len() > max_bytes {
            return Err(too_large(max_bytes));
        }
        // Most bodies come in one piece, which needs no copy.
        if first.is_empty() && all.is_empty() {
            first = data;
        } else {
            if all.is_empty() {
                all.extend_from_slice(&std::mem::take(&mut first));
            }
            all.extend_from_slice(&data);
        }
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

fn too_large(max_bytes: usize) -> ApiError {
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, format!("body must be at most {max_bytes} bytes"))
}
