//! contract/http-queue.md, "Operations": tokens.

use chronq_server::Running;
use chronq_server::config::Database;
use serde_json::{Value, json};

use crate::log;
use crate::server::{ADMIN, Answer, call, call_as, start, start_on};

const TOKENS: &str = "/v2/admin/tokens";
const SCHEDULES: &str = "/v2/schedules";

async fn create(server: &Running, name: &str, level: &str) -> Value {
    let answer = call(server, "POST", TOKENS, Some(json!({ "name": name, "level": level }))).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("no {field} in {value}"))
}

async fn get_schedules(server: &Running, token: &str) -> Answer {
    call_as(server, Some(token), "GET", SCHEDULES, None).await
}

#[tokio::test]
async fn a_named_token_is_shown_once_when_it_is_created() {
    let server = start().await;
    let made = create(&server, "billing", "read-only").await;
    let token = text(&made, "token");
    assert!(token.starts_with("chronq_"), "{token}");
    assert_eq!(text(&made, "name"), "billing");
    assert_eq!(text(&made, "level"), "read-only");
    assert_eq!(text(&made, "tenant"), "default");
    assert_eq!(text(&made, "lastFour"), &token[token.len() - 4..]);
    assert_eq!(get_schedules(&server, token).await.status, 200);

    let listed = call(&server, "GET", TOKENS, None).await;
    assert!(!listed.body.contains(token));
    let listed = listed.json();
    let one = listed.as_array().expect("a list").iter().find(|one| one["id"] == made["id"]).expect("listed");
    assert_eq!(one["lastFour"], made["lastFour"]);
    assert!(one["createdAt"].is_i64());
    server.shutdown().await;
}

#[tokio::test]
async fn a_token_s_answer_may_not_be_cached() {
    let server = start().await;
    let body = json!({ "name": "x", "level": "admin" });
    let answer = call(&server, "POST", TOKENS, Some(body)).await;
    assert!(answer.head.contains("cache-control: no-store"), "{}", answer.head);
    server.shutdown().await;
}

#[tokio::test]
async fn a_token_belongs_to_the_tenant_it_was_made_for() {
    let server = start().await;
    let body = json!({ "name": "x", "level": "read-write", "tenant": "acme" });
    let made = call(&server, "POST", TOKENS, Some(body)).await.json();
    assert_eq!(text(&made, "tenant"), "acme");
    server.shutdown().await;
}

#[tokio::test]
async fn too_low_a_level_is_403() {
    let server = start().await;
    let schedule = json!({ "name": "n", "cron": "@daily", "url": "http://127.0.0.1:9/" });
    for (level, reads, writes, administers) in [
        ("read-only", 200, 403, 403),
        ("write-only", 403, 201, 403),
        ("read-write", 200, 200, 403),
        ("admin", 200, 200, 200),
    ] {
        let made = create(&server, level, level).await;
        let token = text(&made, "token");
        assert_eq!(get_schedules(&server, token).await.status, reads, "{level} reads");
        let put = call_as(&server, Some(token), "POST", SCHEDULES, Some(schedule.clone())).await;
        assert_eq!(put.status, writes, "{level} writes");
        let listed = call_as(&server, Some(token), "GET", TOKENS, None).await;
        assert_eq!(listed.status, administers, "{level} administers");
    }
    server.shutdown().await;
}

#[tokio::test]
async fn no_token_and_an_unknown_one_are_401() {
    let server = start().await;
    for path in [TOKENS, SCHEDULES, "/v2/admin/keys", "/metrics"] {
        assert_eq!(call_as(&server, None, "GET", path, None).await.status, 401, "{path}");
        assert_eq!(call_as(&server, Some("chronq_unknown"), "GET", path, None).await.status, 401, "{path}");
    }
    server.shutdown().await;
}

#[tokio::test]
async fn revocation_applies_to_the_next_request() {
    let server = start().await;
    let made = create(&server, "leaked", "read-write").await;
    let kept = create(&server, "kept", "read-write").await;
    let path = format!("{TOKENS}/{}", text(&made, "id"));
    assert_eq!(call(&server, "DELETE", &path, None).await.status, 200);
    assert_eq!(get_schedules(&server, text(&made, "token")).await.status, 401);
    assert_eq!(get_schedules(&server, text(&kept, "token")).await.status, 200);
    let again = call(&server, "DELETE", &path, None).await;
    assert_eq!((again.status, again.error()), (404, format!("unknown token: \"{}\"", text(&made, "id"))));
    assert_eq!(call(&server, "DELETE", &format!("{TOKENS}/x"), None).await.status, 404);
    server.shutdown().await;
}

#[tokio::test]
async fn rotating_the_publish_token_ends_the_old_one_at_once() {
    let server = start().await;
    let rotate = async || call(&server, "POST", "/v2/admin/publish-token/rotate", None).await.json();
    let first = rotate().await;
    assert_eq!(text(&first, "level"), "read-write");
    assert!(text(&first, "token").starts_with("chronq_"));
    assert_eq!(get_schedules(&server, text(&first, "token")).await.status, 200);
    let second = rotate().await;
    assert_eq!(get_schedules(&server, text(&first, "token")).await.status, 401);
    assert_eq!(get_schedules(&server, text(&second, "token")).await.status, 200);
    let listed = call(&server, "GET", TOKENS, None).await.json();
    let publish =
        listed.as_array().expect("a list").iter().filter(|token| token["name"] == "publish").count();
    assert_eq!(publish, 1);
    server.shutdown().await;
}

#[tokio::test]
async fn the_list_shows_the_minute_of_the_last_use() {
    let server = start().await;
    let made = create(&server, "billing", "read-only").await;
    let find = async || {
        let listed = call(&server, "GET", TOKENS, None).await.json();
        listed.as_array().expect("a list").iter().find(|one| one["id"] == made["id"]).expect("listed").clone()
    };
    assert_eq!(find().await["lastUsedAt"], Value::Null);
    get_schedules(&server, text(&made, "token")).await;
    let used = find().await["lastUsedAt"].as_i64().expect("used");
    assert_eq!(used % 60_000, 0);
    assert!((0..=120_000).contains(&(server.state().clock.now_ms() - used)));
    server.shutdown().await;
}

#[tokio::test]
async fn a_request_for_a_token_is_refused_by_name() {
    let server = start().await;
    for (body, part) in [
        (json!({ "name": "x" }), "missing field `level`"),
        (
            json!({ "name": "x", "level": "root" }),
            "level must be one of read-only, write-only, read-write, admin",
        ),
        (json!({ "name": "", "level": "admin" }), "name must be 1 to 100 bytes"),
        (json!({ "name": "x", "level": "admin", "role": "y" }), "unknown field `role`"),
        (json!([]), "the body must be"),
    ] {
        let answer = call(&server, "POST", TOKENS, Some(body)).await;
        assert_eq!(answer.status, 400);
        assert!(answer.error().contains(part), "{part} in {answer:?}");
    }
    server.shutdown().await;
}

#[tokio::test]
async fn a_token_made_elsewhere_is_accepted_with_the_next_refresh_and_tokens_outlive_a_restart() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("chronq.sqlite");
    let server = start_on(Database::Sqlite(path.clone())).await;
    let made = create(&server, "kept", "read-only").await;
    server.shutdown().await;

    let server = start_on(Database::Sqlite(path)).await;
    assert_eq!(get_schedules(&server, text(&made, "token")).await.status, 200);
    // Another process works on the database alone: this one learns of it by its own refresh.
    let id = text(&made, "id").parse().expect("uuid");
    assert!(server.state().store.revoke_token(id).await.expect("store"));
    assert_eq!(get_schedules(&server, text(&made, "token")).await.status, 200);
    chronq_server::refresh::once(server.state()).await;
    assert_eq!(get_schedules(&server, text(&made, "token")).await.status, 401);
    server.shutdown().await;
}

#[test]
fn other_processes_refresh_within_a_minute() {
    assert!(chronq_server::refresh::EVERY < std::time::Duration::from_mins(1));
}

#[tokio::test]
async fn a_database_dump_holds_no_usable_token_and_no_log_line_a_token_or_key() {
    let folder = tempfile::tempdir().expect("folder");
    let server = start_on(Database::Sqlite(folder.path().join("chronq.sqlite"))).await;
    let named = create(&server, "billing", "admin").await;
    let publish = call(&server, "POST", "/v2/admin/publish-token/rotate", None).await.json();
    let key = call(&server, "POST", "/v2/admin/keys/rotate", None).await.json();
    get_schedules(&server, text(&named, "token")).await;
    get_schedules(&server, "chronq_unknown-but-secret").await;
    let tokens = [text(&named, "token"), text(&publish, "token"), ADMIN];
    server.shutdown().await;

    let mut dump = Vec::new();
    for file in std::fs::read_dir(folder.path()).expect("folder") {
        dump.extend(std::fs::read(file.expect("entry").path()).expect("file"));
    }
    assert!(dump.len() > 4_096, "the database is there");
    let log = log::text();
    assert!(!log.is_empty(), "the log is kept");
    for token in tokens {
        assert!(!dump.windows(token.len()).any(|window| window == token.as_bytes()), "a token in the dump");
        assert!(!log.contains(token), "a token in the log");
    }
    assert!(!log.contains(text(&key, "key")), "a key in the log");
    assert!(!log.contains("chronq_unknown-but-secret"), "a refused token in the log");
}
