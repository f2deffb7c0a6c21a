//! A process that is killed around a thousand due timers: each is in the log exactly once, none early,
//! none lost, no attempt spent.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const TIMERS: usize = 1_000;
const PATIENCE: Duration = Duration::from_mins(1);

/// A `chronq dev` on a folder; killed when dropped.
struct Dev {
    child: Child,
    ready: Value,
}

impl Dev {
    fn start(folder: &std::path::Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_chronq"))
            .args(["dev", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut line).expect("a line");
        let ready = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
        Self { child, ready }
    }

    fn call(&self, method: &str, path: &str, body: &str) -> Value {
        let address = self.ready["url"].as_str().expect("url").strip_prefix("http://").expect("http");
        let token = self.ready["token"].as_str().expect("token");
        let mut stream = TcpStream::connect(address).expect("connects");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("read");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error} in {body:?}"))
    }

    fn messages(&self) -> Vec<Value> {
        let found = self.call("GET", "/api/v1/messages?queue=q&limit=1000", "");
        found["messages"].as_array().expect("messages").clone()
    }
}

impl Drop for Dev {
    /// SIGKILL: nothing is finished, nothing is said.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Schedules a thousand timers due around 300 ms from now; answers each txn with its instant.
fn schedule(dev: &Dev) -> Vec<(String, String)> {
    let mut promised = Vec::new();
    for part in 0..4 {
        let operations: Vec<_> = (0..TIMERS / 4)
            .map(|n| {
                json!({"op": "schedule", "queue": "q", "timerKey": format!("{part}-{n}"), "delayMs": 300 + n,
                       "txn": format!("txn-{part}-{n}"), "payload": "e30="})
            })
            .collect();
        let answer = dev.call("POST", "/api/v1/timers", &json!(operations).to_string());
        for result in answer["results"].as_array().expect("results") {
            let text = |name: &str| result[name].as_str().expect("text").to_owned();
            promised.push((text("txn"), text("deliverAt")));
        }
    }
    promised
}

#[test]
fn a_kill_around_a_thousand_due_timers_loses_none_and_doubles_none() {
    let folder = tempfile::tempdir().expect("folder");
    let mut dev = Dev::start(folder.path());
    let mut promised = schedule(&dev);
    assert_eq!(promised.len(), TIMERS);
    // Killed again and again while they fire.
    let mut seen = 0;
    for _ in 0..3 {
        let deadline = Instant::now() + PATIENCE;
        while dev.messages().len() <= seen {
            assert!(Instant::now() < deadline, "nothing fires");
        }
        drop(dev);
        dev = Dev::start(folder.path());
        seen = dev.messages().len();
        if seen == TIMERS {
            break;
        }
    }
    let deadline = Instant::now() + PATIENCE;
    let mut rows =
        dev.call("GET", "/api/v1/timers/q?limit=1000", "")["rows"].as_array().expect("rows").clone();
    while !rows.is_empty() {
        assert!(rows.iter().all(|row| row["attempts"] == json!(0)), "an attempt was spent");
        assert!(Instant::now() < deadline, "{} timers stay", rows.len());
        std::thread::sleep(Duration::from_millis(20));
        rows = dev.call("GET", "/api/v1/timers/q?limit=1000", "")["rows"].as_array().expect("rows").clone();
    }
    let messages = dev.messages();
    let text = |message: &Value, name: &str| message[name].as_str().expect("text").to_owned();
    let mut delivered: Vec<_> =
        messages.iter().map(|message| (text(message, "transactionId"), text(message, "createdAt"))).collect();
    delivered.sort();
    promised.sort();
    assert_eq!(delivered.len(), TIMERS, "each once");
    for ((txn, created_at), (promised_txn, deliver_at)) in delivered.iter().zip(&promised) {
        assert_eq!(txn, promised_txn);
        assert!(created_at >= deliver_at, "{txn} was early: {created_at} before {deliver_at}");
    }
}
