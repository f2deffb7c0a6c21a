//! The raw request target of a publish (contract/http-queue.md, "Publishing", rules 1 to 5).

use crate::destination::{Destination, scheme_of, starts_with_ignoring_case};
use crate::ids::Name;
use crate::input::InvalidInput;

/// What stands after `/v2/publish/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishTarget {
    /// A destination, behind a queue where the path names one.
    Destination {
        /// The queue in the path.
        queue: Option<Name>,
        /// The URL as written.
        destination: Destination,
    },
    /// One name and nothing after: a URL group.
    Group(Name),
}

impl PublishTarget {
    /// Reads the rest of the request target after `/v2/publish/`, query included, never
    /// percent-decoded or path-normalised, but for a URL that a client encoded whole.
    ///
    /// # Errors
    /// [`InvalidInput`]: `destination must be an absolute URL, got "…"`, or what else is wrong with it.
    pub fn parse(raw: &str) -> Result<Self, InvalidInput> {
        if is_url(raw) {
            return Self::destination(None, raw);
        }
        if is_encoded_url(raw) {
            return Self::destination(None, &decode_once(raw));
        }
        let (first, rest) = match raw.split_once('/') {
            Some((first, rest)) if Name::is_valid(first) => (first, rest),
            None if Name::is_valid(raw) => return Ok(Self::Group(Name::parse("group", raw)?)),
            _ => return Self::destination(None, raw),
        };
        let queue = Name::parse("queue", first)?;
        if is_encoded_url(rest) {
            return Self::destination(Some(queue), &decode_once(rest));
        }
        // `https:/host`: the first segment would be "https:", which is no name, so a queue stands here.
        Self::destination(Some(queue), if rest.is_empty() { raw } else { rest })
    }

    fn destination(queue: Option<Name>, text: &str) -> Result<Self, InvalidInput> {
        let destination = Destination::parse("destination", text)?;
        Ok(Self::Destination { queue, destination })
    }
}

fn is_url(text: &str) -> bool {
    scheme_of(text).is_some()
}

fn is_encoded_url(text: &str) -> bool {
    ["http%3a", "https%3a"].iter().any(|prefix| starts_with_ignoring_case(text, prefix))
}

/// Percent-decodes once; a `%` without two hexadecimal digits stays. What decodes to no UTF-8 is
/// replaced, and then refused as a destination.
fn decode_once(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |offset: usize| bytes.get(at + offset).and_then(|byte| char::from(*byte).to_digit(16));
        match (bytes[at], hex(1), hex(2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(u8::try_from(high * 16 + low).unwrap_or_default());
                at += 3;
            }
            (byte, _, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(raw: &str) -> (Option<String>, String) {
        match PublishTarget::parse(raw).expect(raw) {
            PublishTarget::Destination { queue, destination } => {
                (queue.map(|name| name.to_string()), destination.to_string())
            }
            PublishTarget::Group(name) => panic!("{raw} was read as the group {name}"),
        }
    }

    fn refused(raw: &str) -> String {
        PublishTarget::parse(raw).expect_err(raw).to_string()
    }

    #[test]
    fn a_url_is_the_destination_query_included() {
        assert_eq!(
            destination("https://example.com/hook?a=1&b=two"),
            (None, "https://example.com/hook?a=1&b=two".into())
        );
        assert_eq!(
            destination("HTTP://h/a/../b%2f?x=1&y=%20"),
            (None, "HTTP://h/a/../b%2f?x=1&y=%20".into())
        );
    }

    #[test]
    fn a_name_before_a_url_is_the_queue() {
        assert_eq!(
            destination("webhooks/https://example.com/hook"),
            (Some("webhooks".into()), "https://example.com/hook".into())
        );
        // A queue may be called http.
        assert_eq!(destination("http/http://h/"), (Some("http".into()), "http://h/".into()));
    }

    #[test]
    fn one_name_and_nothing_after_is_a_group() {
        assert_eq!(
            PublishTarget::parse("order-events"),
            Ok(PublishTarget::Group("order-events".parse().expect("name")))
        );
    }

    #[test]
    fn a_url_that_was_encoded_whole_is_decoded_once() {
        assert_eq!(
            destination("https%3A%2F%2Fexample.com%2Fhook%3Fa%3D%2520"),
            (None, "https://example.com/hook?a=%20".into())
        );
        assert_eq!(destination("q/http%3a//h/x"), (Some("q".into()), "http://h/x".into()));
    }

    #[test]
    fn anything_else_is_no_destination() {
        assert_eq!(refused("orders/not-a-url"), "destination must be an absolute URL, got \"not-a-url\"");
        assert_eq!(refused("not a name"), "destination must be an absolute URL, got \"not a name\"");
        assert_eq!(refused("queue/"), "destination must be an absolute URL, got \"queue/\"");
        assert_eq!(refused(""), "destination must be an absolute URL, got \"\"");
        assert_eq!(refused("group?x=1"), "destination must be an absolute URL, got \"group?x=1\"");
        assert_eq!(
            refused("ftp://example.com/"),
            "destination must be an absolute URL, got \"ftp://example.com/\""
        );
        assert!(refused("https:/example.com/x").contains("a proxy on the way merged the slashes"));
        assert!(refused("q/https:/example.com/x").contains("a proxy on the way merged the slashes"));
        assert!(refused("https%3A%2F%2Fexample.com%2F%00").starts_with("destination must be visible ASCII"));
    }

    proptest::proptest! {
        #[test]
        fn no_target_panics(raw in ".*", tail in "[ -~]*") {
            let _ = PublishTarget::parse(&raw);
            let _ = PublishTarget::parse(&format!("https%3A{tail}"));
        }
    }
}
