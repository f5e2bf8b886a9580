//! Peers that send anything at all, at each layer of a connection: each costs itself its connection and us one counter.
//! One test, alone in its process, so that what it counts is its own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::net::TcpStream;

use bytes::Bytes;
use futures::io::{AsyncReadExt, AsyncWriteExt};
use levada_engine::Counter;
use levada_net::{Multiaddr, NetConfig, TransportKind, counters};
use libp2p::core::UpgradeInfo;
use libp2p::core::upgrade::OutboundConnectionUpgrade;
use libp2p::identity::Keypair;
use libp2p::multiaddr::Protocol;
use libp2p::noise;
use libp2p::tcp::tokio::TcpStream as Socket;
use multistream_select::{Version, dialer_select_proto};
use support::{Node, TOPIC, config, dialling, until, within};

/// Of each layer.
const PEERS: u64 = 40;

/// SplitMix64, so that a failure can be had again from its seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 1 to 4 096 bytes.
    fn bytes(&mut self) -> Vec<u8> {
        let length = 1 + self.next() % 4_096;
        (0..length).map(|_| self.next() as u8).collect()
    }
}

/// How far a peer behaves, and so which layer its garbage reaches.
#[derive(Clone, Copy, Debug)]
enum Layer {
    /// Nothing is agreed on.
    Socket,
    /// Noise is agreed on.
    Handshake,
    /// The handshake is done.
    Records,
    /// Records are sealed, and this muxer is agreed on.
    Muxer(&'static str),
}

impl Layer {
    const ALL: [Self; 5] =
        [Self::Socket, Self::Handshake, Self::Records, Self::Muxer("/yamux/1.0.0"), Self::Muxer("/mplex/6.7.0")];

    /// What counts it.
    fn counter(self) -> &'static Counter {
        match self {
            Self::Socket | Self::Handshake => &counters::HANDSHAKES_REFUSED,
            Self::Records => &counters::RECORDS_REFUSED,
            Self::Muxer(_) => &counters::MUXER_VIOLATIONS,
        }
    }
}

/// A socket, and another handle to it.
async fn socket(address: &Multiaddr) -> (Socket, TcpStream) {
    let port = address.iter().find_map(|part| if let Protocol::Tcp(port) = part { Some(port) } else { None }).unwrap();
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_nonblocking(true).unwrap();
    let other = stream.try_clone().unwrap();
    (Socket(tokio::net::TcpStream::from_std(stream).unwrap()), other)
}

/// Behaves up to `layer`, sends garbage until the node has had enough, and returns when the connection has ended.
async fn misbehave(address: &Multiaddr, layer: Layer, random: &mut Random) {
    let (socket, bare) = socket(address).await;
    if matches!(layer, Layer::Socket) {
        return until_closed(socket, random).await;
    }
    let (_, negotiated) = dialer_select_proto(socket, ["/noise"], Version::V1).await.unwrap();
    if matches!(layer, Layer::Handshake) {
        return until_closed(negotiated, random).await;
    }
    let keys = noise::Config::new(&Keypair::generate_ed25519()).unwrap();
    let protocol = keys.protocol_info().next().unwrap();
    let (_, secure) = keys.upgrade_outbound(negotiated, protocol).await.unwrap();
    match layer {
        Layer::Muxer(muxer) => {
            let (_, negotiated) = dialer_select_proto(secure, [muxer], Version::V1).await.unwrap();
            until_closed(negotiated, random).await;
        }
        _ => {
            bare.set_nonblocking(true).unwrap();
            let below = Socket(tokio::net::TcpStream::from_std(bare).unwrap());
            until_closed(below, random).await;
            drop(secure);
        }
    }
}

/// Sends garbage, and reads what comes, until the other side closes.
async fn until_closed(stream: impl futures::AsyncRead + futures::AsyncWrite + Unpin, random: &mut Random) {
    let (mut read, mut write) = stream.split();
    let sending = async {
        while write.write_all(&random.bytes()).await.is_ok() && write.flush().await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let reading = async {
        let mut bytes = [0; 4_096];
        while !matches!(read.read(&mut bytes).await, Ok(0) | Err(_)) {}
    };
    within(futures::future::join(sending, reading)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_bytes_at_any_layer_cost_the_connection_and_one_counter() {
    let own = |config: NetConfig| NetConfig { transport: TransportKind::Levada, ..config };
    let mut node = Node::start(own(config())).await;
    let good = Node::start(own(dialling(&node.tcp()))).await;
    node.meshed(1).await;
    good.meshed(1).await;
    let seed = 0x6a17_ba6e;
    let mut random = Random(seed);
    for layer in Layer::ALL {
        let before = [&counters::HANDSHAKES_REFUSED, &counters::RECORDS_REFUSED, &counters::MUXER_VIOLATIONS]
            .map(|counter| (counter, counter.value()));
        for peer in 0..PEERS {
            misbehave(&node.tcp(), layer, &mut random).await;
            for (counter, before) in before {
                let grown = if std::ptr::eq(counter, layer.counter()) { peer + 1 } else { 0 };
                until(async || counter.value() - before >= grown).await;
                assert_eq!(counter.value() - before, grown, "seed {seed:#x}, {layer:?}, peer {peer}");
            }
        }
        // Nobody else notices.
        let message = Bytes::from(format!("behind {layer:?}"));
        assert_eq!(within(good.handle.publish(TOPIC, message.clone(), None)).await, Ok(1), "{layer:?}");
        assert_eq!(node.receive().await.data, message);
    }
    until(async || node.handle.connected_count() == 1).await;
}
