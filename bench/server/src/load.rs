//! The publishers: hyper connections that are kept open, one publish after another on each.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use chronq::contract::headers;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::contender::{Contender, SIGNING_KEY};
use crate::receiver::Tally;
use crate::{Outcome, rate};

/// Messages in one batch, as the contract allows.
const BATCH: usize = 100;
/// Half a kilobyte, as a webhook is.
pub(crate) const BODY_BYTES: usize = 512;

type Connection = SendRequest<Full<Bytes>>;

async fn connect(authority: &str) -> Outcome<Connection> {
    let stream = TcpStream::connect(authority).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn send(connection: &mut Connection, request: Request<Full<Bytes>>) -> Outcome<(StatusCode, Bytes)> {
    connection.ready().await?;
    let response = connection.send_request(request).await?;
    let status = response.status();
    Ok((status, response.into_body().collect().await?.to_bytes()))
}

/// One request that must succeed.
pub(crate) async fn send_once(contender: &Contender, method: &str, path: &str, body: String) -> Outcome<()> {
    let mut connection = connect(contender.authority()).await?;
    let request = request(contender, method, path, body)?;
    let (status, body) = send(&mut connection, request).await?;
    if status.is_success() { Ok(()) } else { Err(format!("{method} {path}: {status} {body:?}").into()) }
}

/// The value of a counter among the server's metrics; one that is not there yet is 0.
pub(crate) async fn counter(contender: &Contender, name: &str) -> Outcome<f64> {
    let mut connection = connect(contender.authority()).await?;
    let request = request(contender, "GET", "/metrics", String::new())?;
    let (_, body) = send(&mut connection, request).await?;
    let text = std::str::from_utf8(&body)?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    Ok(value.map(str::parse).transpose()?.unwrap_or(0.0))
}

/// Sends bodies over `connections` at once and gives the answers back in order. The requests are made
/// before the returned future is first polled, so that a measurement holds the sending alone.
pub(crate) fn send_all<'a>(
    contender: &'a Contender,
    path: &str,
    bodies: Vec<String>,
    connections: usize,
) -> Outcome<impl Future<Output = Outcome<Vec<Bytes>>> + use<'a>> {
    let mut shares: Vec<Vec<(usize, Request<Full<Bytes>>)>> = (0..connections).map(|_| Vec::new()).collect();
    let count = bodies.len();
    for (number, body) in bodies.into_iter().enumerate() {
        shares[number % connections].push((number, request(contender, "POST", path, body)?));
    }
    Ok(async move {
        let mut tasks = JoinSet::new();
        for share in shares {
            let mut connection = connect(contender.authority()).await?;
            tasks.spawn(async move {
                let mut answers = Vec::with_capacity(share.len());
                for (number, request) in share {
                    let (status, answer) = send(&mut connection, request).await?;
                    if !status.is_success() {
                        return Err(format!("a call was answered {status} {answer:?}").into());
                    }
                    answers.push((number, answer));
                }
                Outcome::Ok(answers)
            });
        }
        let mut answers = vec![Bytes::new(); count];
        while let Some(done) = tasks.join_next().await {
            for (number, answer) in done?? {
                answers[number] = answer;
            }
        }
        Ok(answers)
    })
}

fn request(
    contender: &Contender,
    method: &str,
    path: &str,
    body: impl Into<Bytes>,
) -> Outcome<Request<Full<Bytes>>> {
    Ok(Request::builder()
        .method(method)
        .uri(path)
        .header("host", contender.authority())
        .header("authorization", format!("Bearer {}", contender.token()))
        .header("content-type", "application/json")
        .body(Full::new(body.into()))?)
}

/// A body of [`BODY_BYTES`], each another one.
pub(crate) fn body(number: usize) -> String {
    let start = format!("{{\"n\":{number},\"pad\":\"");
    format!("{start}{}\"}}", "x".repeat(BODY_BYTES - start.len() - 2))
}

/// Publishes `count` messages one by one over `connections`.
pub(crate) async fn publish_singly(
    contender: &Contender,
    destination: &str,
    count: usize,
    connections: usize,
) -> Outcome<()> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..connections.min(count) {
        let mut connection = connect(contender.authority()).await?;
        let next = Arc::clone(&next);
        let (authority, token) = (contender.authority().to_owned(), format!("Bearer {}", contender.token()));
        let path = format!("/v2/publish/{destination}");
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Outcome::Ok(());
                }
                let request = Request::post(&path)
                    .header("host", &authority)
                    .header("authorization", &token)
                    .header("content-type", "application/json")
                    .body(Full::new(Bytes::from(body(number))))?;
                let (status, answer) = send(&mut connection, request).await?;
                if status != StatusCode::OK {
                    return Err(format!("a publish was answered {status} {answer:?}").into());
                }
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// Publishes `count` messages in batches, four connections at once.
pub(crate) async fn publish_batches(contender: &Contender, destination: &str, count: usize) -> Outcome<()> {
    let entries: Vec<_> = (0..BATCH)
        .map(|number| serde_json::json!({"destination": destination, "body": body(number)}))
        .collect();
    let batch = Bytes::from(serde_json::to_string(&entries)?);
    let mut tasks = JoinSet::new();
    let left = Arc::new(AtomicUsize::new(count / BATCH));
    for _ in 0..4 {
        let mut connection = connect(contender.authority()).await?;
        let left = Arc::clone(&left);
        let batch = batch.clone();
        let requests: Vec<_> = (0..count / BATCH)
            .map(|_| request(contender, "POST", "/v2/batch", batch.clone()))
            .collect::<Outcome<_>>()?;
        tasks.spawn(async move {
            for request in requests {
                if left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                    .is_err()
                {
                    break;
                }
                let (status, answer) = send(&mut connection, request).await?;
                if status != StatusCode::OK {
                    return Err(format!("a batch was answered {status} {answer:?}").into());
                }
            }
            Outcome::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// Signed requests a second that a bare hyper client brings to the receiver: no store, no queue.
pub(crate) async fn signed_ceiling(destination: &str, count: usize, tally: &Arc<Tally>) -> Outcome<f64> {
    const CONNECTIONS: usize = 32;
    tally.reset();
    tally.trust(SIGNING_KEY)?;
    let authority = destination.trim_start_matches("http://").trim_end_matches("/hook").to_owned();
    let next = Arc::new(AtomicUsize::new(0));
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let mut connection = connect(&authority).await?;
        let (next, authority, destination) = (Arc::clone(&next), authority.clone(), destination.to_owned());
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Outcome::Ok(());
                }
                let body = body(number);
                let request = Request::post("/hook")
                    .header("host", &authority)
                    .header(headers::SIGNATURE, sign(&destination, body.as_bytes(), number))
                    .header(headers::MESSAGE_ID, format!("ceiling-{number}"))
                    .body(Full::new(Bytes::from(body)))?;
                send(&mut connection, request).await?;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    tally.wait_for(count, Duration::from_mins(1)).await?;
    Ok(rate(count, started.elapsed()))
}

/// A token as the contract has it.
fn sign(destination: &str, body: &[u8], number: usize) -> String {
    use base64::Engine;
    use hmac::{Hmac, KeyInit, Mac};
    use sha2::{Digest, Sha256};
    let encode = |bytes: &[u8]| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let claims = serde_json::json!({
        "iss": "chronq", "sub": destination, "iat": now, "nbf": now - 5, "exp": now + 300,
        "jti": format!("jwt_{number}"), "body": encode(&Sha256::digest(body)),
    });
    let signed =
        format!("{}.{}", encode(br#"{"alg":"HS256","typ":"JWT"}"#), encode(claims.to_string().as_bytes()));
    // HMAC takes keys of any length.
    let Ok(mut keyed) = Hmac::<Sha256>::new_from_slice(SIGNING_KEY.as_bytes()) else { return String::new() };
    keyed.update(signed.as_bytes());
    format!("{signed}.{}", encode(&keyed.finalize().into_bytes()))
}
