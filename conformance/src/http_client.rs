//! Requests by hand: the target is sent as it is written, which URL libraries would not do.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fault::Fault;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request to make.
pub(crate) struct Outgoing {
    pub(crate) method: String,
    /// Request target, sent as it is.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

/// Makes a request of the server at `base` and gives `{status, headers, body, json}`.
pub(crate) async fn send(base: &str, outgoing: Outgoing) -> Result<Value, Fault> {
    let authority = base.strip_prefix("http://").unwrap_or(base).trim_end_matches('/').to_owned();
    let exchange = exchange(&authority, outgoing);
    let answer = tokio::time::timeout(PATIENCE, exchange).await;
    answer.unwrap_or_else(|_| Err(Fault::new(format!("{authority} did not answer in time"))))
}

async fn exchange(authority: &str, outgoing: Outgoing) -> Result<Value, Fault> {
    let gone = |error: &dyn std::fmt::Display| Fault::new(format!("{authority}: {error}"));
    let stream = TcpStream::connect(authority).await.map_err(|error| gone(&error))?;
    let uri = outgoing.target.parse::<http::Uri>();
    let Ok(uri) = uri else {
        return raw(stream, authority, outgoing).await;
    };
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| gone(&error))?;
    tokio::spawn(connection);
    let mut request = Request::builder().method(outgoing.method.as_str()).uri(uri).header("host", authority);
    for (name, value) in &outgoing.headers {
        request = request.header(name, value);
    }
    let request = request.body(Full::new(outgoing.body)).map_err(|error| gone(&error))?;
    let response = sender.send_request(request).await.map_err(|error| gone(&error))?;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.map_err(|error| gone(&error))?.to_bytes();
    let mut headers = Map::new();
    for (name, value) in &parts.headers {
        headers.insert(name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into());
    }
    Ok(answer(parts.status.as_u16(), &headers, &body))
}

/// A request whose target no library would let through.
async fn raw(mut stream: TcpStream, authority: &str, outgoing: Outgoing) -> Result<Value, Fault> {
    use std::fmt::Write;
    let gone = |error: std::io::Error| Fault::new(format!("{authority}: {error}"));
    let mut head = format!(
        "{} {} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n",
        outgoing.method, outgoing.target
    );
    for (name, value) in &outgoing.headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    let _ = write!(head, "content-length: {}\r\n\r\n", outgoing.body.len());
    stream.write_all(head.as_bytes()).await.map_err(gone)?;
    stream.write_all(&outgoing.body).await.map_err(gone)?;
    let mut said = Vec::new();
    stream.read_to_end(&mut said).await.map_err(gone)?;
    let said = String::from_utf8_lossy(&said).into_owned();
    let status = said.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = said.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok(answer(status, &Map::new(), body.as_bytes()))
}

fn answer(status: u16, headers: &Map<String, Value>, body: &[u8]) -> Value {
    let text = String::from_utf8_lossy(body);
    let json: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    json!({"status": status, "headers": headers, "body": text, "json": json})
}
