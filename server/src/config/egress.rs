//! What destinations may be dialled, as an operator writes it; [`crate::egress`] decides by it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Which addresses may be dialled (contract/http-queue.md, "Outbound guard"). Link-local and
/// metadata addresses belong to none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EgressPolicy {
    /// Addresses of the public Internet.
    Public,
    /// Those and this machine.
    PublicAndLoopback,
    /// Those and private networks.
    Private,
}

impl EgressPolicy {
    /// Every policy.
    pub const ALL: &'static [Self] = &[Self::Public, Self::PublicAndLoopback, Self::Private];

    /// Its spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::PublicAndLoopback => "public-and-loopback",
            Self::Private => "private",
        }
    }
}

impl fmt::Display for EgressPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for EgressPolicy {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().copied().find(|policy| policy.as_str() == text);
        found.ok_or("must be one of public, public-and-loopback, private")
    }
}

/// A policy and what is allowed besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EgressRules {
    /// The policy.
    pub policy: EgressPolicy,
    /// Networks allowed besides, link-local ones too if they are listed.
    pub allowed: Vec<Cidr>,
}

impl EgressRules {
    /// Loopback may be dialled while the server itself listens there only.
    pub fn default_for(listens_on_loopback: bool) -> Self {
        let policy = if listens_on_loopback { EgressPolicy::PublicAndLoopback } else { EgressPolicy::Public };
        Self { policy, allowed: Vec::new() }
    }
}

/// A network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    network: IpAddr,
    prefix: u8,
}

impl Cidr {
    /// Whether the address lies in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                u32::from(network) & mask == u32::from(address) & mask
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                u128::from(network) & mask == u128::from(address) & mask
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }

    /// An IPv4 network; for the tables of [`crate::egress`].
    pub const fn v4(network: [u8; 4], prefix: u8) -> Self {
        let [a, b, c, d] = network;
        Self { network: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), prefix }
    }

    /// An IPv6 network; for the tables of [`crate::egress`].
    pub const fn v6(network: [u16; 8], prefix: u8) -> Self {
        let mut bits = 0_u128;
        let mut at = 0;
        while at < network.len() {
            bits = (bits << 16) | network[at] as u128;
            at += 1;
        }
        Self { network: IpAddr::V6(Ipv6Addr::from_bits(bits)), prefix }
    }

    /// Reads networks separated by commas.
    ///
    /// # Errors
    /// The rule, naming the network that is none.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, String> {
        text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::parse).collect()
    }
}

impl FromStr for Cidr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = || format!("must be networks such as 10.0.0.0/8 or fd00::/8, got \"{text}\"");
        let (network, prefix) = match text.split_once('/') {
            Some((network, prefix)) => (network, Some(prefix)),
            None => (text, None),
        };
        let network: IpAddr = network.parse().map_err(|_| rule())?;
        let longest = if network.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.parse().ok().filter(|prefix| *prefix <= longest).ok_or_else(rule)?,
            None => longest,
        };
        Ok(Self { network, prefix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_its_addresses_and_no_others() {
        let ten: Cidr = "10.0.0.0/8".parse().expect("network");
        assert!(ten.contains(IpAddr::from([10, 255, 0, 1])));
        assert!(!ten.contains(IpAddr::from([11, 0, 0, 1])));
        let all: Cidr = "0.0.0.0/0".parse().expect("network");
        assert!(all.contains(IpAddr::from([192, 0, 2, 1])));
        let one: Cidr = "fd00::1".parse().expect("network");
        assert!(one.contains("fd00::1".parse().expect("address")));
        assert!(!one.contains("fd00::2".parse().expect("address")));
    }

    #[test]
    fn what_is_no_network_is_refused_by_name() {
        let error = Cidr::parse_list("10.0.0.0/8, 10.0.0.0/33").expect_err("prefix");
        assert_eq!(error, "must be networks such as 10.0.0.0/8 or fd00::/8, got \"10.0.0.0/33\"");
        assert!(Cidr::parse_list("example.com").is_err());
    }
}
