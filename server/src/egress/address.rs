//! Hosts that are addresses, in every spelling that a resolver would take for one.

use std::net::{IpAddr, Ipv4Addr};

/// What a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// An address, however it was spelled.
    Address(IpAddr),
    /// Looks like an address and is none: `1.2.3.4.5`, `256.1.1.1`.
    Malformed,
    /// A name, to be resolved.
    Name,
}

/// Reads a host as it stands in a destination. `2130706433`, `0x7f.1` and `0177.0.0.1` are
/// 127.0.0.1: decimal, hexadecimal and octal, one to four parts, as in the WHATWG URL standard
/// ("IPv4 parser") and `inet_aton`.
pub fn literal_address(host: &str) -> Literal {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner.parse().map_or(Literal::Malformed, |address| Literal::Address(IpAddr::V6(address)));
    }
    let host = host.strip_suffix('.').unwrap_or(host);
    let parts: Vec<&str> = host.split('.').collect();
    let last = parts.last().copied().unwrap_or_default();
    let ends_in_number =
        number(last).is_some() || (!last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()));
    if !ends_in_number {
        return Literal::Name;
    }
    ipv4(&parts).map_or(Literal::Malformed, |address| Literal::Address(IpAddr::V4(address)))
}

fn ipv4(parts: &[&str]) -> Option<Ipv4Addr> {
    let numbers: Vec<u64> = parts.iter().map(|part| number(part)).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    if first.len() > 3 || first.iter().any(|number| *number > 255) {
        return None;
    }
    let room = 256_u64.pow(u32::try_from(4 - first.len()).ok()?);
    if *last >= room {
        return None;
    }
    let head = first.iter().enumerate().fold(0_u64, |sum, (at, number)| sum | (number << (24 - 8 * at)));
    u32::try_from(head | last).ok().map(Ipv4Addr::from)
}

fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    if digits.is_empty() {
        // "0x" alone is zero.
        return (radix == 16).then_some(0);
    }
    let legal = digits.chars().all(|digit| digit.is_digit(radix));
    legal.then(|| u64::from_str_radix(digits, radix).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_address_is_that_address() {
        for host in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "017700000001",
            "127.0.0.1.",
            "0X7F.0.0.0x1",
        ] {
            assert_eq!(literal_address(host), Literal::Address(IpAddr::from([127, 0, 0, 1])), "{host}");
        }
        assert_eq!(literal_address("0"), Literal::Address(IpAddr::from([0, 0, 0, 0])));
        assert_eq!(
            literal_address("[::ffff:10.0.0.1]"),
            Literal::Address("::ffff:10.0.0.1".parse().expect("v6"))
        );
    }

    #[test]
    fn what_only_looks_like_one_is_neither_address_nor_name() {
        for host in ["256.0.0.1", "1.2.3.4.5", "4294967296", "1.2.3.08", "example.1", "1..2", "1.2.3.256"] {
            assert_eq!(literal_address(host), Literal::Malformed, "{host}");
        }
    }

    #[test]
    fn a_name_is_a_name() {
        for host in ["localhost", "example.com", "10.example.com", "0xg", "a-1", "1.2.3.4x"] {
            assert_eq!(literal_address(host), Literal::Name, "{host}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_host_panics(host in "[0-9a-fx.\\[\\]:]{0,40}") {
            let _ = literal_address(&host);
        }
    }
}
