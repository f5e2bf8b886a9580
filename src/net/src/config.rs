//! What the network needs to know before it starts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

use levada_router::MeshDegrees;
use libp2p::Multiaddr;
use libp2p::multiaddr::Protocol;

use crate::error::{AddressError, NetError};
use crate::exchange::Exchange;
use crate::key::NodeKey;
use crate::transport::{TlsFiles, TransportKind};

/// Below this no useful message exists.
const MESSAGE_BYTES_MIN: usize = 1_024;
/// Above this one message would be larger than the byte budget of a peer's send queue.
const MESSAGE_BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// The configuration of the network. The defaults are nwaku's.
#[derive(Debug, Clone)]
pub struct NetConfig {
    /// The secret of the node (`--nodekey`).
    pub key: NodeKey,
    /// Whether there are listeners; without them this node only goes to others.
    pub listen: bool,
    /// The address that every listener binds (`--listen-address`).
    pub listen_address: IpAddr,
    /// The port of the TCP listener (`--tcp-port`); 0 lets the system choose.
    pub tcp_port: u16,
    /// The port of the WebSocket listener (`--websocket-port`), if there is to be one; 0 lets the system choose.
    pub websocket_port: Option<u16>,
    /// What secures the WebSocket listener by TLS (`--websocket-secure-support`); it then takes no plain WebSocket.
    pub websocket_tls: Option<TlsFiles>,
    /// Addresses under which others reach this node (`--nat=extip:…`, `--ext-multiaddr`), announced through identify.
    pub external_addresses: Vec<Multiaddr>,
    /// Whether the addresses of the listeners are announced besides (not with `--ext-multiaddr-only`).
    pub announce_listen: bool,
    /// The Waku cluster (`--cluster-id`). A peer that answers another one is disconnected.
    pub cluster_id: u16,
    /// The shards of the node (`--shard`), told to every peer through metadata until other ones are joined or these are left.
    pub shards: Vec<u16>,
    /// Peers that are dialled at start and again whenever they are lost (`--staticnode`).
    pub static_peers: Vec<Multiaddr>,
    /// The most connections that are open at once, both directions together (`--max-connections`).
    pub max_connections: u32,
    /// The most relay peers that may come by themselves (`--relay-service-ratio`); one more is disconnected, so that relay leaves light
    /// clients their part of the connections.
    pub relay_incoming_max: usize,
    /// The most peers that may come from one IP address (`--ip-colocation-limit`); 0 for no limit.
    pub ip_colocation_limit: usize,
    /// Outgoing connections that are striven for among the peers that are known.
    pub outgoing_wanted: usize,
    /// The most peers that are known (`--peer-store-capacity`), connected or not.
    pub known_peers_max: usize,
    /// The file in which known peers survive a restart (`--peer-persistence`), if they should.
    pub peer_file: Option<PathBuf>,
    /// Whether peers are pinged, and left if they do not answer (`--keep-alive`).
    pub keep_alive: bool,
    /// The largest encoded WakuMessage (`--max-msg-size`), in bytes.
    pub message_bytes_max: usize,
    /// The agent string of identify (`--agent-string`).
    pub agent: String,
    /// Whether the node takes part in relay (`--relay`).
    pub relay: bool,
    /// How many peers are in the mesh of a topic.
    pub mesh: MeshDegrees,
    /// Bytes of the messages that wait to be sent to one peer (`--relay-queue-bytes`); what finds no room is dropped.
    pub send_queue_bytes: usize,
    /// How long a message of this node's own may wait there.
    pub send_published_for: Duration,
    /// How long a message of others may wait there.
    pub send_forwarded_for: Duration,
    /// Whose implementation of Noise, yamux and mplex connections use.
    pub transport: TransportKind,
    /// What is served to peers besides, and how they are asked.
    pub exchange: Exchange,
    /// Threads that connections are spread over (`--net-workers`); with none, all run on the runtime that the network is started in.
    pub workers: usize,
    /// The cores that these threads are bound to, in turn; with none, they run wherever the system puts them.
    pub worker_cores: Vec<usize>,
    /// Addresses from which any number of peers may come, and whose peers are not punished for being many. Loopback by default: all peers
    /// behind a proxy on this machine share it.
    pub colocation_whitelist: Vec<IpAddr>,
}

impl NetConfig {
    /// The defaults, with `key`.
    pub fn new(key: NodeKey) -> Self {
        Self {
            key,
            listen: true,
            listen_address: Ipv4Addr::UNSPECIFIED.into(),
            tcp_port: 60_000,
            websocket_port: Some(8_000),
            websocket_tls: None,
            external_addresses: Vec::new(),
            announce_listen: true,
            cluster_id: 0,
            shards: vec![0],
            static_peers: Vec::new(),
            max_connections: 150,
            relay_incoming_max: usize::MAX,
            ip_colocation_limit: 5,
            // nwaku's for 150 connections: half of them are for relay, and a third of these go out.
            outgoing_wanted: 25,
            known_peers_max: 1_000,
            peer_file: None,
            keep_alive: true,
            message_bytes_max: 150 * 1_024,
            agent: concat!("levada-", env!("CARGO_PKG_VERSION")).to_owned(),
            relay: true,
            mesh: MeshDegrees::default(),
            // More than a window of 32 of the largest messages.
            send_queue_bytes: 8 * 1_024 * 1_024,
            send_published_for: Duration::from_secs(5),
            send_forwarded_for: Duration::from_secs(1),
            transport: TransportKind::default(),
            exchange: Exchange::default(),
            workers: 0,
            worker_cores: Vec::new(),
            colocation_whitelist: vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        }
    }

    /// Bytes of the largest message on a topic: what fits, with the frame around it, into what nwaku reads.
    pub(crate) fn largest_message(&self, topic: &str) -> usize {
        levada_router::message_bytes_max(self.message_bytes_max as u32, topic.len()) as usize
    }

    /// Checks what can be checked without opening anything.
    pub(crate) fn validate(&self) -> Result<(), NetError> {
        let (bytes, bytes_min, bytes_max) = (self.message_bytes_max, MESSAGE_BYTES_MIN, MESSAGE_BYTES_MAX);
        if !(bytes_min..=bytes_max).contains(&bytes) {
            return Err(NetError::MessageBytes { bytes, bytes_min, bytes_max });
        }
        for address in &self.static_peers {
            dialable(address).map_err(|source| NetError::StaticPeer { address: address.clone(), source })?;
        }
        Ok(())
    }
}

/// Reads the address of a peer and checks that this node has its transport.
///
/// # Errors
///
/// [`AddressError`] that repeats the text and says what is expected.
pub fn peer_address(text: &str) -> Result<Multiaddr, AddressError> {
    let address: Multiaddr = text.parse().map_err(|error: libp2p::multiaddr::Error| AddressError::Syntax {
        text: text.to_owned(),
        reason: error.to_string(),
    })?;
    dialable(&address)?;
    Ok(address)
}

/// A host, a TCP port, perhaps WebSocket (with or without TLS), perhaps the peer id, and nothing else.
fn dialable(address: &Multiaddr) -> Result<(), AddressError> {
    let mut parts = address.iter().peekable();
    let host = matches!(
        parts.next(),
        Some(Protocol::Ip4(_) | Protocol::Ip6(_) | Protocol::Dns(_) | Protocol::Dns4(_) | Protocol::Dns6(_))
    );
    let tcp = matches!(parts.next(), Some(Protocol::Tcp(port)) if port != 0);
    let rest_known = parts.all(|part| {
        matches!(part, Protocol::Ws(_) | Protocol::Wss(_) | Protocol::Tls | Protocol::Sni(_) | Protocol::P2p(_))
    });
    if host && tcp && rest_known { Ok(()) } else { Err(AddressError::Transport { address: address.clone() }) }
}

#[cfg(test)]
mod tests {
    use super::{AddressError, NetConfig, NetError, peer_address};
    use crate::NodeKey;

    #[test]
    fn addresses_that_can_be_dialled() {
        let id = NodeKey::generate().peer_id();
        for text in [
            "/ip4/127.0.0.1/tcp/60000".to_owned(),
            format!("/ip4/127.0.0.1/tcp/60000/p2p/{id}"),
            "/ip6/::1/tcp/8000/ws".to_owned(),
            format!("/dns4/node.example.org/tcp/443/wss/p2p/{id}"),
            "/dns4/node.example.org/tcp/443/tls/ws".to_owned(),
        ] {
            assert_eq!(peer_address(&text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn addresses_that_cannot() {
        for text in [
            "",
            "/",
            "/ip4/127.0.0.1",
            "/ip4/127.0.0.1/udp/1/quic-v1",
            "/ip4/127.0.0.1/tcp/0",
            "/tcp/1",
            "/unix/socket",
        ] {
            assert!(peer_address(text).is_err(), "{text:?}");
        }
        let error = peer_address("127.0.0.1:60000").unwrap_err();
        assert!(matches!(error, AddressError::Syntax { .. }));
        assert!(error.to_string().contains("127.0.0.1:60000"), "{error}");
    }

    #[test]
    fn the_message_limit_is_bounded() {
        let mut config = NetConfig::new(NodeKey::generate());
        config.validate().unwrap();
        config.message_bytes_max = 0;
        assert!(matches!(config.validate(), Err(NetError::MessageBytes { bytes: 0, .. })));
        config.message_bytes_max = usize::MAX;
        assert!(matches!(config.validate(), Err(NetError::MessageBytes { .. })));
    }
}
