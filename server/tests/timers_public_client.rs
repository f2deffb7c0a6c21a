//! The public client (`queen-mq` on `PyPI`) works against the server unchanged.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use chronq_server::Config;
use chronq_server::testing::TestServer;

const REQUIREMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/queen_mq_requirements.txt");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/queen_mq_client.py");

/// A Python that has the client: `CHRONQ_QUEEN_MQ_PYTHON`, else one in a virtual environment that is made
/// under `target`, which takes a network the first time.
fn python() -> PathBuf {
    if let Some(python) = std::env::var_os("CHRONQ_QUEEN_MQ_PYTHON") {
        return python.into();
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("queen-mq");
    let python = folder.join("bin/python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
    }
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--requirement", REQUIREMENTS]));
    python
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "the public client could not be installed; give the interpreter of an environment that has it as \
         CHRONQ_QUEEN_MQ_PYTHON\n{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_public_clients_whole_timer_surface_works() {
    let server = TestServer::start().await.expect("starts");
    let tenancy = Config { tenancy: true, ..Config::for_tests() };
    let tenancy = TestServer::start_with(tenancy).await.expect("starts");
    let environment = [
        ("CHRONQ_URL", server.url()),
        ("CHRONQ_TENANCY_URL", tenancy.url()),
        ("CHRONQ_TOKEN", server.token().into()),
    ];
    let client =
        tokio::task::spawn_blocking(move || Command::new(python()).arg(SCRIPT).envs(environment).output());
    let output = client.await.expect("joins").expect("starts");
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.trim_end().ends_with("ok"), "{said}\n{complained}");
}
