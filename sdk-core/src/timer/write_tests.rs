use super::*;
use serde_json::{Value, json};

use crate::Secret;
use crate::exchange::{Exchange, Failure, Step};
use crate::retry::RetryPolicy;

fn endpoint() -> Endpoint {
    Endpoint::new("http://127.0.0.1:7460", Secret::from("tok_not-a-real-token"), None).expect("endpoint")
}

fn timer(key: &str) -> NewTimer {
    NewTimer::new("reminders", key, &b"{\"kind\":\"day7\"}"[..], Delay::from_millis(604_800_000))
}

fn start<O: Operation>(operation: O) -> Exchange<O> {
    Exchange::new(operation, endpoint(), RetryPolicy::default(), &mut Mint::new([7; 32], 1_795_996_800_000))
}

fn sent<O: Operation + std::fmt::Debug>(exchange: &mut Exchange<O>) -> Request
where
    O::Output: std::fmt::Debug,
{
    match exchange.step() {
        Step::Send(request) => *request,
        other => panic!("expected a request, got {other:?}"),
    }
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).expect("json")
}

fn answer(status: u16, body: &Value) -> Response {
    Response::new(status, body.to_string())
}

fn element(status: &str, ok: bool, key: &str) -> Value {
    json!({"ok": ok, "status": status, "queue": "reminders", "timerKey": key, "txn": "t",
           "messageId": "01936b0e-8d2c-7c3a-9f00-000000000001", "deliverAt": "2026-12-07T00:00:00.000000Z"})
}

#[test]
fn a_schedule_is_the_operation_of_the_seed() {
    let mut new = timer("trial:acme:day7");
    new.txn = Some("trial-acme-day7-v1".into());
    new.partition = Some("acme".into());
    let request = sent(&mut start(Schedule::new(new)));
    assert_eq!(request.method, Method::Post);
    assert_eq!(request.url, "http://127.0.0.1:7460/api/v1/timers");
    let expected = json!({"operations": [{
        "op": "schedule", "queue": "reminders", "timerKey": "trial:acme:day7", "delayMs": 604_800_000,
        "txn": "trial-acme-day7-v1", "payload": "eyJraW5kIjoiZGF5NyJ9", "partition": "acme",
    }]});
    assert_eq!(body(&request), expected);
}

#[test]
fn a_minted_txn_is_kept_over_retries() {
    let mut exchange = start(Reschedule::new(timer("k")));
    let first = body(&sent(&mut exchange));
    exchange.fail(Failure { message: "reset".into(), may_have_been_sent: true }, 0.0);
    assert!(matches!(exchange.step(), Step::Wait(_)));
    assert_eq!(body(&sent(&mut exchange)), first);
    assert!(first["operations"][0]["txn"].as_str().expect("minted").starts_with("01"));
}

#[test]
fn a_cancel_uses_the_route_that_always_works() {
    let cancel =
        Cancel { queue: "reminders".into(), timer_key: "tenant/42".into(), txn: Some("a b+c".into()) };
    let request = sent(&mut start(cancel));
    assert_eq!(request.method, Method::Delete);
    assert_eq!(request.url, "http://127.0.0.1:7460/api/v1/timers/reminders/tenant%2F42?txn=a%20b%2Bc");
}

#[test]
fn a_cancel_whose_answer_was_lost_says_that_it_may_be_its_own() {
    let mut exchange =
        start(Cancel { queue: "reminders".into(), timer_key: "k".into(), txn: Some("t".into()) });
    let _ = sent(&mut exchange);
    exchange.fail(Failure { message: "reset".into(), may_have_been_sent: true }, 0.0);
    let _ = exchange.step();
    let _ = sent(&mut exchange);
    let absent = json!({"ok": false, "status": "absent", "queue": "reminders", "timerKey": "k", "txn": "t"});
    exchange.respond(&answer(200, &absent), 0, 0.0);
    let Step::Done(Ok(TimerOutcome::Absent(absent))) = exchange.step() else { panic!("absent") };
    assert!(absent.after_lost_answer);
    assert_eq!(absent.txn.as_deref(), Some("t"));
}

#[test]
fn a_batch_over_256_is_split_and_keeps_its_order() {
    let operations = (0..257).map(|n| BatchOperation::Schedule(timer(&format!("k{n}")))).collect();
    let mut exchange = start(TimerBatch::new(operations));
    for part in [0..256, 256..257] {
        let request = body(&sent(&mut exchange));
        assert_eq!(request["operations"].as_array().map(Vec::len), Some(part.len()));
        let results: Vec<_> = part.map(|n| element("scheduled", true, &format!("k{n}"))).collect();
        exchange.respond(&answer(200, &json!({"results": results})), 0, 0.0);
    }
    let Step::Done(Ok(outcomes)) = exchange.step() else { panic!("done") };
    assert_eq!(outcomes.len(), 257);
    assert_eq!(outcomes[256].subject(), ("reminders", "k256"));
}

#[test]
fn a_refusal_of_a_later_part_says_what_was_applied() {
    let operations = (0..300).map(|n| BatchOperation::Schedule(timer(&format!("k{n}")))).collect();
    let mut exchange = start(TimerBatch::new(operations));
    let _ = sent(&mut exchange);
    let results: Vec<_> = (0..256).map(|n| element("scheduled", true, &format!("k{n}"))).collect();
    exchange.respond(&answer(200, &json!({"results": results})), 0, 0.0);
    let _ = sent(&mut exchange);
    let refusal =
        json!({"error": "timers_quota_exceeded", "detail": "the quota of pending timers is exhausted"});
    exchange.respond(&answer(403, &refusal), 0, 0.0);
    let Step::Done(Err(error)) = exchange.step() else { panic!("refused") };
    assert_eq!(error.code(), "timers_quota_exceeded");
    assert!(error.to_string().contains("the 256 before it were applied"), "{error}");
}

#[test]
fn a_batch_is_checked_before_the_network_and_names_the_operation() {
    let refused = |operations: Vec<BatchOperation>| {
        let error = TimerBatch::new(operations).with_horizon(Duration::from_hours(24)).request(&endpoint());
        let error = error.expect_err("refused");
        let crate::ErrorKind::InvalidInput(Some(input)) = error.kind() else { panic!("{error}") };
        (input.option().to_owned(), input.index())
    };
    let near = |key: &str| BatchOperation::Schedule(NewTimer { delay: Delay::from_millis(5), ..timer(key) });
    let cancel = BatchOperation::Cancel(Cancel { queue: "q".into(), timer_key: "k".into(), txn: None });
    assert_eq!(refused(vec![near("a"), near("b"), near("a")]), ("timer_key".into(), Some(2)));
    assert_eq!(refused(vec![near("a"), BatchOperation::Schedule(timer("b"))]), ("delay".into(), Some(1)));
    assert_eq!(refused(vec![near("a"), cancel]), ("allow_cancel".into(), Some(1)));
    let large = NewTimer { payload: vec![0; 1_048_577].into(), delay: Delay::from_millis(0), ..timer("b") };
    assert_eq!(refused(vec![near("a"), BatchOperation::Schedule(large)]), ("payload".into(), Some(1)));
    assert_eq!(refused(vec![near(&"k".repeat(1_025))]), ("timer_key".into(), Some(0)));
}

#[test]
fn results_that_do_not_fit_the_operations_are_protocol_errors() {
    for results in [
        json!({"results": []}),
        json!({"results": [element("absent", false, "k")]}),
        json!({"results": [element("scheduled", true, "other")]}),
        json!({"results": "all good"}),
    ] {
        let parsed = Schedule::new(timer("k")).answer(
            &answer(200, &results),
            Circumstances { now_ms: 0, earlier_attempt_may_have_acted: false },
        );
        assert_eq!(parsed.expect_err("unfit").code(), "protocol", "{results}");
    }
}

#[test]
fn a_delay_keeps_its_microseconds() {
    assert_eq!(Delay::from_micros(1_500).to_json(), json!(1.5).into());
    assert_eq!(Delay::from_micros(-2_000).to_json(), json!(-2).into());
    assert_eq!(Delay::from_millis_f64(0.0015).map(Delay::micros), Some(2));
    assert_eq!(Delay::from_millis_f64(f64::NAN), None);
}
