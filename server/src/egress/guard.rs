//! Which addresses may be dialled (contract/http-queue.md, "Outbound guard").

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use chronq::{Destination, InvalidInput};

use super::address::{Literal, literal_address};
use crate::config::{Cidr, EgressPolicy, EgressRules};

/// Decides by the address, never by the name.
#[derive(Clone, Debug)]
pub struct Guard(EgressRules);

/// What an address is, as far as the policies tell addresses apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Public,
    Loopback,
    Private,
    /// Link-local, metadata, multicast, reserved: only if it is listed.
    Never,
}

const LOOPBACK: &[Cidr] = &[Cidr::v4([127, 0, 0, 0], 8), Cidr::v6([0, 0, 0, 0, 0, 0, 0, 1], 128)];

const PRIVATE: &[Cidr] = &[
    Cidr::v4([10, 0, 0, 0], 8),
    Cidr::v4([172, 16, 0, 0], 12),
    Cidr::v4([192, 168, 0, 0], 16),
    // Shared address space of carriers (RFC 6598).
    Cidr::v4([100, 64, 0, 0], 10),
    Cidr::v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
];

/// The special-purpose registries of IANA, less what stands above, and the metadata services of
/// clouds that live outside link-local.
const NEVER: &[Cidr] = &[
    Cidr::v4([0, 0, 0, 0], 8),
    Cidr::v4([169, 254, 0, 0], 16),
    Cidr::v4([192, 0, 0, 0], 24),
    Cidr::v4([192, 0, 2, 0], 24),
    Cidr::v4([192, 88, 99, 0], 24),
    Cidr::v4([198, 18, 0, 0], 15),
    Cidr::v4([198, 51, 100, 0], 24),
    Cidr::v4([203, 0, 113, 0], 24),
    Cidr::v4([224, 0, 0, 0], 3),
    // Metadata of Alibaba Cloud and of Azure.
    Cidr::v4([100, 100, 100, 200], 32),
    Cidr::v4([168, 63, 129, 16], 32),
    // Metadata of AWS and of Google Cloud over IPv6.
    Cidr::v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128),
    Cidr::v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128),
    Cidr::v6([0, 0, 0, 0, 0, 0, 0, 0], 128),
    Cidr::v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48),
    Cidr::v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64),
    // Protocol assignments, Teredo among them.
    Cidr::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
    Cidr::v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    Cidr::v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
    Cidr::v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16),
    Cidr::v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),
    Cidr::v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10),
    Cidr::v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),
];

impl Guard {
    /// A guard under these rules.
    pub fn new(rules: EgressRules) -> Self {
        Self(rules)
    }

    /// Whether this address may be dialled.
    pub fn allows(&self, address: IpAddr) -> bool {
        let inner = innermost(address);
        if self.0.allowed.iter().any(|network| network.contains(address) || network.contains(inner)) {
            return true;
        }
        match reach(inner) {
            Reach::Public => true,
            Reach::Loopback => self.0.policy != EgressPolicy::Public,
            Reach::Private => self.0.policy == EgressPolicy::Private,
            Reach::Never => false,
        }
    }

    /// Refuses a destination whose host is an address that may not be dialled, or that is none
    /// although it looks like one. A name is decided when it is dialled.
    ///
    /// # Errors
    /// [`InvalidInput`] naming the option.
    pub fn check_literal(&self, option: &str, destination: &Destination) -> Result<(), InvalidInput> {
        let rule = match literal_address(destination.host()) {
            Literal::Name => return Ok(()),
            Literal::Address(address) if self.allows(address) => return Ok(()),
            Literal::Address(_) => "must not lead to an address that this server may not dial",
            Literal::Malformed => "must have a host that is a name or an address",
        };
        Err(InvalidInput::with_rule(option, rule, destination.as_str()))
    }
}

fn reach(address: IpAddr) -> Reach {
    let within = |networks: &[Cidr]| networks.iter().any(|network| network.contains(address));
    if within(NEVER) {
        Reach::Never
    } else if within(LOOPBACK) {
        Reach::Loopback
    } else if within(PRIVATE) {
        Reach::Private
    } else {
        Reach::Public
    }
}

/// The IPv4 address that an IPv6 address stands for: mapped (RFC 4291), compatible, translated by
/// NAT64 (RFC 6052) or 6to4 (RFC 3056). Whoever dials those may reach the address inside.
fn innermost(address: IpAddr) -> IpAddr {
    let IpAddr::V6(outer) = address else { return address };
    embedded(outer).map_or(address, IpAddr::V4)
}

fn embedded(outer: Ipv6Addr) -> Option<Ipv4Addr> {
    let joined = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match outer.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(joined(high, low))
        }
        [0x2002, high, low, ..] => Some(joined(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(policy: EgressPolicy, allowed: &str) -> Guard {
        Guard::new(EgressRules { policy, allowed: Cidr::parse_list(allowed).expect("networks") })
    }

    fn allows(policy: EgressPolicy, address: &str) -> bool {
        guard(policy, "").allows(address.parse().expect(address))
    }

    #[test]
    fn each_policy_reaches_what_its_name_says() {
        use EgressPolicy::{Private, Public, PublicAndLoopback};
        for (address, public, with_loopback, private) in [
            ("1.1.1.1", true, true, true),
            ("2606:4700::1111", true, true, true),
            ("127.0.0.1", false, true, true),
            ("127.9.9.9", false, true, true),
            ("::1", false, true, true),
            ("10.0.0.1", false, false, true),
            ("172.31.255.255", false, false, true),
            ("172.32.0.1", true, true, true),
            ("192.168.1.1", false, false, true),
            ("100.64.0.1", false, false, true),
            ("fd12::1", false, false, true),
        ] {
            assert_eq!(allows(Public, address), public, "public {address}");
            assert_eq!(allows(PublicAndLoopback, address), with_loopback, "public-and-loopback {address}");
            assert_eq!(allows(Private, address), private, "private {address}");
        }
    }

    #[test]
    fn link_local_and_metadata_are_never_reached_unless_listed() {
        for address in [
            "169.254.169.254",
            "fe80::1",
            "fd00:ec2::254",
            "100.100.100.200",
            "168.63.129.16",
            "0.0.0.0",
            "::",
            "255.255.255.255",
            "224.0.0.1",
            "ff02::1",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
            "192.0.2.1",
            "2001:db8::1",
        ] {
            assert!(!allows(EgressPolicy::Private, address), "{address}");
        }
        let listed = guard(EgressPolicy::Public, "169.254.0.0/16,fe80::/10");
        assert!(listed.allows("169.254.169.254".parse().expect("address")));
        assert!(listed.allows("::ffff:169.254.169.254".parse().expect("address")));
        assert!(listed.allows("fe80::1".parse().expect("address")));
        assert!(!listed.allows("10.0.0.1".parse().expect("address")));
    }

    #[test]
    fn an_ipv4_address_inside_an_ipv6_one_is_that_address() {
        for address in ["::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"] {
            assert!(!allows(EgressPolicy::Public, address), "{address}");
            assert!(allows(EgressPolicy::PublicAndLoopback, address), "{address}");
        }
        assert!(allows(EgressPolicy::Public, "::ffff:1.1.1.1"));
    }

    #[test]
    fn a_refused_literal_is_refused_by_name_before_anything_is_dialled() {
        let guard = guard(EgressPolicy::Public, "");
        let check = |text: &str| {
            let destination = Destination::parse("destination", text).expect(text);
            guard.check_literal("destination", &destination).map_err(|error| error.to_string())
        };
        assert_eq!(
            check("http://0x7f.1:80/hook"),
            Err("destination must not lead to an address that this server may not dial, got \"http://0x7f.1:80/hook\"".to_owned())
        );
        assert!(check("http://[::1]/").is_err());
        assert!(check("http://2130706433/").is_err());
        assert!(check("http://256.1.1.1/").is_err());
        assert_eq!(check("http://localhost/"), Ok(()));
        assert_eq!(check("https://example.com/"), Ok(()));
    }
}
