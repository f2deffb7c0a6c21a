//! The rules that both ends hold a timer to. A client refuses before the network what the server
//! would refuse, because both ask here.

use std::time::Duration;

use crate::contract::limits;
use crate::json::{Json, number};
use crate::signature::base64::{self, Alphabet};

/// How long to wait from now, to the microsecond. Negative is legal and due at once: only relative
/// durations are on this wire, so that there is one clock (seed, "Scheduling").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Delay(i64);

impl Delay {
    /// A delay of so many microseconds.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// A delay of so many milliseconds, saturating.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// A finite number of milliseconds, kept to the microsecond; `None` for what is not finite.
    pub fn from_millis_f64(millis: f64) -> Option<Self> {
        #[expect(clippy::cast_possible_truncation, reason = "saturates, and an instant is clamped later")]
        millis.is_finite().then(|| Self((millis * 1_000.0).round() as i64))
    }

    /// The delay in microseconds.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Milliseconds as a JSON number has them, rounded to the microsecond.
    pub(crate) fn from_written_millis(written: &str) -> Self {
        Self(number::scaled(written, 3).0)
    }

    /// The number that stands on the wire as `delayMs`.
    pub(crate) fn to_json(self) -> Json {
        Json::Number(number::fixed(self.0, 3))
    }

    /// Whether the delay is strictly beyond a horizon.
    pub fn is_beyond(self, horizon: Duration) -> bool {
        self.0 > Self::from(horizon).0
    }
}

impl From<Duration> for Delay {
    /// Saturating.
    fn from(duration: Duration) -> Self {
        let micros =
            duration.as_secs().saturating_mul(1_000_000).saturating_add(duration.subsec_micros().into());
        Self(i64::try_from(micros).unwrap_or(i64::MAX))
    }
}

/// Fields that the server owns, in both spellings; so is any name that begins with an underscore.
pub const SERVER_OWNED_FIELDS: &[&str] = &[
    "producerSub",
    "producer_sub",
    "messageId",
    "message_id",
    "tenant",
    "tenantId",
    "tenant_id",
    "deliverAt",
    "deliver_at",
    "delaySeconds",
    "delay_seconds",
    "attempts",
    "claimToken",
    "claim_token",
    "claimedUntil",
    "claimed_until",
];

/// Whether a field of an operation belongs to the server.
pub fn is_server_owned(field: &str) -> bool {
    field.starts_with('_') || SERVER_OWNED_FIELDS.contains(&field)
}

/// Whether a text can name a queue of the log.
pub fn is_queue(text: &str) -> bool {
    is_name(text, limits::MAX_TIMER_QUEUE_BYTES)
}

/// Whether a text can be a timer's key.
pub fn is_timer_key(text: &str) -> bool {
    is_name(text, limits::MAX_TIMER_KEY_BYTES)
}

/// Whether a text can name a partition.
pub fn is_partition(text: &str) -> bool {
    is_name(text, limits::MAX_PARTITION_BYTES)
}

/// Whether a text can be a transaction id.
pub fn is_txn(text: &str) -> bool {
    is_name(text, limits::MAX_TXN_BYTES)
}

/// NUL is refused everywhere: no PostgreSQL text can hold it.
fn is_name(text: &str, max_bytes: usize) -> bool {
    !text.is_empty() && text.len() <= max_bytes && !text.contains('\0')
}

/// Standard base64 with padding, as payloads travel.
pub fn encode_payload(payload: &[u8]) -> String {
    base64::encode(payload)
}

/// Reads a payload; `None` where it is not standard padded base64.
pub fn decode_payload(text: &str) -> Option<Vec<u8>> {
    base64::decode(Alphabet::Standard, text.as_bytes())
}
