//! What is generated, in no particular language.

use chronq::contract::{
    Dialect, ErrorCode, KeyMatch, MessageState, Method, Missed, SignatureErrorCode, TimerReason, TimerStatus,
    UrlDifference, headers, limits,
};
use chronq::log::AckStatus;

/// A closed set of words.
pub(super) struct Words {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) members: Vec<&'static str>,
}

/// A constant.
pub(super) struct Constant<T> {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) value: T,
}

/// The closed sets that users meet.
pub(super) fn words() -> [Words; 11] {
    fn set<T: Copy>(
        name: &'static str,
        about: &'static str,
        all: &[T],
        spell: fn(T) -> &'static str,
    ) -> Words {
        Words { name, about, members: all.iter().map(|word| spell(*word)).collect() }
    }
    [
        set("Method", "Method of a delivery or callback.", Method::ALL, Method::as_str),
        set("MessageState", "Where a message stands.", MessageState::ALL, MessageState::as_str),
        set("Missed", "What becomes of runs that came due while nothing ran.", Missed::ALL, Missed::as_str),
        set("AckStatus", "What became of a message of the log.", AckStatus::ALL, AckStatus::as_str),
        set("TimerStatus", "What became of one timer operation.", TimerStatus::ALL, TimerStatus::as_str),
        set(
            "SignatureErrorCode",
            "Why a delivery must not be trusted, in the order of the checks.",
            SignatureErrorCode::ALL,
            SignatureErrorCode::as_str,
        ),
        set("Dialect", "Whose signature a receiver verifies.", Dialect::ALL, Dialect::as_str),
        set("KeyMatch", "The signing key that produced a signature.", KeyMatch::ALL, KeyMatch::as_str),
        set(
            "UrlDifference",
            "How the URL of a delivery differs from the one it was signed for; the first that applies.",
            UrlDifference::ALL,
            UrlDifference::as_str,
        ),
        set("ErrorCode", "What went wrong, in one word.", ErrorCode::ALL, ErrorCode::as_str),
        set(
            "TimerReason",
            "The finer word of a refused timer call, in the order of the checks.",
            TimerReason::ALL,
            TimerReason::as_str,
        ),
    ]
}

/// Header names that users meet.
pub(super) const HEADERS: [Constant<&str>; 6] = [
    Constant {
        name: "SIGNATURE_HEADER",
        about: "Holds the signature of a delivery (dialect chronq).",
        value: headers::SIGNATURE,
    },
    Constant {
        name: "MESSAGE_ID_HEADER",
        about: "The message's id: the receiver's idempotency key.",
        value: headers::MESSAGE_ID,
    },
    Constant {
        name: "RETRIED_HEADER",
        about: "How often the message has been retried before this attempt.",
        value: headers::RETRIED,
    },
    Constant {
        name: "DEAD_LETTER_OF_HEADER",
        about: "On a dead letter's delivery: the id of the message that failed.",
        value: headers::DEAD_LETTER_OF,
    },
    Constant {
        name: "NON_RETRYABLE_HEADER",
        about: "Answered together with NON_RETRYABLE_STATUS, it ends a message at once.",
        value: headers::NON_RETRYABLE,
    },
    Constant {
        name: "QSTASH_SIGNATURE_HEADER",
        about: "Holds the signature in the dialect qstash.",
        value: headers::QSTASH_SIGNATURE,
    },
];

/// Limits that users meet; the unit stands in the name.
pub(super) const LIMITS: [Constant<u64>; 14] = [
    limit(
        "NON_RETRYABLE_STATUS",
        "Answered with its header, it ends a message at once.",
        limits::NON_RETRYABLE_STATUS as u64,
    ),
    limit(
        "MAX_BODY_BYTES",
        "Largest body of a publish, and of a whole batch.",
        limits::MAX_BODY_BYTES as u64,
    ),
    limit("MAX_DESTINATION_BYTES", "Longest destination.", limits::MAX_DESTINATION_BYTES as u64),
    limit("MAX_NAME_BYTES", "Longest name of a queue, group or schedule.", limits::MAX_NAME_BYTES as u64),
    limit("MAX_RETRIES", "Most retries after the first attempt.", limits::MAX_RETRIES as u64),
    limit("MAX_TIMEOUT_MS", "Longest bound of one attempt.", limits::MAX_TIMEOUT_MS),
    limit("MAX_RETRY_DELAY_MS", "Longest base of the wait between attempts.", limits::MAX_RETRY_DELAY_MS),
    limit("MAX_DELAY_MS", "Longest wait before the first attempt.", limits::MAX_DELAY_MS),
    limit(
        "MAX_DEDUPLICATION_ID_BYTES",
        "Longest explicit deduplication id.",
        limits::MAX_DEDUPLICATION_ID_BYTES as u64,
    ),
    limit("MAX_LABELS", "Most labels on one message.", limits::MAX_LABELS as u64),
    limit("MAX_BATCH_ENTRIES", "Most entries in a batch.", limits::MAX_BATCH_ENTRIES as u64),
    limit(
        "MAX_TIMER_OPERATIONS",
        "Most operations in one timer call; an SDK splits longer batches.",
        limits::MAX_TIMER_OPERATIONS as u64,
    ),
    limit(
        "MAX_TIMER_PAYLOAD_BYTES",
        "Largest decoded payload of a timer.",
        limits::MAX_TIMER_PAYLOAD_BYTES as u64,
    ),
    limit(
        "MAX_TIMER_HORIZON_SECONDS",
        "Farthest instant a timer can be set to.",
        limits::MAX_TIMER_HORIZON_SECONDS,
    ),
];

const fn limit(name: &'static str, about: &'static str, value: u64) -> Constant<u64> {
    Constant { name, about, value }
}
