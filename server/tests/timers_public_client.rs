//! The public client (`queen-mq` on `PyPI`) works against the server unchanged.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use chronq_server::testing::TestServer;

const CLIENT: &str = "queen-mq==2.6.0";

/// A Python that has the client: `CHRONQ_QUEEN_MQ_PYTHON`, else a virtual environment under `target`.
fn python() -> PathBuf {
    if let Some(python) = std::env::var_os("CHRONQ_QUEEN_MQ_PYTHON") {
        return python.into();
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("queen-mq");
    let python = folder.join("bin/python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
    }
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", CLIENT]));
    python
}

fn run(command: &mut Command) {
    let output = command.output().expect("starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "installs the client from PyPI: cargo test -p chronq-server --test timers_public_client -- --ignored"]
async fn the_public_clients_whole_timer_surface_works() {
    let server = TestServer::start().await.expect("starts");
    let (url, token) = (server.url(), server.token());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/queen_mq_client.py");
    let client = tokio::task::spawn_blocking(move || {
        Command::new(python()).arg(script).env("CHRONQ_URL", url).env("CHRONQ_TOKEN", token).output()
    });
    let output = client.await.expect("joins").expect("starts");
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.trim_end().ends_with("ok"), "{said}\n{complained}");
}
