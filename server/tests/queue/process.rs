//! The process itself: ready line, signals, and what a kill leaves behind.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A `chronq dev` of its own; killed when dropped.
pub(crate) struct Dev {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<std::process::ChildStdout>,
    ready: Value,
}

impl Dev {
    fn start(arguments: &[&str]) -> Self {
        Self::start_in(arguments, &[])
    }

    pub(crate) fn start_in(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_chronq"))
            .args(["dev", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        let ready = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
        Self { child, stdin, stdout, ready }
    }

    fn url(&self) -> &str {
        self.ready["url"].as_str().expect("url")
    }

    pub(crate) fn call(&self, method: &str, path: &str, headers: &str, body: &str) -> Value {
        use std::io::Write;
        let address = self.url().strip_prefix("http://").expect("http");
        let mut stream = std::net::TcpStream::connect(address).expect("connect");
        let token = self.ready["token"].as_str().expect("token");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\nauthorization: Bearer {token}\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("send");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("read");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head in {answer:?}"));
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error} in {answer:?}"))
    }

    pub(crate) fn publish(&self, destination: &str, headers: &str) -> String {
        let answer = self.call("POST", &format!("/v2/publish/{destination}"), headers, "x");
        answer["messageId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn signal(&self, signal: &str) {
        let done = Command::new("kill").args([signal, &self.child.id().to_string()]).status().expect("kill");
        assert!(done.success());
    }

    /// The exit code, which must come within `patience`.
    fn exit_code(&mut self, patience: Duration) -> Option<i32> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait().expect("wait") {
                return status.code();
            }
            assert!(Instant::now() < deadline, "it still runs");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_ready_line_is_one_line_of_json_and_nothing_else_goes_to_stdout() {
    let mut dev = Dev::start(&[]);
    assert_eq!(dev.ready["event"], "ready");
    assert!(dev.url().starts_with("http://127.0.0.1:"));
    assert_eq!(dev.ready["token"], "chronq_dev_token_not_a_secret");
    for key in ["signingKey", "nextSigningKey"] {
        let text = dev.ready[key].as_str().expect("a key");
        assert!(text.starts_with("sig_") && text.len() == 47, "{text}");
    }
    assert!(dev.ready["adminUrl"].is_string());
    dev.publish(&format!("{}/dev/inbox/a", dev.url()), "");
    dev.signal("-TERM");
    assert_eq!(dev.exit_code(PATIENCE), Some(0));
    let mut rest = String::new();
    dev.stdout.read_to_string(&mut rest).expect("read");
    assert_eq!(rest, "");
}

#[test]
fn a_message_with_a_delay_survives_kill_9_and_is_delivered_once_after_the_restart() {
    let folder = tempfile::tempdir().expect("folder");
    let data = folder.path().to_str().expect("utf-8");
    let receiver = Dev::start(&[]);
    let inbox = format!("{}/dev/inbox/a", receiver.url());
    let mut first = Dev::start(&["--data", data]);
    let id = first.publish(&inbox, "chronq-delay: 3s\r\n");
    first.signal("-KILL");
    assert_eq!(first.exit_code(PATIENCE), None, "killed by a signal");
    let second = Dev::start(&["--data", data]);
    let found = second.call("GET", &format!("/v2/messages/{id}"), "", "");
    assert_eq!(found["state"], "created", "{found}");
    let requests = || receiver.call("GET", "/dev/inbox/a/requests", "", "");
    until("the delivery", || requests().as_array().filter(|all| !all.is_empty()).map(Vec::len));
    until("the settlement", || {
        (second.call("GET", &format!("/v2/messages/{id}"), "", "")["state"] == "completed").then_some(())
    });
    let all = requests();
    assert_eq!(all.as_array().map(Vec::len), Some(1), "{all}");
}

#[test]
fn what_was_in_flight_when_the_process_was_killed_is_attempted_again() {
    let folder = tempfile::tempdir().expect("folder");
    let data = folder.path().to_str().expect("utf-8");
    let receiver = Dev::start(&[]);
    let inbox = format!("{}/dev/inbox/a", receiver.url());
    receiver.call("PUT", "/dev/inbox/a/script", "", r#"{"respond":[{"delayMs":60000},{"status":200}]}"#);
    let mut first = Dev::start(&["--data", data]);
    let id = first.publish(&inbox, "");
    let count = || receiver.call("GET", "/dev/inbox/a/requests", "", "").as_array().map_or(0, Vec::len);
    until("the first attempt", || (count() == 1).then_some(()));
    first.signal("-KILL");
    first.exit_code(PATIENCE);
    let second = Dev::start(&["--data", data]);
    until("the second attempt", || (count() == 2).then_some(()));
    until("the settlement", || {
        (second.call("GET", &format!("/v2/messages/{id}"), "", "")["state"] == "completed").then_some(())
    });
}

#[test]
fn sigterm_finishes_what_is_in_flight() {
    let folder = tempfile::tempdir().expect("folder");
    let data = folder.path().to_str().expect("utf-8");
    let receiver = Dev::start(&[]);
    receiver.call("PUT", "/dev/inbox/a/script", "", r#"{"respond":[{"delayMs":500}]}"#);
    let mut server = Dev::start(&["--data", data]);
    let id = server.publish(&format!("{}/dev/inbox/a", receiver.url()), "");
    until("the attempt", || {
        receiver
            .call("GET", "/dev/inbox/a/requests", "", "")
            .as_array()
            .filter(|all| !all.is_empty())
            .map(|_| ())
    });
    server.signal("-TERM");
    assert_eq!(server.exit_code(PATIENCE), Some(0));
    let again = Dev::start(&["--data", data]);
    assert_eq!(again.call("GET", &format!("/v2/messages/{id}"), "", "")["state"], "completed");
}

#[test]
fn a_second_sigterm_ends_at_once() {
    let receiver = Dev::start(&[]);
    receiver.call("PUT", "/dev/inbox/a/script", "", r#"{"respond":[{"delayMs":60000}]}"#);
    let mut server = Dev::start(&["--shutdown-grace", "1h"]);
    server.publish(&format!("{}/dev/inbox/a", receiver.url()), "");
    until("the attempt", || {
        receiver
            .call("GET", "/dev/inbox/a/requests", "", "")
            .as_array()
            .filter(|all| !all.is_empty())
            .map(|_| ())
    });
    server.signal("-TERM");
    // Once it no longer accepts, it has heard the first.
    let address = server.url().strip_prefix("http://").expect("http").to_owned();
    until("the end of accepting", || std::net::TcpStream::connect(&address).is_err().then_some(()));
    server.signal("-TERM");
    assert_eq!(server.exit_code(PATIENCE), Some(1));
}

#[test]
fn exit_with_parent_ends_when_stdin_closes() {
    let mut server = Dev::start(&["--exit-with-parent"]);
    drop(server.stdin.take());
    assert_eq!(server.exit_code(PATIENCE), Some(0));
}

#[test]
fn dev_refuses_to_listen_beyond_loopback_and_unknown_variables_are_errors() {
    let run = |arguments: &[&str], variable: Option<(&str, &str)>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chronq"));
        command.args(arguments).stdin(Stdio::null());
        if let Some((name, value)) = variable {
            command.env(name, value);
        }
        let output = command.output().expect("run");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run(&["dev", "--listen", "0.0.0.0:0"], None);
    assert_eq!(code, Some(2));
    assert!(said.contains("--listen must be a loopback address in dev mode"), "{said}");
    let (code, said) = run(&["dev"], Some(("CHRONQ_LISTNE", "x")));
    assert_eq!(code, Some(2));
    assert!(said.contains("CHRONQ_LISTNE is no setting"), "{said}");
    let (code, _) = run(&["serve", "--listen", "127.0.0.1:0"], None);
    assert_eq!(code, Some(2), "serve needs a database");
}

#[test]
fn no_proxy_of_the_environment_is_used() {
    let nowhere = "http://127.0.0.1:9";
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let dev = Dev::start_in(&[], &names.map(|name| (name, nowhere)));
    let id = dev.publish(&format!("{}/dev/inbox/a", dev.url()), "chronq-retries: 0\r\n");
    let began = Instant::now();
    loop {
        let message = dev.call("GET", &format!("/v2/messages/{id}"), "", "");
        assert_ne!(message["state"], "failed", "{message}");
        if message["state"] == "completed" {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{message}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
