//! A server in a process of its own, and what is asked of it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::database::Data;

/// Longer than anything that happens takes; only a failing test waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A `chronq serve`; killed when dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Process {
    pub(crate) fn serve(data: &Data, environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_chronq"))
            .args(["serve", "--listen", "127.0.0.1:0", "--database-url", data.url(), "--exit-with-parent"])
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut line).expect("a line");
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
        let address = ready["url"].as_str().and_then(|url| url.strip_prefix("http://")).expect("url");
        Self { child, address: address.parse().expect("an address") }
    }

    /// SIGKILL: nothing is finished, nothing is said.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }

    /// SIGSTOP: it stands still, as on a machine that sleeps.
    pub(crate) fn pause(&self) {
        self.signal("-STOP");
    }

    /// SIGCONT.
    pub(crate) fn resume(&self) {
        self.signal("-CONT");
    }

    /// SIGTERM: it finishes what it can.
    pub(crate) fn terminate(&self) {
        self.signal("-TERM");
    }

    fn signal(&self, signal: &str) {
        let done = Command::new("kill").args([signal, &self.child.id().to_string()]).status().expect("kill");
        assert!(done.success());
    }

    pub(crate) fn lives(&mut self) -> bool {
        self.child.try_wait().expect("asked").is_none()
    }

    pub(crate) async fn call(&self, method: &str, target: &str, body: &str) -> Answer {
        call(self.address, method, target, "", body).await.expect("an answer")
    }

    /// The JSON of a call that is served.
    pub(crate) async fn json(&self, method: &str, target: &str, body: &str) -> Value {
        let answer = self.call(method, target, body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error} in {answer:?}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// One request with the dev token on a connection of its own; `None` where no whole answer came.
pub(crate) async fn call(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &str,
    body: &str,
) -> Option<Answer> {
    let token = chronq_server::dev::TOKEN;
    let request = format!(
        "{method} {target} HTTP/1.1\r\nhost: t\r\nconnection: close\r\nauthorization: Bearer {token}\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let head = head.to_ascii_lowercase();
    let answer = Answer { status, head, body: body.to_owned() };
    let whole = answer.header("content-length").is_none_or(|length| length == answer.body.len().to_string());
    whole.then_some(answer)
}

/// Asks until there is an answer: what other processes do gives no signal here.
pub(crate) async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
