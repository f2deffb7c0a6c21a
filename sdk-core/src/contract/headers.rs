//! Names of HTTP headers, in lower case (contract/http-queue.md, contract/signature.md, contract/timers.md).

/// Every option header of a publish begins so; none is forwarded.
pub const PREFIX: &str = "chronq-";

/// Compact JWS that proves a delivery (dialect `chronq`).
pub const SIGNATURE: &str = "chronq-signature";
/// How often this message has been retried before this attempt; `0` first.
pub const RETRIED: &str = "chronq-retried";
/// The message's id: the receiver's idempotency key.
pub const MESSAGE_ID: &str = "chronq-message-id";
/// On a dead letter's delivery: the id of the message that failed.
pub const DEAD_LETTER_OF: &str = "chronq-dead-letter-of";
/// Sent by a destination together with [`limits::NON_RETRYABLE_STATUS`](super::limits::NON_RETRYABLE_STATUS).
pub const NON_RETRYABLE: &str = "chronq-nonretryable-error";

/// Options of a publish.
pub const METHOD: &str = "chronq-method";
/// The queue, where the path names none.
pub const QUEUE: &str = "chronq-queue";
/// Bound of one attempt.
pub const TIMEOUT: &str = "chronq-timeout";
/// Attempts after the first.
pub const RETRIES: &str = "chronq-retries";
/// Base of the wait between attempts.
pub const RETRY_DELAY: &str = "chronq-retry-delay";
/// Wait before the first attempt.
pub const DELAY: &str = "chronq-delay";
/// Unix seconds before which the first attempt is not made; wins over the delay.
pub const NOT_BEFORE: &str = "chronq-not-before";
/// Explicit deduplication id.
pub const DEDUPLICATION_ID: &str = "chronq-deduplication-id";
/// `true` derives the deduplication id from the content.
pub const CONTENT_BASED_DEDUPLICATION: &str = "chronq-content-based-deduplication";
/// Called once when the destination accepted.
pub const CALLBACK: &str = "chronq-callback";
/// Method of the callback.
pub const CALLBACK_METHOD: &str = "chronq-callback-method";
/// Timeout of the callback.
pub const CALLBACK_TIMEOUT: &str = "chronq-callback-timeout";
/// Prefix of headers sent with the callback.
pub const CALLBACK_FORWARD_PREFIX: &str = "chronq-callback-forward-";
/// Called once when the message failed for good.
pub const FAILURE_CALLBACK: &str = "chronq-failure-callback";
/// Method of the failure callback.
pub const FAILURE_CALLBACK_METHOD: &str = "chronq-failure-callback-method";
/// Timeout of the failure callback.
pub const FAILURE_CALLBACK_TIMEOUT: &str = "chronq-failure-callback-timeout";
/// Prefix of headers sent with the failure callback.
pub const FAILURE_CALLBACK_FORWARD_PREFIX: &str = "chronq-failure-callback-forward-";
/// Prefix of headers forwarded to the destination.
pub const FORWARD_PREFIX: &str = "chronq-forward-";
/// One or several labels, comma-separated, repeatable.
pub const LABEL: &str = "chronq-label";

/// On a refused mixed batch: names the route that always cancels.
pub const TIMERS_HINT: &str = "x-queen-timers-hint";

/// Signature header of the dialect `qstash`.
pub const QSTASH_SIGNATURE: &str = "upstash-signature";
/// Signature headers of the dialect `standard-webhooks`: id, timestamp, signature.
pub const WEBHOOK: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];
/// Signature headers of the dialect `svix`: id, timestamp, signature.
pub const SVIX: [&str; 3] = ["svix-id", "svix-timestamp", "svix-signature"];

/// Headers that a publish may not forward: they belong to one hop or to the transport (RFC 9110
/// section 7.6.1), or would be mistaken for a signature.
pub const NOT_FORWARDABLE: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
    "content-length",
    "expect",
    QSTASH_SIGNATURE,
    WEBHOOK[0],
    WEBHOOK[1],
    WEBHOOK[2],
    SVIX[0],
    SVIX[1],
    SVIX[2],
];
