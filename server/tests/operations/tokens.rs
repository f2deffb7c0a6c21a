//! contract/http-queue.md, "Operations": tokens.

use chronq_server::Running;
use chronq_server::config::Database;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::log;
use crate::server::{ADMIN, Answer, Kind, Place, call, call_as, start, start_on};

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

async fn a_named_token_is_shown_once_when_it_is_created(store: Kind) {
    let server = start(store).await;
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

async fn a_token_s_answer_may_not_be_cached(store: Kind) {
    let server = start(store).await;
    let body = json!({ "name": "x", "level": "admin" });
    let answer = call(&server, "POST", TOKENS, Some(body)).await;
    assert!(answer.head.contains("cache-control: no-store"), "{}", answer.head);
    server.shutdown().await;
}

async fn a_token_belongs_to_the_tenant_it_was_made_for(store: Kind) {
    let server = start(store).await;
    let body = json!({ "name": "x", "level": "read-write", "tenant": "acme" });
    let made = call(&server, "POST", TOKENS, Some(body)).await.json();
    assert_eq!(text(&made, "tenant"), "acme");
    server.shutdown().await;
}

async fn too_low_a_level_is_403(store: Kind) {
    let server = start(store).await;
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

async fn no_token_and_an_unknown_one_are_401(store: Kind) {
    let server = start(store).await;
    for path in [TOKENS, SCHEDULES, "/v2/admin/keys", "/metrics"] {
        assert_eq!(call_as(&server, None, "GET", path, None).await.status, 401, "{path}");
        assert_eq!(call_as(&server, Some("chronq_unknown"), "GET", path, None).await.status, 401, "{path}");
    }
    server.shutdown().await;
}

async fn revocation_applies_to_the_next_request(store: Kind) {
    let server = start(store).await;
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

async fn rotating_the_publish_token_ends_the_old_one_at_once(store: Kind) {
    let server = start(store).await;
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

async fn the_list_shows_the_minute_of_the_last_use(store: Kind) {
    let server = start(store).await;
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

async fn a_request_for_a_token_is_refused_by_name(store: Kind) {
    let server = start(store).await;
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

async fn tokens_outlive_a_restart_and_one_revoked_elsewhere_ends_with_the_next_refresh(store: Kind) {
    let place = store.place().await;
    let server = start_on(place.database.clone()).await;
    let made = create(&server, "kept", "read-only").await;
    server.shutdown().await;

    let server = start_on(place.database.clone()).await;
    assert_eq!(get_schedules(&server, text(&made, "token")).await.status, 200);
    // Another process works on the database alone: this one learns of it by its own refresh.
    let id = text(&made, "id").parse().expect("uuid");
    assert!(server.state().store.revoke_token(id).await.expect("store"));
    assert_eq!(get_schedules(&server, text(&made, "token")).await.status, 200);
    chronq_server::refresh::once(server.state()).await;
    assert_eq!(get_schedules(&server, text(&made, "token")).await.status, 401);
    server.shutdown().await;
}

#[tokio::test]
async fn a_token_made_by_one_server_is_accepted_by_another_after_its_refresh() {
    let place = Kind::Postgres.place().await;
    let (one, other) = (start_on(place.database.clone()).await, start_on(place.database.clone()).await);
    let made = create(&one, "billing", "read-only").await;
    assert_eq!(get_schedules(&one, text(&made, "token")).await.status, 200);
    chronq_server::refresh::once(other.state()).await;
    assert_eq!(get_schedules(&other, text(&made, "token")).await.status, 200);
    one.shutdown().await;
    other.shutdown().await;
}

#[test]
fn other_processes_refresh_within_a_minute() {
    assert!(chronq_server::refresh::EVERY < std::time::Duration::from_mins(1));
}

async fn a_database_dump_holds_no_usable_token_and_no_log_line_a_token_or_key(store: Kind) {
    let place = store.place().await;
    let server = start_on(place.database.clone()).await;
    let named = create(&server, "billing", "admin").await;
    let publish = call(&server, "POST", "/v2/admin/publish-token/rotate", None).await.json();
    let key = call(&server, "POST", "/v2/admin/keys/rotate", None).await.json();
    get_schedules(&server, text(&named, "token")).await;
    get_schedules(&server, "chronq_unknown-but-secret").await;
    server.shutdown().await;

    let dump = dump(&place).await;
    let contains = |text: &str| dump.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(contains("billing"), "the dump holds the tokens' names");
    tracing::trace!("the test's own line");
    let log = log::text();
    assert!(log.contains("the test's own line"), "the log is kept, to the finest level");
    for token in [text(&named, "token"), text(&publish, "token"), ADMIN] {
        assert!(!contains(token), "a token in the dump");
        assert!(!log.contains(token), "a token in the log");
    }
    assert!(!log.contains(text(&key, "key")), "a key in the log");
    assert!(!log.contains("chronq_unknown-but-secret"), "a refused token in the log");
}

/// Everything that the database holds.
async fn dump(place: &Place) -> Vec<u8> {
    let mut dump = Vec::new();
    if let Some(folder) = &place.folder {
        for file in std::fs::read_dir(folder.path()).expect("folder") {
            dump.extend(std::fs::read(file.expect("entry").path()).expect("file"));
        }
    }
    if let Database::Postgres(url) = &place.database {
        let mut connection = PgConnection::connect(url.expose()).await.expect("connect");
        let tables: Vec<String> =
            sqlx::query_scalar("SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()")
                .fetch_all(&mut connection)
                .await
                .expect("tables");
        for table in tables {
            let rows = format!("SELECT t::text FROM \"{table}\" t");
            let rows: Vec<String> =
                sqlx::query_scalar(AssertSqlSafe(rows)).fetch_all(&mut connection).await.expect("rows");
            dump.extend(rows.concat().into_bytes());
        }
    }
    dump
}

on_both_stores! {
    a_named_token_is_shown_once_when_it_is_created,
    a_token_s_answer_may_not_be_cached,
    a_token_belongs_to_the_tenant_it_was_made_for,
    too_low_a_level_is_403,
    no_token_and_an_unknown_one_are_401,
    revocation_applies_to_the_next_request,
    rotating_the_publish_token_ends_the_old_one_at_once,
    the_list_shows_the_minute_of_the_last_use,
    a_request_for_a_token_is_refused_by_name,
    tokens_outlive_a_restart_and_one_revoked_elsewhere_ends_with_the_next_refresh,
    a_database_dump_holds_no_usable_token_and_no_log_line_a_token_or_key,
}
