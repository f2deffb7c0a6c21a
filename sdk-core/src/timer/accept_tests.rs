use serde_json::json;

use super::*;

const DAY_MS: i64 = 86_400_000;

fn try_accept(body: &Value) -> Result<Vec<TimerOp>, Refused> {
    let rules = Rules {
        horizon: Duration::from_hours(24),
        max_payload_bytes: 16,
        max_operations: 256,
        encrypts: &|queue| queue == "sealed",
        unpack: &|payload, _| match payload {
            b"zstd" => Unpacked::Fits,
            b"bomb" => Unpacked::TooLarge,
            _ => Unpacked::NotZstd,
        },
    };
    accept(body, &rules)
}

fn schedule(change: &Value) -> Value {
    let mut operation = json!({"op": "schedule", "queue": "q", "timerKey": "k", "delayMs": 1,
                               "txn": "t", "payload": "e30="});
    for (name, value) in change.as_object().expect("object") {
        if value == "(gone)" {
            operation.as_object_mut().expect("object").remove(name);
        } else {
            operation[name] = value.clone();
        }
    }
    operation
}

/// Status, error and reason of the refusal of a call whose second operation is changed so.
fn refused(change: &Value) -> (u16, &'static str, &'static str) {
    let body = json!([schedule(&json!({"timerKey": "first"})), schedule(change)]);
    let refused = try_accept(&body).expect_err("refused");
    assert!(refused.detail.contains("operation 1 "), "{}", refused.detail);
    (refused.status, refused.error.as_str(), refused.reason.as_str())
}

#[test]
fn the_body_is_an_array_or_an_object_with_operations() {
    for good in [json!([]), json!({"operations": []}), json!({"operations": [], "more": 1})] {
        assert_eq!(try_accept(&good), Ok(Vec::new()), "{good}");
    }
    for bad in [json!({}), json!({"operations": {}}), json!("x"), json!(null), json!(7)] {
        let refused = try_accept(&bad).expect_err("bad");
        assert_eq!((refused.status, refused.reason), (400, TimerReason::BadBody), "{bad}");
    }
}

#[test]
fn a_call_holds_256_operations_and_no_more() {
    let many =
        |count| Value::Array((0..count).map(|n| schedule(&json!({"timerKey": format!("k{n}")}))).collect());
    assert_eq!(try_accept(&many(256)).map(|ops| ops.len()), Ok(256));
    assert_eq!(try_accept(&many(257)).expect_err("many").reason, TimerReason::TooManyOps);
}

#[test]
fn every_row_of_the_table_has_its_status_error_and_reason() {
    let bad = |reason| (400, "timers_bad_request", reason);
    assert_eq!(refused(&json!({"op": "snooze"})), bad("timers_bad_op"));
    assert_eq!(refused(&json!({"op": 1})), bad("timers_bad_op"));
    for field in [
        "producerSub",
        "messageId",
        "tenant",
        "tenantId",
        "deliverAt",
        "delaySeconds",
        "attempts",
        "claimToken",
        "claimedUntil",
        "producer_sub",
        "message_id",
        "tenant_id",
        "deliver_at",
        "delay_seconds",
        "claim_token",
        "claimed_until",
        "_x",
    ] {
        assert_eq!(refused(&json!({field: null})), bad("timers_server_owned_field"), "{field}");
    }
    for value in [json!("(gone)"), json!(""), json!(7), json!(null), json!("a\0b"), json!("q".repeat(256))] {
        assert_eq!(refused(&json!({"queue": value})), bad("timers_queue_required"));
    }
    for value in [json!("(gone)"), json!(""), json!(7), json!("a\0b"), json!("k".repeat(1_025))] {
        assert_eq!(refused(&json!({"timerKey": value})), bad("timers_key_required"));
    }
    for value in [json!(""), json!(7), json!("p".repeat(256))] {
        assert_eq!(refused(&json!({"partition": value})), bad("timers_bad_partition"));
    }
    for value in [json!("(gone)"), json!("5"), json!(true)] {
        assert_eq!(refused(&json!({"delayMs": value})), bad("timers_delay_required"));
    }
    let horizon = (403, "timer_horizon_exceeded", "timers_horizon");
    assert_eq!(refused(&json!({"delayMs": DAY_MS + 1})), horizon);
    assert_eq!(refused(&json!({"delayMs": 86_400_000.001})), horizon);
    assert_eq!(refused(&json!({"delayMs": 1e300})), horizon);
    for value in [json!("(gone)"), json!(""), json!(7), json!("t".repeat(1_025))] {
        assert_eq!(refused(&json!({"txn": value})), bad("timers_txn_required"));
    }
    for value in [json!("(gone)"), json!({"a": 1})] {
        assert_eq!(refused(&json!({"payload": value})), bad("timers_payload_required"));
    }
    for value in ["e30", "e3 0=", "e30=\n", "_-8=", "{}"] {
        assert_eq!(refused(&json!({"payload": value})), bad("timers_payload_not_base64"), "{value}");
    }
    assert_eq!(refused(&json!({"payloadZstd": true})), bad("timers_payload_not_zstd"));
    let too_large = (413, "payload_too_large", "timers_payload_too_large");
    assert_eq!(refused(&json!({"payload": rules::encode_payload(&[0; 17])})), too_large);
    let bomb = rules::encode_payload(b"bomb");
    assert_eq!(refused(&json!({"payload": bomb, "payloadZstd": true})), too_large);
    assert_eq!(refused(&json!({"queue": "sealed", "encrypted": true})), bad("timers_encrypted_conflict"));
    assert_eq!(refused(&json!({"timerKey": "first"})), bad("timers_duplicate_key"));
}

#[test]
fn the_first_failure_in_the_order_of_the_table_answers() {
    let all = json!({"op": "schedule", "_x": 1, "queue": "", "timerKey": "", "partition": "", "payload": 1});
    let mut operation = all;
    for (field, fix, reason) in [
        ("_x", json!("(gone)"), TimerReason::ServerOwnedField),
        ("queue", json!("q"), TimerReason::QueueRequired),
        ("timerKey", json!("k"), TimerReason::KeyRequired),
        ("partition", json!("p"), TimerReason::BadPartition),
        ("delayMs", json!(0), TimerReason::DelayRequired),
        ("txn", json!("t"), TimerReason::TxnRequired),
        ("payload", json!("e30="), TimerReason::PayloadRequired),
    ] {
        assert_eq!(try_accept(&json!([operation])).expect_err("bad").reason, reason);
        if fix == "(gone)" {
            operation.as_object_mut().expect("object").remove(field);
        } else {
            operation[field] = fix;
        }
    }
    assert!(try_accept(&json!([operation])).is_ok());
}

#[test]
fn a_later_operation_is_looked_at_after_all_rows_of_an_earlier_one() {
    let body = json!([schedule(&json!({"payload": "{}"})), {"op": "snooze"}]);
    assert_eq!(try_accept(&body).expect_err("bad").reason, TimerReason::PayloadNotBase64);
}

#[test]
fn a_cancel_may_carry_stray_fields_and_needs_no_txn() {
    let body =
        json!([{"op": "cancel", "queue": "q", "timerKey": "k", "delayMs": "x", "payload": 1, "other": 2}]);
    let cancel = TimerOp::Cancel { queue: "q".into(), timer_key: "k".into(), txn: None };
    assert_eq!(try_accept(&body), Ok(vec![cancel]));
}

#[test]
fn delays_may_be_negative_fractional_and_exactly_the_horizon() {
    for (delay, micros) in
        [(json!(-5), -5_000), (json!(0.25), 250), (json!(DAY_MS), DAY_MS * 1_000), (json!(1e3), 1_000_000)]
    {
        let accepted = try_accept(&json!([schedule(&json!({"delayMs": delay}))])).expect("legal");
        let TimerOp::Put(put) = &accepted[0] else { panic!("put") };
        assert_eq!(put.delay.micros(), micros);
        assert_eq!(put.partition, "Default");
    }
}

#[test]
fn encrypted_counts_as_given_when_true() {
    assert!(try_accept(&json!([schedule(&json!({"queue": "sealed", "encrypted": false}))])).is_ok());
    assert!(try_accept(&json!([schedule(&json!({"queue": "sealed", "encrypted": "yes"}))])).is_ok());
}
