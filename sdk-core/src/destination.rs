//! A destination: the URL of a delivery, kept byte for byte as its publisher wrote it.
//!
//! It is stored, signed (`sub`) and requested as written: dot segments, percent-case, default ports
//! and query order stay (contract/http-queue.md, "Publishing"). So nothing here normalises; the
//! parts below are views into the one string.

use std::fmt;

use crate::contract::limits;
use crate::input::InvalidInput;

/// `http` or `https`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Port 80 unless another is written.
    Http,
    /// Port 443 unless another is written.
    Https,
}

impl Scheme {
    /// The port where none is written.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// An absolute http or https URL of 1..2,048 visible ASCII bytes, with a host, without userinfo and
/// fragment.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Destination {
    text: String,
    authority_start: usize,
    target_start: usize,
}

impl Destination {
    /// Reads a destination; `option` is named in the error (`destination`, `chronq-callback`, …).
    ///
    /// # Errors
    /// [`InvalidInput`] naming the option and what is wrong with the URL.
    pub fn parse(option: &str, text: &str) -> Result<Self, InvalidInput> {
        let refuse = |rule: &str| Err(InvalidInput::with_rule(option, rule, text));
        let Some((_, scheme_length)) = scheme_of(text) else {
            let mut error = InvalidInput::with_rule(option, "must be an absolute URL", text);
            if has_merged_slashes(text) {
                error = InvalidInput::new(
                    option,
                    format!("{error} (a proxy on the way merged the slashes of \"://\"; turn that off, or percent-encode the destination)"),
                )
                .with_value(text);
            }
            return Err(error);
        };
        if text.len() > limits::MAX_DESTINATION_BYTES {
            return refuse("must be at most 2048 bytes");
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return refuse("must be visible ASCII: percent-encode everything else");
        }
        if text.contains('#') {
            return refuse("must not have a fragment");
        }
        let after_scheme = text.get(scheme_length..).unwrap_or_default();
        let length = after_scheme.bytes().take_while(|byte| !matches!(byte, b'/' | b'?' | b'\\')).count();
        let target_start = scheme_length + length;
        let authority = after_scheme.get(..length).unwrap_or_default();
        if authority.contains('@') {
            return refuse("must not have user information before the host");
        }
        if split_authority(authority).is_none() {
            return refuse("must have a host, and a port of 1 to 65535 if any");
        }
        Ok(Self { text: text.to_owned(), authority_start: scheme_length, target_start })
    }

    /// The URL as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        // Proven at construction; http is the shorter of the two.
        scheme_of(&self.text).map_or(Scheme::Http, |(scheme, _)| scheme)
    }

    /// Host and, if written, port: what goes into the `Host` header.
    pub fn authority(&self) -> &str {
        self.text.get(self.authority_start..self.target_start).unwrap_or_default()
    }

    /// The host as written; an IPv6 literal keeps its brackets.
    pub fn host(&self) -> &str {
        split_authority(self.authority()).map_or("", |(host, _)| host)
    }

    /// The port written, or the scheme's.
    pub fn port(&self) -> u16 {
        split_authority(self.authority())
            .and_then(|(_, port)| port)
            .unwrap_or_else(|| self.scheme().default_port())
    }

    /// The request target to send, as written; `/` is put where the URL has no path, because HTTP
    /// demands one (RFC 9112 section 3.2.1).
    pub fn request_target(&self) -> String {
        let target = self.text.get(self.target_start..).unwrap_or_default();
        if target.starts_with('/') { target.to_owned() } else { format!("/{target}") }
    }

    /// Whether common URL libraries pass this text through unchanged when it stands in a path. Where
    /// they do not, an SDK publishes it as a batch of one, inside JSON.
    pub fn survives_url_libraries(&self) -> bool {
        sabotage!(DestinationRewritten => return true);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&()*+,;=:@/?%".contains(&byte);
        self.text.bytes().all(plain) && !self.text.split(['/', '?']).any(is_dot_segment)
    }
}

/// The scheme at the start of the text, any case, and how many bytes it takes with its `://`.
pub(crate) fn scheme_of(text: &str) -> Option<(Scheme, usize)> {
    [(Scheme::Http, "http://"), (Scheme::Https, "https://")]
        .into_iter()
        .find(|(_, prefix)| starts_with_ignoring_case(text, prefix))
        .map(|(scheme, prefix)| (scheme, prefix.len()))
}

pub(crate) fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn has_merged_slashes(text: &str) -> bool {
    ["http:/", "https:/"].iter().any(|prefix| starts_with_ignoring_case(text, prefix))
}

fn is_dot_segment(segment: &str) -> bool {
    let is_dot = |text: &str| text == "." || text.eq_ignore_ascii_case("%2e");
    is_dot(segment)
        || [1, 3]
            .into_iter()
            .filter_map(|at| segment.split_at_checked(at))
            .any(|(first, second)| is_dot(first) && is_dot(second))
}

/// Host and port, where the authority has a legal form.
fn split_authority(authority: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = if authority.starts_with('[') {
        let end = authority.find(']')?;
        if !is_ipv6(authority.get(1..end)?) {
            return None;
        }
        let (host, port) = authority.split_at_checked(end + 1)?;
        (host, port.strip_prefix(':'))
    } else {
        match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        }
    };
    if host.len() + port.map_or(0, |port| port.len() + 1) != authority.len() || !is_host(host) {
        return None;
    }
    match port {
        None => Some((host, None)),
        Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().filter(|port| *port > 0).map(|port| (host, Some(port)))
        }
        Some(_) => None,
    }
}

/// Whether the text is an IPv6 address (RFC 4291 section 2.2). The standard library's reader would be a fiftieth of
/// the edge module.
fn is_ipv6(text: &str) -> bool {
    match crate::text::split_once(text, "::") {
        None => ipv6_groups(text, true) == Some(8),
        Some((head, tail)) => {
            ipv6_groups(head, false).zip(ipv6_groups(tail, true)).is_some_and(|(head, tail)| head + tail < 8)
        }
    }
}

/// How many groups of 16 bits; the last two may be an IPv4 address.
fn ipv6_groups(text: &str, may_end_in_ipv4: bool) -> Option<usize> {
    let mut count = 0;
    let mut groups = text.split(':').filter(|_| !text.is_empty()).peekable();
    while let Some(group) = groups.next() {
        let is_hex = (1..=4).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_ipv4 = may_end_in_ipv4 && groups.peek().is_none() && is_ipv4(group);
        count += match (is_hex, is_ipv4) {
            (true, _) => 1,
            (false, true) => 2,
            (false, false) => return None,
        };
    }
    Some(count)
}

fn is_ipv4(text: &str) -> bool {
    let is_byte = |digits: &str| {
        (1..=3).contains(&digits.len())
            && (digits == "0" || !digits.starts_with('0'))
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && digits.bytes().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')) <= 255
    };
    text.split('.').count() == 4 && text.split('.').all(is_byte)
}

fn is_host(host: &str) -> bool {
    let named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    host.starts_with('[')
        || (!host.is_empty()
            && host.bytes().all(named)
            && !host.starts_with('.')
            && !crate::text::contains(host, ".."))
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Destination({:?})", self.text)
    }
}

impl serde::Serialize for Destination {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> serde::Deserialize<'de> for Destination {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse("url", &text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Destination, InvalidInput> {
        Destination::parse("destination", text)
    }

    #[test]
    fn it_is_kept_byte_for_byte() {
        for text in [
            "http://127.0.0.1:8787/a/../b%2f?x=1&y=%20",
            "HTTPS://Example.COM:443",
            "http://[::1]:80/?",
            "http://example.com?x=http://other/../",
            "https://example.com/a//b/./c;d='e'",
        ] {
            assert_eq!(parse(text).expect(text).as_str(), text);
        }
    }

    #[test]
    fn its_parts_are_views() {
        let url = parse("http://Example.com:8787/a/../b%2f?x=1&y=%20").expect("legal");
        assert_eq!((url.scheme(), url.host(), url.port()), (Scheme::Http, "Example.com", 8787));
        assert_eq!(url.authority(), "Example.com:8787");
        assert_eq!(url.request_target(), "/a/../b%2f?x=1&y=%20");
        let bare = parse("https://[2001:db8::1]?q").expect("legal");
        assert_eq!((bare.host(), bare.port(), bare.request_target().as_str()), ("[2001:db8::1]", 443, "/?q"));
    }

    #[test]
    fn what_is_no_absolute_url_is_refused_by_name() {
        let error = parse("not-a-url").expect_err("relative");
        assert_eq!(error.to_string(), "destination must be an absolute URL, got \"not-a-url\"");
        let merged = parse("https:/example.com").expect_err("merged");
        assert!(
            merged
                .to_string()
                .starts_with("destination must be an absolute URL, got \"https:/example.com\" (a proxy")
        );
    }

    #[test]
    fn ipv6_addresses_have_eight_groups_or_a_gap() {
        for text in [
            "::",
            "::1",
            "1::",
            "1:2:3:4:5:6:7:8",
            "1:2:3:4:5:6:7::",
            "::2:3:4:5:6:7:8",
            "::ffff:1.2.3.4",
            "1:2:3:4:5:6:255.0.10.1",
            "FE80::AbCd",
        ] {
            assert!(is_ipv6(text) && text.parse::<std::net::Ipv6Addr>().is_ok(), "{text}");
        }
        for text in [
            "",
            ":",
            ":::",
            "1",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9",
            "1::2::3",
            "12345::",
            "g::",
            "1.2.3.4",
            "1.2.3.4::",
            "::1.2.3",
            "::1.2.3.256",
            "::1.2.3.04",
            "1:2:3:4:5:6:7:1.2.3.4",
            "1:2:3:4::5:6:7:8",
            ":1",
            "::1%eth0",
        ] {
            assert!(!is_ipv6(text) && text.parse::<std::net::Ipv6Addr>().is_err(), "{text}");
        }
    }

    #[test]
    fn illegal_urls_are_refused() {
        for text in [
            "http://",
            "http:///x",
            "http://?x",
            "http://user@host/",
            "http://user:pw@host/",
            "http://host/#frag",
            "http://host:0/",
            "http://host:65536/",
            "http://host:/",
            "http://host:8x/",
            "http://[::1",
            "http://[zz]/",
            "http://[::1]x/",
            "http://a b/",
            "http://host/é",
            "http://host/\u{7f}",
            "ftp://host/",
            "http://ho%73t/",
            "http://..",
            "http://.a/",
            "http://host\\@evil/",
        ] {
            if text == "http://host\\@evil/" {
                // The backslash ends the authority, as it does for browsers: the host is not `evil`.
                assert_eq!(parse(text).expect("legal").host(), "host");
                continue;
            }
            assert!(parse(text).is_err(), "{text}");
        }
        let longest = format!("http://host/{}", "a".repeat(2_048 - 12));
        assert!(parse(&longest).is_ok());
        assert!(parse(&format!("{longest}a")).is_err());
    }

    #[test]
    fn what_a_url_library_would_rewrite_is_known() {
        for plain in ["https://example.com/hook?a=1&b=%20", "http://127.0.0.1:80/a..b/"] {
            assert!(parse(plain).expect(plain).survives_url_libraries(), "{plain}");
        }
        for odd in [
            "/..",
            "/a/./b",
            "/%2e%2E/x",
            "/.%2e",
            "/\\",
            "/\"",
            "/<",
            "/>",
            "/'",
            "/{",
            "/|",
            "/`",
            "/^",
            "/[",
            "?../x",
        ] {
            let text = format!("http://example.com{odd}");
            assert!(!parse(&text).expect(&text).survives_url_libraries(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn an_ipv6_address_is_what_the_standard_library_reads(text in "([0-9a-g]{0,5}[:.]{0,2}|::|:|25[0-9]\\.|1:){0,9}") {
            proptest::prop_assert_eq!(is_ipv6(&text), text.parse::<std::net::Ipv6Addr>().is_ok(), "{}", text);
        }

        #[test]
        fn no_text_panics(text in ".*", tail in "[ -~]*") {
            let _ = parse(&text);
            if let Ok(url) = parse(&format!("http://{tail}")) {
                let _ = (url.host(), url.port(), url.request_target(), url.survives_url_libraries());
            }
        }
    }
}
