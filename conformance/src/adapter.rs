//! Talks to an adapter: a child process that answers one line of JSON per line of JSON.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::{Mutex, MutexGuard};

use crate::case::Op;
use crate::face::Face;
use crate::fault::Fault;

/// Longest that an adapter may think about one case.
const PATIENCE: Duration = Duration::from_secs(30);

/// An adapter that has broken so often without ever answering is not started again.
const HOPELESS: u32 = 3;

/// What an adapter answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    Ok(Value),
    /// An error of the SDK, with its attributes.
    Error(Value),
    /// The face cannot express this; it says why.
    Unsupported(String),
    /// The adapter itself failed: it crashed, hung, or spoke nonsense.
    Broken(String),
}

impl Reply {
    /// For the report.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Ok(value) => json!({"ok": value}),
            Self::Error(error) => json!({"error": error}),
            Self::Unsupported(reason) => json!({"unsupported": reason}),
            Self::Broken(reason) => json!({"broken": reason}),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: u64,
    ok: Option<Value>,
    error: Option<Value>,
    unsupported: Option<String>,
}

/// The variable that tells a test build in which way to be wrong.
pub(crate) const SABOTAGE_VARIABLE: &str = "CHRONQ_SABOTAGE";

/// One adapter for each face of a run; clones share them.
#[derive(Clone)]
pub(crate) struct Adapters(Vec<(Face, Arc<Mutex<Adapter>>)>);

impl Adapters {
    /// Adapters of these faces, each started when it is first asked; wrong in this way, where there is one.
    pub(crate) fn new(faces: &[Face], sabotage: Option<&'static str>) -> Self {
        let adapter = |face: &Face| (*face, Arc::new(Mutex::new(Adapter::new(*face, sabotage))));
        Self(faces.iter().map(adapter).collect())
    }

    /// In the order in which they were chosen.
    pub(crate) fn faces(&self) -> Vec<Face> {
        self.0.iter().map(|(face, _)| *face).collect()
    }

    /// Has the adapter of a face to oneself, until this is dropped.
    pub(crate) async fn of(&self, face: Face) -> Result<MutexGuard<'_, Adapter>, Fault> {
        let Some((_, adapter)) = self.0.iter().find(|(known, _)| *known == face) else {
            return Err(Fault::new(format!("no adapter {}", face.name())));
        };
        Ok(adapter.lock().await)
    }
}

/// A running adapter. One that breaks is started anew for the next case.
pub(crate) struct Adapter {
    face: Face,
    running: Option<Running>,
    next_id: u64,
    has_answered: bool,
    broken: u32,
    sabotage: Option<&'static str>,
}

struct Running {
    _child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Adapter {
    const fn new(face: Face, sabotage: Option<&'static str>) -> Self {
        Self { face, running: None, next_id: 0, has_answered: false, broken: 0, sabotage }
    }

    /// Asks, and waits for the answer.
    pub(crate) async fn ask(&mut self, op: Op, input: &Value) -> Reply {
        if !self.has_answered && self.broken >= HOPELESS {
            return Reply::Broken("the adapter does not start".to_owned());
        }
        self.next_id += 1;
        let outcome = tokio::time::timeout(PATIENCE, self.exchange(op, input)).await;
        let fault = match outcome {
            Ok(Ok(reply)) => {
                self.has_answered = true;
                return reply;
            }
            Ok(Err(fault)) => fault.to_string(),
            Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
        };
        // Dropping it kills it: what it may still say belongs to no case.
        self.running = None;
        self.broken += 1;
        Reply::Broken(fault)
    }

    async fn exchange(&mut self, op: Op, input: &Value) -> Result<Reply, Fault> {
        let id = self.next_id;
        let running = match &mut self.running {
            Some(running) => running,
            None => self.running.insert(start(self.face, self.sabotage)?),
        };
        let gone = |error: std::io::Error| Fault::new(format!("the adapter is gone: {error}"));
        let mut line = json!({"id": id, "op": op.name(), "input": input}).to_string();
        line.push('\n');
        running.stdin.write_all(line.as_bytes()).await.map_err(gone)?;
        running.stdin.flush().await.map_err(gone)?;
        let answer = running.stdout.next_line().await.map_err(gone)?;
        let answer = answer.ok_or_else(|| Fault::new("the adapter ended without an answer"))?;
        read_line(&answer, id)
    }
}

fn start(face: Face, sabotage: Option<&str>) -> Result<Running, Fault> {
    let mut command = face.command()?;
    if let Some(word) = sabotage {
        command.env(SABOTAGE_VARIABLE, word);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| Fault::new(format!("the adapter {} did not start: {error}", face.name())))?;
    match (child.stdin.take(), child.stdout.take()) {
        (Some(stdin), Some(stdout)) => {
            Ok(Running { _child: child, stdin, stdout: BufReader::new(stdout).lines() })
        }
        _ => Err(Fault::new("the adapter has no stdin or stdout")),
    }
}

fn read_line(text: &str, id: u64) -> Result<Reply, Fault> {
    let shape = || Fault::new(format!("not a line of the protocol: {text}"));
    // `"ok": null` is an answer too, so presence is asked of the object itself.
    let value: Value = serde_json::from_str(text).map_err(|_| shape())?;
    let has_ok = value.get("ok").is_some();
    let line: Line = serde_json::from_value(value).map_err(|_| shape())?;
    if line.id != id {
        return Err(Fault::new(format!("an answer to {} where {id} was asked", line.id)));
    }
    match (has_ok, line.error, line.unsupported) {
        (true, None, None) => Ok(Reply::Ok(line.ok.unwrap_or(Value::Null))),
        (false, Some(error), None) => Ok(Reply::Error(error)),
        (false, None, Some(reason)) => Ok(Reply::Unsupported(reason)),
        _ => Err(shape()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_exactly_one_answer() {
        assert_eq!(read_line(r#"{"id":1,"ok":null}"#, 1).expect("ok"), Reply::Ok(Value::Null));
        assert_eq!(
            read_line(r#"{"id":1,"unsupported":"no types"}"#, 1).expect("unsupported"),
            Reply::Unsupported("no types".to_owned())
        );
        for bad in [r#"{"id":2,"ok":1}"#, r#"{"id":1}"#, r#"{"id":1,"ok":1,"error":{}}"#, "hello", "[]"] {
            assert!(read_line(bad, 1).is_err(), "{bad}");
        }
    }
}
