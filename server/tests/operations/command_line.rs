//! `chronq token`, `chronq keys`, `chronq migrate`, `chronq openapi`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use chronq_server::config::Database;
use serde_json::Value;

use crate::server::{ADMIN, Kind, call_as, start, start_on};

/// Runs the binary without what the environment of the tests may say.
fn chronq(arguments: &[&str], token: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chronq"));
    command.args(arguments);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CHRONQ_") {
            command.env_remove(name);
        }
    }
    if let Some(token) = token {
        command.env("CHRONQ_TOKEN", token);
    }
    command.output().expect("the binary")
}

async fn run(arguments: Vec<String>, token: Option<&'static str>) -> Output {
    tokio::task::spawn_blocking(move || {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        chronq(&arguments, token)
    })
    .await
    .expect("not a panic")
}

fn arguments(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("json on stdout")
}

fn sentence(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn database_url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

#[tokio::test]
async fn tokens_are_made_listed_and_revoked_given_a_url_and_an_admin_token() {
    let server = start(Kind::Sqlite).await;
    let url = server.url();
    let create = arguments(&["token", "create", "--name", "ci", "--level", "read-only", "--url", &url]);
    let made = json(&run(create, Some(ADMIN)).await);
    let token = made["token"].as_str().expect("a token");
    assert_eq!(call_as(&server, Some(token), "GET", "/v2/schedules", None).await.status, 200);
    let listed = json(&run(arguments(&["token", "list", "--url", &url]), Some(ADMIN)).await);
    assert!(listed.as_array().expect("a list").iter().any(|one| one["id"] == made["id"]));
    let id = made["id"].as_str().expect("an id");
    json(&run(arguments(&["token", "revoke", id, "--url", &url]), Some(ADMIN)).await);
    assert_eq!(call_as(&server, Some(token), "GET", "/v2/schedules", None).await.status, 401);
    let rotated = json(&run(arguments(&["token", "rotate", "--url", &url]), Some(ADMIN)).await);
    assert_eq!(rotated["name"], "publish");
    server.shutdown().await;
}

#[tokio::test]
async fn keys_are_managed_given_a_url_and_an_admin_token() {
    let server = start(Kind::Sqlite).await;
    let url = server.url();
    let keys = async |verb: &str| json(&run(arguments(&["keys", verb, "--url", &url]), Some(ADMIN)).await);
    let staged = keys("stage").await;
    assert_eq!(staged["state"], "staged");
    assert_eq!(keys("activate").await["id"], staged["id"]);
    assert_eq!(keys("rotate").await["state"], "signing");
    assert!(keys("list").await.as_array().expect("a list").len() >= 3);
    keys("prune").await;
    assert_eq!(keys("list").await.as_array().expect("a list").len(), 1);
    server.shutdown().await;
}

#[tokio::test]
async fn a_refusal_is_the_server_s_sentence() {
    let server = start(Kind::Sqlite).await;
    let url = server.url();
    let refused = run(arguments(&["token", "list", "--url", &url]), Some("chronq_unknown")).await;
    assert!(sentence(&refused).contains("the token is not known"), "{refused:?}");
    let nothing = run(arguments(&["keys", "activate", "--url", &url]), Some(ADMIN)).await;
    assert!(sentence(&nothing).contains("no key is staged"), "{nothing:?}");
    let no_token = run(arguments(&["token", "list", "--url", &url]), None).await;
    assert!(sentence(&no_token).contains("--url needs an admin token"), "{no_token:?}");
    server.shutdown().await;
}

#[tokio::test]
async fn tokens_and_keys_are_managed_on_the_database_beside_a_running_server() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("chronq.sqlite");
    let database = database_url(&path);
    let migrated = run(arguments(&["migrate", "--database-url", &database]), None).await;
    assert!(migrated.status.success(), "{migrated:?}");
    let on = |words: &[&str]| {
        let mut all = arguments(words);
        all.extend(arguments(&["--database-url", &database]));
        all
    };
    let early = json(&run(on(&["token", "create", "--name", "ci", "--level", "admin"]), None).await);

    let server = start_on(Database::Sqlite(path)).await;
    let token = early["token"].as_str().expect("a token");
    assert_eq!(call_as(&server, Some(token), "GET", "/v2/admin/tokens", None).await.status, 200);
    let id = early["id"].as_str().expect("an id");
    json(&run(on(&["token", "revoke", id]), None).await);
    let rotated = json(&run(on(&["keys", "rotate"]), None).await);
    chronq_server::refresh::once(server.state()).await;
    assert_eq!(call_as(&server, Some(token), "GET", "/v2/admin/tokens", None).await.status, 401);
    let keys = call_as(&server, Some(ADMIN), "GET", "/v2/admin/keys", None).await.json();
    assert_eq!(keys[0]["id"], rotated["id"]);
    let listed = json(&run(on(&["token", "list"]), None).await);
    assert!(listed.as_array().expect("a list").iter().all(|one| one["id"] != early["id"]));
    server.shutdown().await;
}

#[tokio::test]
async fn a_mistyped_database_is_not_made() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("typo.sqlite");
    let refused = run(arguments(&["token", "list", "--database-url", &database_url(&path)]), None).await;
    assert!(sentence(&refused).contains("`chronq migrate` makes one"), "{refused:?}");
    assert!(!path.exists());
    let nowhere = run(arguments(&["keys", "list"]), None).await;
    assert!(sentence(&nowhere).contains("say where"), "{nowhere:?}");
}

#[test]
fn the_description_is_printed() {
    assert_eq!(json(&chronq(&["openapi"], None)), chronq_server::openapi::document());
}

#[test]
fn serve_prints_an_admin_token_once_at_first_start() {
    let folder = tempfile::tempdir().expect("folder");
    let database = database_url(&folder.path().join("chronq.sqlite"));
    let first = served(&database);
    let token = first.split_whitespace().find(|word| word.starts_with("chronq_")).expect("a token on stderr");
    assert_eq!(token.len(), "chronq_".len() + 43);
    assert_eq!(first.matches("chronq_").count(), 1);
    assert!(!served(&database).contains("chronq_"));
}

/// What a server writes to stderr from its start to its end; it ends as its stdin does.
fn served(database: &str) -> String {
    let mut server = Command::new(env!("CARGO_BIN_EXE_chronq"))
        .args(["serve", "--listen", "127.0.0.1:0", "--exit-with-parent", "--database-url", database])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary");
    let mut ready = String::new();
    BufReader::new(server.stdout.take().expect("stdout")).read_line(&mut ready).expect("a line");
    let ready: Value = serde_json::from_str(&ready).expect("json");
    assert_eq!(ready["event"], "ready");
    assert_eq!((&ready["token"], &ready["signingKey"]), (&Value::Null, &Value::Null), "secrets in dev only");
    drop(server.stdin.take());
    let output = server.wait_with_output().expect("an end");
    let written = String::from_utf8(output.stderr).expect("utf-8");
    assert!(output.status.success(), "{written}");
    written
}

#[tokio::test]
async fn every_verb_of_keys_and_the_publish_token_s_rotation_work_on_a_database() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("chronq.sqlite");
    let database = database_url(&path);
    assert!(run(arguments(&["migrate", "--database-url", &database]), None).await.status.success());
    let on = async |words: &[&str]| {
        let mut all = arguments(words);
        all.extend(arguments(&["--database-url", &database]));
        json(&run(all, None).await)
    };
    let first = on(&["keys", "rotate"]).await;
    let staged = on(&["keys", "stage"]).await;
    assert_eq!((&first["state"], &staged["state"]), (&"signing".into(), &"staged".into()));
    let active = on(&["keys", "activate"]).await;
    assert_eq!((&active["id"], &active["state"]), (&staged["id"], &"signing".into()));
    let listed = on(&["keys", "list"]).await;
    let states = listed.as_array().expect("a list").iter().map(|key| (&key["id"], &key["state"]));
    assert_eq!(
        states.collect::<Vec<_>>(),
        [(&active["id"], &"signing".into()), (&first["id"], &"verifying".into())]
    );
    on(&["keys", "prune"]).await;
    let left = on(&["keys", "list"]).await;
    assert_eq!((left.as_array().map(Vec::len), &left[0]["id"]), (Some(1), &active["id"]));
    let rotated = [on(&["token", "rotate"]).await, on(&["token", "rotate"]).await];
    let server = start_on(Database::Sqlite(path)).await;
    for (made, status) in [(&rotated[0], 401), (&rotated[1], 200)] {
        let token = made["token"].as_str().expect("a token");
        assert_eq!(call_as(&server, Some(token), "GET", "/v2/queues", None).await.status, status);
    }
    server.shutdown().await;
}
