//! How the URL that a receiver expects differs from the one that was signed (contract/signature.md, step 11).
//!
//! The comparison itself is of bytes. What is here only finds words for a difference: it splits, and never
//! normalises what is compared.

use std::fmt;

use crate::contract::UrlDifference;
use crate::text;

/// A URL in its parts, as written. The fragment is left out: two URLs equal in all of these differ in it.
#[derive(Clone, Copy)]
struct Parts<'a> {
    scheme: Option<&'a str>,
    host: &'a str,
    port: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn split(url: &'a str) -> Self {
        let url = url.split_once('#').map_or(url, |(url, _)| url);
        let (url, query) = match url.split_once('?') {
            Some((url, query)) => (url, Some(query)),
            None => (url, None),
        };
        let Some((scheme, rest)) = text::split_once(url, "://") else {
            return Self { scheme: None, host: "", port: None, path: url, query };
        };
        let slash = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(slash).unwrap_or((rest, ""));
        // The colon of a port stands behind the bracket of an IPv6 address.
        let (host, port) = match authority.rfind(':') {
            Some(colon) if !authority.bytes().skip(colon).any(|byte| byte == b']') => {
                (authority.get(..colon).unwrap_or_default(), authority.get(colon + 1..))
            }
            _ => (authority, None),
        };
        Self { scheme: Some(scheme), host, port, path, query }
    }

    fn default_port(self) -> &'static str {
        match self.scheme {
            Some(scheme) if scheme.eq_ignore_ascii_case("https") => "443",
            Some(scheme) if scheme.eq_ignore_ascii_case("http") => "80",
            _ => "",
        }
    }

    /// An empty port is the default one (RFC 3986 section 6.2.3).
    fn effective_port(self) -> &'a str {
        self.port.filter(|port| !port.is_empty()).unwrap_or(self.default_port())
    }
}

/// Two URLs that are not equal, and the first difference between them.
pub(super) struct Comparison<'a> {
    signed: Parts<'a>,
    given: Parts<'a>,
    difference: UrlDifference,
}

impl<'a> Comparison<'a> {
    /// `None` where the two are equal, byte for byte.
    pub(super) fn of(signed: &'a str, given: &'a str) -> Option<Self> {
        sabotage!(UrlNotCompared => return None);
        if signed == given {
            return None;
        }
        let (signed, given) = (Parts::split(signed), Parts::split(given));
        Some(Self { signed, given, difference: first_difference(signed, given) })
    }

    pub(super) fn difference(&self) -> UrlDifference {
        self.difference
    }
}

fn first_difference(signed: Parts<'_>, given: Parts<'_>) -> UrlDifference {
    if signed.scheme != given.scheme {
        UrlDifference::Scheme
    } else if signed.host != given.host {
        if signed.host.eq_ignore_ascii_case(given.host) {
            UrlDifference::HostCase
        } else {
            UrlDifference::Host
        }
    } else if signed.port != given.port {
        if signed.effective_port() == given.effective_port() {
            UrlDifference::DefaultPort
        } else {
            UrlDifference::Port
        }
    } else if signed.path != given.path {
        if without_slash(signed.path) == without_slash(given.path) {
            UrlDifference::TrailingSlash
        } else if percent_decode(signed.path) == percent_decode(given.path) {
            UrlDifference::PercentEncoding
        } else {
            UrlDifference::Path
        }
    } else if signed.query != given.query {
        match (signed.query, given.query) {
            (Some(a), Some(b)) if percent_decode(a) == percent_decode(b) => UrlDifference::PercentEncoding,
            (Some(a), Some(b)) if same_parameters(a, b) => UrlDifference::QueryOrder,
            _ => UrlDifference::Query,
        }
    } else {
        UrlDifference::Fragment
    }
}

fn without_slash(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
}

/// Whether two queries have the same parameters, each as often, in whatever order. Both are of some who know a
/// signing key, and short: a sort would be more code, not less time.
fn same_parameters(signed: &str, given: &str) -> bool {
    let mut left = signed.split('&').collect::<Vec<_>>();
    let all_found = given.split('&').all(|parameter| {
        let at = left.iter().position(|other| *other == parameter);
        at.map(|at| left.swap_remove(at)).is_some()
    });
    all_found && left.is_empty()
}

fn percent_decode(text: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after_first @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, after @ ..] => {
                hex(*high).zip(hex(*low)).map(|(high, low)| (high << 4 | low, after))
            }
            _ => None,
        };
        let (byte, after) = escaped.unwrap_or((*first, after_first));
        decoded.push(byte);
        rest = after;
    }
    decoded
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

impl fmt::Display for Comparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (signed, given) = (self.signed, self.given);
        f.write_str("the delivery was signed for another URL than the one given: ")?;
        match self.difference {
            UrlDifference::Scheme => write!(
                f,
                "the scheme is {} there and {} here; behind a proxy that ends TLS, configure the public URL \
                 instead of taking it from the request",
                or_none(signed.scheme),
                or_none(given.scheme)
            ),
            UrlDifference::HostCase => write!(
                f,
                "the hosts {} and {} differ in upper and lower case; give the URL exactly as it was published",
                Shown(signed.host),
                Shown(given.host)
            ),
            UrlDifference::Host => write!(
                f,
                "the host is {} there and {} here; configure the public URL instead of taking it from the Host \
                 header, which a proxy or a client can change",
                Shown(signed.host),
                Shown(given.host)
            ),
            UrlDifference::DefaultPort => write!(
                f,
                "the port is {} there and {} here, which is the same default port; give the URL exactly as it \
                 was published",
                or_none(signed.port),
                or_none(given.port)
            ),
            UrlDifference::Port => write!(
                f,
                "the port is {} there and {} here; a proxy listens on another port than this process, so \
                 configure the public URL",
                or_none(signed.port),
                or_none(given.port)
            ),
            UrlDifference::TrailingSlash => {
                f.write_str("one path ends with a slash and the other does not; give the URL exactly as it was published")
            }
            UrlDifference::PercentEncoding => f.write_str(
                "path or query are percent-encoded differently; give the URL exactly as it was published, not as \
                 a router decoded it",
            ),
            UrlDifference::Path => write!(
                f,
                "the path is {} there and {} here; a proxy or mount point may have cut a prefix",
                Shown(signed.path),
                Shown(given.path)
            ),
            // A query can hold credentials: it is not shown.
            UrlDifference::QueryOrder => f.write_str(
                "the query has the same parameters in another order; give the URL exactly as it was published",
            ),
            UrlDifference::Query => {
                f.write_str("the queries differ; the query is part of what is signed, so give the URL with it")
            }
            UrlDifference::Fragment => f.write_str("they differ in a fragment, which no request has; leave it out"),
        }
    }
}

fn or_none(part: Option<&str>) -> Shown<'_> {
    Shown(part.filter(|part| !part.is_empty()).unwrap_or("none"))
}

/// Shows a part so that a person recognises it: in one line, and not endlessly.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 120;
        if self.0.is_empty() {
            return f.write_str("empty");
        }
        for letter in self.0.chars().take(MOST) {
            write!(f, "{}", if letter.is_control() { '\u{fffd}' } else { letter })?;
        }
        if self.0.chars().nth(MOST).is_some() { f.write_str("…") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(signed: &str, given: &str) -> Option<UrlDifference> {
        let one_way = Comparison::of(signed, given).map(|comparison| comparison.difference());
        let other_way = Comparison::of(given, signed).map(|comparison| comparison.difference());
        assert_eq!(one_way, other_way, "{signed} and {given}");
        one_way
    }

    #[test]
    fn the_first_difference_is_named() {
        let base = "https://example.com/hook?a=1&b=2";
        let cases = [
            ("http://example.com/hook?a=1&b=2", UrlDifference::Scheme),
            ("HTTPS://example.com/hook?a=1&b=2", UrlDifference::Scheme),
            ("example.com/hook?a=1&b=2", UrlDifference::Scheme),
            ("", UrlDifference::Scheme),
            ("http://other.example:8080/x", UrlDifference::Scheme),
            ("https://Example.com/hook?a=1&b=2", UrlDifference::HostCase),
            ("https://example.org/hook?a=1&b=2", UrlDifference::Host),
            ("https://user@example.com/hook?a=1&b=2", UrlDifference::Host),
            ("https://example.com:443/hook?a=1&b=2", UrlDifference::DefaultPort),
            ("https://example.com:/hook?a=1&b=2", UrlDifference::DefaultPort),
            ("https://example.com:443/other", UrlDifference::DefaultPort),
            ("https://example.com:8443/hook?a=1&b=2", UrlDifference::Port),
            ("https://example.com:80/hook?a=1&b=2", UrlDifference::Port),
            ("https://example.com/hook/?a=1&b=2", UrlDifference::TrailingSlash),
            ("https://example.com/h%6Fok?a=1&b=2", UrlDifference::PercentEncoding),
            ("https://example.com/hook?a=%31&b=2", UrlDifference::PercentEncoding),
            ("https://example.com/Hook?a=1&b=2", UrlDifference::Path),
            ("https://example.com/api/hook?a=1&b=2", UrlDifference::Path),
            ("https://example.com/hook//?a=1&b=2", UrlDifference::Path),
            ("https://example.com/hook?b=2&a=1", UrlDifference::QueryOrder),
            ("https://example.com/hook?a=1", UrlDifference::Query),
            ("https://example.com/hook", UrlDifference::Query),
            ("https://example.com/hook?a=1&b=2#", UrlDifference::Fragment),
            ("https://example.com/hook?a=1&b=2#top", UrlDifference::Fragment),
        ];
        for (given, expected) in cases {
            assert_eq!(difference(base, given), Some(expected), "{given}");
        }
        assert_eq!(difference(base, base), None);
    }

    #[test]
    fn corners_of_the_parts() {
        let cases = [
            ("http://h", "http://h:80", UrlDifference::DefaultPort),
            ("http://h", "http://h/", UrlDifference::TrailingSlash),
            ("http://[::1]/a", "http://[::1]:80/a", UrlDifference::DefaultPort),
            ("http://[::1]:81/a", "http://[::1]:82/a", UrlDifference::Port),
            ("http://h/a?", "http://h/a", UrlDifference::Query),
            ("http://h/a%2fb", "http://h/a%2Fb", UrlDifference::PercentEncoding),
            ("http://h/%zz", "http://h/%ZZ", UrlDifference::Path),
            ("a", "b", UrlDifference::Path),
        ];
        for (signed, given, expected) in cases {
            assert_eq!(difference(signed, given), Some(expected), "{signed} and {given}");
        }
    }

    #[test]
    fn every_word_has_a_sentence_with_a_cure_and_no_query_in_it() {
        let secret = "https://h/a?token=not-a-real-secret";
        for given in ["https://h/a?token=other", "https://h/a", "https://h/b?token=x", "http://g/a"] {
            let text = Comparison::of(secret, given).map(|comparison| comparison.to_string()).unwrap();
            assert!(!text.contains("not-a-real-secret"), "{text}");
        }
    }
}
