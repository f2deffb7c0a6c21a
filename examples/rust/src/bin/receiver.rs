//! A receiver: verifies every delivery before it looks at it.
//!
//! Wants `CHRONQ_CURRENT_SIGNING_KEY`, `CHRONQ_NEXT_SIGNING_KEY` (optional), and `PUBLIC_URL`: what was
//! published to, which is not what a request's Host header says.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use chronq::signature::{Body, Receiver};

struct Hook {
    receiver: Receiver,
    public_url: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hook = Hook {
        receiver: Receiver::from_variables(|name| std::env::var(name).ok())?,
        public_url: std::env::var("PUBLIC_URL")?,
    };
    let app = axum::Router::new().route("/hook", post(receive)).with_state(Arc::new(hook));
    let address = std::env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:8787".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}

async fn receive(State(hook): State<Arc<Hook>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed());
    match hook.receiver.verify_headers(&headers, Body::Raw(&body), Some(&hook.public_url), now) {
        Ok(verified) => {
            println!("verified {}", verified.claims.jti.unwrap_or_default());
            StatusCode::OK
        }
        Err(error) => {
            eprintln!("refused: {error}");
            StatusCode::UNAUTHORIZED
        }
    }
}
