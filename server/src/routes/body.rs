//! Request bodies, held to their size before they are read.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;

use crate::error::ApiError;

/// A client that sends its body drop by drop must not hold a connection for ever.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

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
    if announced.is_some_and(|bytes| bytes > max_bytes as u64) {
        return Err(too_large(max_bytes));
    }
    tokio::time::timeout(READ_TIMEOUT, collect(body, max_bytes)).await.unwrap_or_else(|_| {
        Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"))
    })
}

async fn collect(mut body: Body, max_bytes: usize) -> Result<Bytes, ApiError> {
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
