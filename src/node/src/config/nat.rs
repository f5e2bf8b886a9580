//! How the node learns the address under which others reach it (`--nat`).

use std::net::IpAddr;

/// The way to the node's public address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nat {
    /// Announce the listen addresses.
    Any,
    /// Announce the listen addresses only.
    None,
    /// Announce this address besides the listen addresses (`extip:…`).
    ExternalIp(IpAddr),
    /// Port mapping by UPnP, which this version does not do; it acts as [`Nat::Any`] and warns.
    Upnp,
    /// Port mapping by NAT-PMP, which this version does not do; it acts as [`Nat::Any`] and warns.
    Pmp,
}

impl Nat {
    /// Reads nwaku's spelling; `None` when it is none of its methods.
    pub fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "any" => Some(Self::Any),
            "none" => Some(Self::None),
            "upnp" => Some(Self::Upnp),
            "pmp" => Some(Self::Pmp),
            other => other.strip_prefix("extip:")?.parse().ok().map(Self::ExternalIp),
        }
    }

    /// The address to announce, if the operator gave one.
    pub const fn external_ip(self) -> Option<IpAddr> {
        match self {
            Self::ExternalIp(address) => Some(address),
            Self::Any | Self::None | Self::Upnp | Self::Pmp => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_of_nwaku_is_read() {
        assert_eq!(Nat::parse("any"), Some(Nat::Any));
        assert_eq!(Nat::parse("NONE"), Some(Nat::None));
        assert_eq!(Nat::parse("upnp"), Some(Nat::Upnp));
        let address = Nat::parse("extip:192.0.2.7").and_then(Nat::external_ip);
        assert_eq!(address, Some(IpAddr::from([192, 0, 2, 7])));
        assert!(Nat::parse("extip:2001:db8::1").is_some());
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "extip", "extip:", "extip:node.example", "192.0.2.7", "extip:192.0.2.7:60000"] {
            assert_eq!(Nat::parse(text), None, "{text}");
        }
    }
}
