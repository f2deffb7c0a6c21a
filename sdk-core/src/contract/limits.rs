//! Limits and defaults; the unit stands in the name (contract/http-queue.md, timers.md, signature.md, sdk.md).

/// Largest body of a publish, and of a whole batch.
pub const MAX_BODY_BYTES: usize = 1_048_576;
/// Longest destination.
pub const MAX_DESTINATION_BYTES: usize = 2_048;
/// Longest name of a queue, group or schedule.
pub const MAX_NAME_BYTES: usize = 64;
/// Most retries after the first attempt.
pub const MAX_RETRIES: u32 = 100;
/// Longest bound of one attempt: 2 h.
pub const MAX_TIMEOUT_MS: u64 = 2 * 3_600_000;
/// Longest base of the wait between attempts: 1 d.
pub const MAX_RETRY_DELAY_MS: u64 = 86_400_000;
/// Longest wait before the first attempt: 365 d.
pub const MAX_DELAY_MS: u64 = 365 * 86_400_000;
/// Longest explicit deduplication id.
pub const MAX_DEDUPLICATION_ID_BYTES: usize = 512;
/// Most labels on one message.
pub const MAX_LABELS: usize = 10;
/// Longest label.
pub const MAX_LABEL_BYTES: usize = 100;
/// Most forwarded headers.
pub const MAX_FORWARDED_HEADERS: usize = 64;
/// Names and values of all forwarded headers together.
pub const MAX_FORWARDED_HEADERS_BYTES: usize = 32 * 1_024;
/// Most entries in a batch.
pub const MAX_BATCH_ENTRIES: usize = 100;
/// Most endpoints in a URL group.
pub const MAX_GROUP_ENDPOINTS: usize = 100;
/// Queue concurrency, least and most.
pub const CONCURRENCY: std::ops::RangeInclusive<u32> = 1..=100;
/// How long a duplicate is recognised: 10 minutes.
pub const DEDUPLICATION_WINDOW_MS: i64 = 10 * 60_000;
/// How much of a destination's answer is kept.
pub const MAX_RESPONSE_BODY_BYTES: usize = 8 * 1_024;
/// How much of its headers.
pub const MAX_RESPONSE_HEADERS_BYTES: usize = 16 * 1_024;
/// Longest wait that `Retry-After` can ask of a delivery: 1 d.
pub const MAX_RETRY_AFTER_MS: u64 = 86_400_000;
/// Highest exponent of the backoff curve.
pub const MAX_BACKOFF_EXPONENT: u32 = 16;
/// The status that, together with its header, ends a message at once.
pub const NON_RETRYABLE_STATUS: u16 = 489;
/// Longest expression of a schedule.
pub const MAX_SCHEDULE_EXPRESSION_BYTES: usize = 1_024;
/// Largest `COUNT` of a schedule's RRULE: the runs before are counted anew for each next one.
pub const MAX_SCHEDULE_COUNT: u32 = 10_000;
/// Longest description of a queue or schedule.
pub const MAX_DESCRIPTION_BYTES: usize = 1_024;
/// The time zone of a schedule that names none.
pub const DEFAULT_TIMEZONE: &str = "UTC";

/// The queue that always exists.
pub const DEFAULT_QUEUE: &str = "default";
/// Defaults of a publish, where neither header nor queue say otherwise.
pub const DEFAULT_RETRIES: u32 = 3;
/// Bound of one attempt.
pub const DEFAULT_TIMEOUT_MS: u64 = 30_000;
/// Base of the wait between attempts.
pub const DEFAULT_RETRY_DELAY_MS: u64 = 10_000;
/// Cap of the wait between attempts: 6 h.
pub const DEFAULT_MAX_DELAY_MS: u64 = 6 * 3_600_000;
/// Deliveries of a queue at once, per process.
pub const DEFAULT_CONCURRENCY: u32 = 10;
/// How long finished messages are kept: 7 d.
pub const DEFAULT_KEEP_COMPLETED_MS: u64 = 7 * 86_400_000;
/// How long queued messages are kept: 14 d.
pub const DEFAULT_KEEP_QUEUED_MS: u64 = 14 * 86_400_000;
/// Bound of one callback.
pub const DEFAULT_CALLBACK_TIMEOUT_MS: u64 = 30_000;

/// Most operations in one timer call.
pub const MAX_TIMER_OPERATIONS: usize = 256;
/// Longest queue name in the log and timers.
pub const MAX_TIMER_QUEUE_BYTES: usize = 255;
/// Longest partition name.
pub const MAX_PARTITION_BYTES: usize = 255;
/// Longest timer key.
pub const MAX_TIMER_KEY_BYTES: usize = 1_024;
/// Longest transaction id.
pub const MAX_TXN_BYTES: usize = 1_024;
/// Largest decoded payload of a timer.
pub const MAX_TIMER_PAYLOAD_BYTES: usize = 1_048_576;
/// Farthest instant a timer can be set to: 90 d.
pub const MAX_TIMER_HORIZON_SECONDS: u64 = 7_776_000;
/// Page of a timer list, where none or no readable one is asked for.
pub const DEFAULT_TIMER_LIST_LIMIT: u32 = 100;
/// Largest page of a timer list; more is clamped.
pub const MAX_TIMER_LIST_LIMIT: u32 = 1_000;
/// The partition of a frame that names none.
pub const DEFAULT_PARTITION: &str = "Default";
/// The consumer group of timers that failed for good.
pub const TIMER_DEAD_LETTER_GROUP: &str = "__timer__";

/// Longest compact token.
pub const MAX_TOKEN_BYTES: usize = 8_192;
/// Longest decoded JOSE header.
pub const MAX_JOSE_HEADER_BYTES: usize = 256;
/// Deepest nesting of a token's payload; the object itself is 1.
pub const MAX_JSON_DEPTH: usize = 8;
/// Largest number in a claim: the last second of the year 9999.
pub const MAX_UNIX_SECONDS: i64 = 253_402_300_799;
/// Largest `now` in seconds; beyond it somebody passed milliseconds.
pub const MAX_NOW_SECONDS: i64 = 100_000_000_000;
/// Signing key length, least and most, in bytes.
pub const SIGNING_KEY_BYTES: std::ops::RangeInclusive<usize> = 32..=512;
/// Clock tolerance, least and most.
pub const CLOCK_TOLERANCE_SECONDS: std::ops::RangeInclusive<i64> = 0..=300;
/// Freshness of the webhook dialects, both ways.
pub const WEBHOOK_FRESHNESS_SECONDS: i64 = 300;
/// Key length of the webhook dialects after decoding, least and most, in bytes.
pub const WEBHOOK_KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// Bound of one attempt of a client's call.
pub const DEFAULT_CLIENT_TIMEOUT_MS: u64 = 30_000;
/// Attempts of a client's call.
pub const DEFAULT_CLIENT_ATTEMPTS: u32 = 4;
/// First wait between them.
pub const DEFAULT_CLIENT_RETRY_BASE_MS: u64 = 250;
/// Cap of that wait.
pub const DEFAULT_CLIENT_RETRY_CAP_MS: u64 = 8_000;
/// Longest `Retry-After` that a client waits for by itself; a longer one is reported, not slept.
pub const MAX_CLIENT_RETRY_AFTER_MS: u64 = 60_000;
