//! contract/http-queue.md, "Schedules".

use chronq::Name;
use chronq::queue::QueueSettings;
use chronq_server::Running;
use chronq_server::config::Database;
use chronq_server::store::types::event::{EventFilter, Message};
use chronq_server::store::{Clock, DatabaseUrl, Role};

use serde_json::{Value, json};

use crate::server::{Kind, Place, call, eventually, inbox, start, start_on};

const SCHEDULES: &str = "/v2/schedules";
const DAY_MS: u64 = 86_400_000;

fn nightly() -> Value {
    json!({ "name": "nightly", "cron": "0 3 * * *", "url": "http://127.0.0.1:9/report" })
}

fn with(field: &str, value: Value) -> Value {
    let mut schedule = nightly();
    schedule[field] = value;
    schedule
}

async fn put(server: &Running, schedule: Value) -> Value {
    let answer = call(server, "POST", SCHEDULES, Some(schedule)).await;
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
    answer.json()
}

async fn get(server: &Running, name: &str) -> Value {
    call(server, "GET", &format!("{SCHEDULES}/{name}"), None).await.json()
}

/// The messages of a schedule's runs, newest first.
async fn runs(server: &Running, name: &str) -> Vec<Message> {
    let schedule = Some(Name::parse("name", name).expect("a name"));
    let filter = EventFilter { schedule, limit: 100, ..EventFilter::default() };
    server.state().store.events(filter).await.expect("store").messages
}

async fn advance(server: &Running, ms: u64) {
    let answer = call(server, "POST", "/dev/clock/advance", Some(json!({ "ms": ms }))).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// Advances to just after the schedule's next run.
async fn advance_to_next_run(server: &Running, name: &str) {
    let next = get(server, name).await["nextRunAt"].as_i64().expect("a next run");
    let wait = u64::try_from(next - server.state().clock.now_ms()).unwrap_or(0);
    advance(server, wait).await;
}

async fn moved_on(server: &Running, name: &str, from: &Value) -> Value {
    let now = server.state().clock.now_ms();
    eventually("the schedule's move to its next run", || async {
        let schedule = get(server, name).await;
        let next = schedule["nextRunAt"].as_i64().unwrap_or(i64::MAX);
        (schedule["nextRunAt"] != from["nextRunAt"] && next > now).then_some(schedule)
    })
    .await
}

async fn a_put_is_201_when_made_and_200_when_changed(store: Kind) {
    let server = start(store).await;
    let made = call(&server, "POST", SCHEDULES, Some(nightly())).await;
    assert_eq!(made.status, 201);
    let made = made.json();
    for (field, value) in [
        ("name", json!("nightly")),
        ("cron", json!("0 3 * * *")),
        ("url", json!("http://127.0.0.1:9/report")),
        ("method", json!("POST")),
        ("headers", json!({})),
        ("body", json!("")),
        ("timezone", json!("UTC")),
        ("missed", json!("skip")),
        ("timeoutMs", json!(30_000)),
        ("queue", json!("nightly")),
        ("enabled", json!(true)),
        ("description", json!(null)),
        ("failureCallback", json!(null)),
        ("lastRunAt", json!(null)),
    ] {
        assert_eq!(made[field], value, "{field}");
    }
    assert_eq!(made["nextRunAt"].as_i64().expect("a next run") % 86_400_000, 3 * 3_600_000);

    let changed = call(&server, "POST", SCHEDULES, Some(with("timezone", json!("America/Chicago")))).await;
    assert_eq!(changed.status, 200);
    let changed = changed.json();
    assert_eq!(changed["createdAt"], made["createdAt"]);
    assert_ne!(changed["nextRunAt"], made["nextRunAt"]);
    server.shutdown().await;
}

async fn schedules_are_listed_read_and_deleted_by_name(store: Kind) {
    let server = start(store).await;
    let one = put(&server, nightly()).await;
    let other = put(&server, with("name", json!("another"))).await;
    assert_eq!(call(&server, "GET", SCHEDULES, None).await.json(), json!([other, one]));
    assert_eq!(get(&server, "nightly").await, one);
    let path = format!("{SCHEDULES}/nightly");
    assert_eq!(call(&server, "DELETE", &path, None).await.status, 200);
    for (method, path) in [("GET", path.clone()), ("DELETE", path.clone()), ("POST", format!("{path}/run"))] {
        let missing = call(&server, method, &path, None).await;
        assert_eq!((missing.status, missing.error()), (404, "unknown schedule: \"nightly\"".to_owned()));
    }
    assert_eq!(call(&server, "GET", &format!("{SCHEDULES}/%20"), None).await.status, 404);
    server.shutdown().await;
}

async fn a_field_outside_the_contract_is_a_400_that_names_it(store: Kind) {
    let server = start(store).await;
    for (field, value, part) in [
        ("name", json!("a b"), "name must be 1 to 64"),
        ("cron", json!("0 25 * * *"), "cron must be five cron fields"),
        ("cron", json!("0 0 30 2 *"), "cron must run at least once from now on"),
        ("cron", json!("FREQ=DAILY;UNTIL=20200101T000000Z"), "cron must"),
        ("timezone", json!("CST"), "timezone must be an IANA name"),
        ("url", json!("report"), "url must be an absolute URL, got \"report\""),
        ("url", json!("http://169.254.169.254/latest"), "url must not lead to an address"),
        ("failureCallback", json!("http://0xa9fea9fe/"), "failureCallback must not lead to an address"),
        ("queue", json!("webhoks"), "unknown queue: \"webhoks\""),
        ("missed", json!("all"), "missed must be one of skip, once, got \"all\""),
        ("timeoutMs", json!(7_200_001), "timeoutMs must be at most 2h"),
        ("colour", json!("red"), "unknown field \"colour\""),
    ] {
        let answer = call(&server, "POST", SCHEDULES, Some(with(field, value))).await;
        assert_eq!(answer.status, 400, "{field}: {answer:?}");
        assert!(answer.error().contains(part), "{part} in {answer:?}");
    }
    assert_eq!(call(&server, "GET", SCHEDULES, None).await.json(), json!([]));
    server.shutdown().await;
}

async fn a_schedule_without_a_queue_gets_its_own(store: Kind) {
    let server = start(store).await;
    let own = put(&server, nightly()).await;
    assert_eq!(own["queue"], "nightly");
    let name = Name::parse("name", "nightly").expect("a name");
    assert!(server.state().store.queue(&name).await.expect("store").is_some());
    let named = put(&server, with("queue", json!("default"))).await;
    assert_eq!(named["queue"], "default");
    server.shutdown().await;
}

async fn run_now_makes_one_run_with_the_schedule_s_name_as_label(store: Kind) {
    let server = start(store).await;
    put(&server, with("enabled", json!(false))).await;
    let ran = call(&server, "POST", &format!("{SCHEDULES}/nightly/run"), None).await;
    assert_eq!(ran.status, 200, "{ran:?}");
    let ran = ran.json();
    assert_eq!(ran["queue"], "nightly");
    let made = runs(&server, "nightly").await;
    assert_eq!(made.len(), 1);
    assert_eq!(ran["messageId"], made[0].id.to_string());
    assert_eq!(made[0].labels, ["nightly"]);
    assert_eq!(made[0].destination.as_str(), "http://127.0.0.1:9/report");
    server.shutdown().await;
}

async fn a_schedule_runs_when_it_is_due_and_moves_on(store: Kind) {
    let server = start(store).await;
    let made = put(&server, nightly()).await;
    advance_to_next_run(&server, "nightly").await;
    let after = moved_on(&server, "nightly", &made).await;
    assert_eq!(runs(&server, "nightly").await.len(), 1);
    assert!(after["lastRunAt"].as_i64() >= made["nextRunAt"].as_i64());
    let day = i64::try_from(DAY_MS).expect("in range");
    assert_eq!(after["nextRunAt"].as_i64(), made["nextRunAt"].as_i64().map(|next| next + day));
    advance_to_next_run(&server, "nightly").await;
    moved_on(&server, "nightly", &after).await;
    assert_eq!(runs(&server, "nightly").await.len(), 2);
    server.shutdown().await;
}

async fn a_clock_moved_past_several_runs_makes_one(store: Kind) {
    let server = start(store).await;
    let made = put(&server, nightly()).await;
    advance(&server, 5 * DAY_MS).await;
    moved_on(&server, "nightly", &made).await;
    assert_eq!(runs(&server, "nightly").await.len(), 1);
    server.shutdown().await;
}

async fn an_rrule_that_ended_is_due_no_more(store: Kind) {
    let server = start(store).await;
    let made = put(&server, with("cron", json!("FREQ=DAILY;COUNT=2"))).await;
    let created = made["createdAt"].as_i64().expect("an instant");
    assert_eq!(made["nextRunAt"].as_i64(), Some(created - created.rem_euclid(1_000) + 86_400_000));
    advance(&server, DAY_MS).await;
    let ended = eventually("the last run", || async {
        let schedule = get(&server, "nightly").await;
        schedule["nextRunAt"].is_null().then_some(schedule)
    })
    .await;
    assert!(ended["lastRunAt"].as_i64() >= made["nextRunAt"].as_i64());
    assert_eq!(runs(&server, "nightly").await.len(), 1);
    server.shutdown().await;
}

async fn a_disabled_schedule_has_no_next_run(store: Kind) {
    let server = start(store).await;
    let made = put(&server, with("enabled", json!(false))).await;
    assert_eq!(made["nextRunAt"], Value::Null);
    assert!(put(&server, nightly()).await["nextRunAt"].is_i64());
    server.shutdown().await;
}

async fn a_disabled_queue_refuses_cron_runs_and_the_schedule_moves_on(store: Kind) {
    let server = start(store).await;
    let queue = Name::parse("name", "orders").expect("a name");
    let settings = QueueSettings { enabled: Some(false), ..QueueSettings::default() };
    server.state().store.put_queue(queue, settings).await.expect("store");
    let made = put(&server, with("queue", json!("orders"))).await;
    advance_to_next_run(&server, "nightly").await;
    moved_on(&server, "nightly", &made).await;
    assert_eq!(runs(&server, "nightly").await.len(), 0);
    let by_hand = call(&server, "POST", &format!("{SCHEDULES}/nightly/run"), None).await;
    assert_eq!((by_hand.status, by_hand.error()), (400, "queue is disabled: \"orders\"".to_owned()));
    server.shutdown().await;
}

async fn an_edit_applies_to_the_next_run(store: Kind) {
    let server = start(store).await;
    let made = put(&server, nightly()).await;
    put(&server, with("url", json!("http://127.0.0.1:9/edited"))).await;
    advance_to_next_run(&server, "nightly").await;
    moved_on(&server, "nightly", &made).await;
    let made = runs(&server, "nightly").await;
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].destination.as_str(), "http://127.0.0.1:9/edited");
    server.shutdown().await;
}

/// A server that starts an hour after the schedule was due, nothing having run in between.
async fn started_late(place: &Place, missed: &str) -> (Running, Value) {
    let server = start_on(place.database.clone()).await;
    put(&server, with("missed", json!(missed))).await;
    let stored = server.state().store.schedules().await.expect("store").remove(0);
    let late = server.state().clock.now_ms() - 3_600_000;
    server.shutdown().await;
    // What the first server would have left behind, had it been stopped for an hour.
    let url = match &place.database {
        Database::Sqlite(path) => DatabaseUrl::Sqlite(path.clone()),
        Database::Postgres(url) => DatabaseUrl::Postgres(url.clone()),
        Database::Memory => panic!("gone with its server"),
    };
    let store = chronq_server::store::open(&url, Role::Tool, Clock::new()).await.expect("store");
    store.put_schedule(stored.spec, Some(late)).await.expect("store");
    store.close().await;
    (start_on(place.database.clone()).await, json!({ "nextRunAt": late }))
}

async fn missed_once_makes_one_catch_up_run_for_all_that_came_due(store: Kind) {
    let place = store.place().await;
    let (server, before) = started_late(&place, "once").await;
    moved_on(&server, "nightly", &before).await;
    assert_eq!(runs(&server, "nightly").await.len(), 1);
    server.shutdown().await;
}

async fn missed_skip_makes_none(store: Kind) {
    let place = store.place().await;
    let (server, before) = started_late(&place, "skip").await;
    let after = moved_on(&server, "nightly", &before).await;
    assert_eq!(runs(&server, "nightly").await.len(), 0);
    assert_eq!(after["lastRunAt"], Value::Null);
    server.shutdown().await;
}

fn to_inbox(server: &Running, name: &str) -> Value {
    json!(format!("{}/dev/inbox/{name}", server.url()))
}

fn header<'a>(request: &'a Value, name: &str) -> Option<&'a str> {
    let headers = request["headers"].as_array().expect("headers");
    headers.iter().find(|pair| pair[0] == name).and_then(|pair| pair[1].as_str())
}

async fn a_run_is_a_signed_delivery_of_the_schedule_as_it_is_now(store: Kind) {
    let server = start(store).await;
    let mut schedule = with("url", to_inbox(&server, "report"));
    schedule["method"] = json!("PUT");
    schedule["headers"] = json!({ "content-type": "application/json", "x-report": "nightly" });
    schedule["body"] = json!("{\"report\":\"old\"}");
    put(&server, schedule.clone()).await;
    schedule["body"] = json!("{\"report\":\"nightly\"}");
    put(&server, schedule).await;
    advance_to_next_run(&server, "nightly").await;
    let requests = inbox(&server, "report", 1).await;
    assert_eq!(requests.len(), 1);
    let request = &requests[0];
    assert_eq!(request["method"], "PUT");
    assert_eq!(request["body"], "{\"report\":\"nightly\"}");
    assert_eq!(header(request, "x-report"), Some("nightly"));
    assert_eq!(header(request, "content-type"), Some("application/json"));
    assert_eq!(header(request, "chronq-retried"), Some("0"));
    assert!(header(request, "chronq-signature").is_some());
    let run = &runs(&server, "nightly").await[0];
    assert_eq!(header(request, "chronq-message-id"), Some(run.id.to_string().as_str()));
    server.shutdown().await;
}

async fn a_run_that_fails_for_good_calls_the_failure_alert_once_with_the_schedule_s_name_as_label(
    store: Kind,
) {
    let server = start(store).await;
    let refuse =
        json!({ "respond": [{ "status": 489, "headers": { "chronq-nonretryable-error": "true" } }] });
    assert_eq!(call(&server, "PUT", "/dev/inbox/report/script", Some(refuse)).await.status, 200);
    let mut schedule = with("url", to_inbox(&server, "report"));
    schedule["failureCallback"] = to_inbox(&server, "alerts");
    put(&server, schedule).await;
    let ran = call(&server, "POST", &format!("{SCHEDULES}/nightly/run"), None).await.json();
    let alerts = inbox(&server, "alerts", 1).await;
    assert_eq!(alerts.len(), 1);
    let alert: Value = serde_json::from_str(alerts[0]["body"].as_str().expect("text")).expect("json");
    assert_eq!(alert["labels"], json!(["nightly"]));
    assert_eq!(alert["messageId"], ran["messageId"]);
    assert_eq!((&alert["status"], &alert["retried"]), (&json!(489), &json!(0)));
    assert!(header(&alerts[0], "chronq-signature").is_some());
    server.shutdown().await;
}

async fn a_run_is_found_in_the_event_log_by_its_schedule(store: Kind) {
    let server = start(store).await;
    put(&server, with("url", to_inbox(&server, "report"))).await;
    call(&server, "POST", &format!("{SCHEDULES}/nightly/run"), None).await;
    inbox(&server, "report", 1).await;
    let events = call(&server, "GET", "/v2/events?cronjob=nightly", None).await.json();
    assert_eq!(events["total"], 1);
    assert_eq!(
        (&events["jobs"][0]["cronjob"], &events["jobs"][0]["labels"]),
        (&json!("nightly"), &json!(["nightly"]))
    );
    let other = call(&server, "GET", "/v2/events?cronjob=weekly", None).await.json();
    assert_eq!(other["total"], 0);
    server.shutdown().await;
}

on_both_stores! {
    a_put_is_201_when_made_and_200_when_changed,
    schedules_are_listed_read_and_deleted_by_name,
    a_field_outside_the_contract_is_a_400_that_names_it,
    a_schedule_without_a_queue_gets_its_own,
    run_now_makes_one_run_with_the_schedule_s_name_as_label,
    a_schedule_runs_when_it_is_due_and_moves_on,
    a_clock_moved_past_several_runs_makes_one,
    an_rrule_that_ended_is_due_no_more,
    a_disabled_schedule_has_no_next_run,
    a_disabled_queue_refuses_cron_runs_and_the_schedule_moves_on,
    an_edit_applies_to_the_next_run,
    missed_once_makes_one_catch_up_run_for_all_that_came_due,
    missed_skip_makes_none,
    a_run_is_a_signed_delivery_of_the_schedule_as_it_is_now,
    a_run_that_fails_for_good_calls_the_failure_alert_once_with_the_schedule_s_name_as_label,
    a_run_is_found_in_the_event_log_by_its_schedule,
}

/// Several servers on one database.
#[tokio::test]
async fn several_instances_make_one_run() {
    let place = Kind::Postgres.place().await;
    let mut servers = Vec::new();
    for _ in 0..3 {
        servers.push(start_on(place.database.clone()).await);
    }
    let made = put(&servers[0], with("cron", json!("* * * * *"))).await;
    let next = made["nextRunAt"].as_i64().expect("a next run");
    // Each has a clock of its own: all of them see the run come due at once.
    for server in &servers {
        let wait = u64::try_from(next - server.state().clock.now_ms()).unwrap_or(0);
        advance(server, wait).await;
    }
    for server in &servers {
        moved_on(server, "nightly", &made).await;
    }
    assert_eq!(runs(&servers[0], "nightly").await.len(), 1);
    for server in servers {
        server.shutdown().await;
    }
}
