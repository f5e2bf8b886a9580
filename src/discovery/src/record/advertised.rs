//! What a node says of itself in its record.

use std::net::{Ipv4Addr, Ipv6Addr};

use enr::{Builder, CombinedKey};
use multiaddr::Multiaddr;

use crate::record::{Capabilities, Shards};

/// The contents of a record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Advertised {
    /// Address of version 4.
    pub ip4: Option<Ipv4Addr>,
    /// Address of version 6.
    pub ip6: Option<Ipv6Addr>,
    /// Port of libp2p over TCP at `ip4`.
    pub tcp4: Option<u16>,
    /// Port of libp2p over TCP at `ip6`.
    pub tcp6: Option<u16>,
    /// Port of discv5 at `ip4`.
    pub udp4: Option<u16>,
    /// Port of discv5 at `ip6`.
    pub udp6: Option<u16>,
    /// Further addresses, without a peer id.
    pub addresses: Vec<Multiaddr>,
    /// What is served.
    pub capabilities: Capabilities,
    /// Cluster and shards.
    pub shards: Option<Shards>,
}

impl Advertised {
    pub(super) fn write_sockets(&self, builder: &mut Builder<CombinedKey>) {
        if let Some(ip) = self.ip4 {
            builder.ip4(ip);
        }
        if let Some(ip) = self.ip6 {
            builder.ip6(ip);
        }
        if let Some(port) = self.tcp4 {
            builder.tcp4(port);
        }
        if let Some(port) = self.tcp6 {
            builder.tcp6(port);
        }
        if let Some(port) = self.udp4 {
            builder.udp4(port);
        }
        if let Some(port) = self.udp6 {
            builder.udp6(port);
        }
    }
}
