//! A message as it is published: what `enqueue` takes and answers.

use bytes::Bytes;
use chronq::contract::Method;
use chronq::publish::Callback;
use chronq::{Destination, Name};
use hmac::digest::Digest;
use sha2::Sha256;
use uuid::Uuid;

use super::claim::Claimed;
use super::{Headers, UnixMillis};

/// A message to be queued. Options that are `None` take the queue's setting, and where it has none the
/// default of `chronq::contract::limits`; the store resolves them in the transaction that inserts the
/// row, so that a message never carries the settings of a queue that was changed before it.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// The queue it goes through; an unknown or disabled one is answered, not created.
    pub queue: Name,
    /// Where it is delivered.
    pub destination: Destination,
    /// How it is delivered.
    pub method: Method,
    /// What is sent besides the headers the server sets itself: content-type and the forwarded ones.
    pub headers: Headers,
    /// The exact bytes.
    pub body: Bytes,
    /// When the first attempt is due.
    pub due: Due,
    /// Retries after the first attempt.
    pub retries: Option<u32>,
    /// Bound of one attempt, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Base of the wait between attempts, in milliseconds.
    pub retry_delay_ms: Option<u64>,
    /// Labels by which the event log can be filtered.
    pub labels: Vec<String>,
    /// Told once when the destination accepts.
    pub callback: Option<Callback>,
    /// Told once when the message fails for good.
    pub failure_callback: Option<Callback>,
    /// By what a second publish is recognised.
    pub deduplication: Option<DeduplicationKey>,
    /// The schedule whose run this is.
    pub schedule: Option<Name>,
}

impl NewMessage {
    /// A message due now with nothing but a destination and a body.
    pub fn new(queue: Name, destination: Destination, body: impl Into<Bytes>) -> Self {
        Self {
            queue,
            destination,
            method: Method::Post,
            headers: Vec::new(),
            body: body.into(),
            due: Due::Now,
            retries: None,
            timeout_ms: None,
            retry_delay_ms: None,
            labels: Vec::new(),
            callback: None,
            failure_callback: None,
            deduplication: None,
            schedule: None,
        }
    }
}

/// When a message is due, reckoned on the store's clock inside `enqueue`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// At once.
    Now,
    /// So many milliseconds from now.
    After(u64),
    /// At an instant; one that has passed is now.
    At(UnixMillis),
}

impl Due {
    /// The instant, never before `now`.
    pub fn resolve(self, now: UnixMillis) -> UnixMillis {
        match self {
            Self::Now => now,
            Self::After(wait_ms) => now.saturating_add(i64::try_from(wait_ms).unwrap_or(i64::MAX)),
            Self::At(at) => at.max(now),
        }
    }
}

/// By what a second publish inside the window is recognised: a hash, so that the table is narrow and
/// holds nothing of the message. The three constructors never collide with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeduplicationKey([u8; 32]);

impl DeduplicationKey {
    /// An explicit id, scoped to the server.
    pub fn explicit(id: &str) -> Self {
        Self::hash(b"id", &[id.as_bytes()])
    }

    /// An explicit id of a group's copy, scoped to its endpoint: a repeated publish is suppressed for
    /// every endpoint instead of letting only the first copy through.
    pub fn per_destination(id: &str, destination: &Destination) -> Self {
        Self::hash(b"id-at", &[destination.as_str().as_bytes(), id.as_bytes()])
    }

    /// Destination, body and the headers sent, content-type among them; the order of headers and the
    /// case of their names do not matter.
    pub fn content(destination: &Destination, body: &[u8], headers: &[(String, String)]) -> Self {
        let mut sorted: Vec<(String, &str)> =
            headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.as_str())).collect();
        sorted.sort();
        let mut parts: Vec<&[u8]> = vec![destination.as_str().as_bytes(), body];
        for (name, value) in &sorted {
            parts.push(name.as_bytes());
            parts.push(value.as_bytes());
        }
        Self::hash(b"content", &parts)
    }

    /// The hash as it is stored.
    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Each part is preceded by its length: `("ab","c")` is not `("a","bc")`.
    fn hash(kind: &[u8], parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in std::iter::once(&kind).chain(parts) {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }
}

/// What became of one message of an `enqueue`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// It is committed.
    Queued {
        /// Its id.
        id: Uuid,
        /// The queue it waits in.
        queue: Name,
    },
    /// The same was published inside the window.
    Duplicate {
        /// The first message's id.
        id: Uuid,
        /// The queue that one went through.
        queue: Name,
    },
    /// No such queue.
    UnknownQueue,
    /// The queue refuses publishes.
    QueueDisabled,
}

/// How many of the messages due now an `enqueue` claims for the caller at once, under the caller's
/// lease, so that they need not be read again.
#[derive(Clone, Debug, Default)]
pub struct HandOver {
    /// Places that the caller has reserved, per queue.
    pub places: Vec<(Name, usize)>,
    /// As in [`ClaimRequest::lease_ms`](super::claim::ClaimRequest).
    pub lease_ms: u64,
}

/// The answer of `enqueue`: one outcome per message in the order given, and what was claimed.
#[derive(Debug, Default)]
pub struct EnqueueAnswer {
    /// One per message, in order.
    pub outcomes: Vec<Enqueued>,
    /// Messages that are committed as active under the caller's lease; at most the reserved places.
    pub claimed: Vec<Claimed>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(text: &str) -> Destination {
        Destination::parse("destination", text).expect("destination")
    }

    #[test]
    fn the_content_hash_ignores_header_order_and_name_case() {
        let url = destination("https://example.com/hook");
        let one = [("Content-Type".to_owned(), "a".to_owned()), ("x-b".to_owned(), "2".to_owned())];
        let two = [("X-B".to_owned(), "2".to_owned()), ("content-type".to_owned(), "a".to_owned())];
        assert_eq!(DeduplicationKey::content(&url, b"x", &one), DeduplicationKey::content(&url, b"x", &two));
    }

    #[test]
    fn the_content_hash_tells_destination_body_and_values_apart() {
        let url = destination("https://example.com/hook?a=1");
        let header = [("x-a".to_owned(), "1".to_owned())];
        let base = DeduplicationKey::content(&url, b"x", &header);
        let other_url = destination("https://example.com/hook?a=2");
        assert_ne!(base, DeduplicationKey::content(&other_url, b"x", &header));
        assert_ne!(base, DeduplicationKey::content(&url, b"y", &header));
        assert_ne!(base, DeduplicationKey::content(&url, b"x", &[("x-a".to_owned(), "2".to_owned())]));
        assert_ne!(base, DeduplicationKey::content(&url, b"x", &[]));
    }

    #[test]
    fn an_id_is_scoped_to_the_endpoint_in_groups_only() {
        let (a, b) = (destination("https://a.example/"), destination("https://b.example/"));
        assert_ne!(
            DeduplicationKey::per_destination("order-42", &a),
            DeduplicationKey::per_destination("order-42", &b)
        );
        assert_ne!(DeduplicationKey::per_destination("order-42", &a), DeduplicationKey::explicit("order-42"));
    }

    #[test]
    fn an_instant_that_has_passed_is_now() {
        assert_eq!(Due::At(5).resolve(10), 10);
        assert_eq!(Due::At(50).resolve(10), 50);
        assert_eq!(Due::After(7).resolve(10), 17);
        assert_eq!(Due::Now.resolve(10), 10);
    }
}
