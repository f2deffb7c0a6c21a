//! Talks to an adapter: a child process that answers one line of JSON per line of JSON.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::case::{Op, root};
use crate::fault::Fault;
use crate::sabotage::Sabotage;

/// Longest that an adapter may think about one case.
const PATIENCE: Duration = Duration::from_secs(30);

/// An adapter that has broken so often without ever answering is not started again.
const HOPELESS: u32 = 3;

/// The adapters that belong to this suite, one per SDK face.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Face {
    Rust,
    PythonSync,
    PythonAsync,
    Node,
    WasmNode,
    Workerd,
}

impl Face {
    pub(crate) const ALL: [Self; 6] =
        [Self::Rust, Self::PythonSync, Self::PythonAsync, Self::Node, Self::WasmNode, Self::Workerd];

    /// As written on the command line and in exemptions.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::PythonSync => "python-sync",
            Self::PythonAsync => "python-async",
            Self::Node => "node",
            Self::WasmNode => "wasm-node",
            Self::Workerd => "workerd",
        }
    }

    /// Whether it can be asked this at all: all faces the public questions, the core the rest.
    pub(crate) fn answers(self, op: Op) -> bool {
        op.is_public() || self == Self::Rust
    }

    /// The file that is this adapter; the Rust one is this program itself.
    fn script(self) -> Option<PathBuf> {
        let file = match self {
            Self::Rust => return None,
            Self::PythonSync | Self::PythonAsync => "python.py",
            Self::Node => "node.mjs",
            Self::WasmNode => "wasm_node.mjs",
            Self::Workerd => "workerd.mjs",
        };
        Some(root().join("adapters").join(file))
    }

    /// Whether this tree has the adapter.
    pub(crate) fn is_there(self) -> bool {
        self.script().is_none_or(|script| script.exists())
    }

    fn command(self) -> Result<Command, Fault> {
        let own = std::env::current_exe().map_err(|error| Fault::new(format!("our own path: {error}")))?;
        let mut command = match self {
            Self::Rust => Command::new(own),
            // The interpreter into which the package was built; xtask says which.
            Self::PythonSync | Self::PythonAsync => {
                Command::new(std::env::var_os("CHRONQ_PYTHON").unwrap_or_else(|| "python3".into()))
            }
            Self::Node | Self::WasmNode | Self::Workerd => Command::new("node"),
        };
        match (self, self.script()) {
            (_, None) => command.args(["adapter", "rust"]),
            (Self::PythonAsync, Some(script)) => command.arg(script).arg("async"),
            (_, Some(script)) => command.arg(script),
        };
        Ok(command)
    }
}

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

/// A running adapter. One that breaks is started anew for the next case.
pub(crate) struct Adapter {
    face: Face,
    running: Option<Running>,
    next_id: u64,
    has_answered: bool,
    broken: u32,
    sabotage: Option<Sabotage>,
}

struct Running {
    _child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Adapter {
    pub(crate) const fn new(face: Face, sabotage: Option<Sabotage>) -> Self {
        Self { face, running: None, next_id: 0, has_answered: false, broken: 0, sabotage }
    }

    /// Asks, and waits for the answer; with the fault in between, where there is to be one.
    pub(crate) async fn ask(&mut self, op: Op, input: &Value) -> Reply {
        let Some(sabotage) = self.sabotage else { return self.ask_plainly(op, input).await };
        let mut input = input.clone();
        sabotage.question(op, &mut input);
        sabotage.answer(op, self.ask_plainly(op, &input).await)
    }

    async fn ask_plainly(&mut self, op: Op, input: &Value) -> Reply {
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
            None => self.running.insert(start(self.face)?),
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

fn start(face: Face) -> Result<Running, Fault> {
    let mut child =
        face.command()?
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
