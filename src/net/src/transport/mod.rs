//! TCP and WebSocket, noise, yamux or mplex.

mod counted;

use std::time::Duration;

use libp2p::core::muxing::StreamMuxerBox;
use libp2p::core::transport::timeout::TransportTimeout;
use libp2p::core::transport::{Boxed, OrTransport, Transport};
use libp2p::core::upgrade::{SelectUpgrade, Version};
use libp2p::dns::{ResolverConfig, ResolverOpts};
use libp2p::identity::Keypair;
use libp2p::{PeerId, dns, noise, tcp, websocket, yamux};

use crate::error::NetError;
use counted::Counted;

/// From the first byte to a multiplexed, authenticated connection. nwaku gives up after the same time.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Noise records are at most 64 KiB; an implementation may put a few of them into one WebSocket frame.
const WEBSOCKET_FRAME_BYTES_MAX: usize = 4 * 1_024 * 1_024;

/// The transport of the node, for listening and for dialling.
///
/// yamux is preferred; mplex is there because a stock js-waku light client offers nothing else.
pub(crate) fn build(keypair: &Keypair) -> Result<Boxed<(PeerId, StreamMuxerBox)>, NetError> {
    let mut websocket = websocket::Config::new(resolving());
    websocket.set_max_data_size(WEBSOCKET_FRAME_BYTES_MAX);
    let muxers = SelectUpgrade::new(yamux::Config::default(), libp2p_mplex::Config::default());
    let connected = OrTransport::new(websocket, resolving())
        .upgrade(Version::V1Lazy)
        .authenticate(noise::Config::new(keypair)?)
        .multiplex(muxers)
        .map(|(peer, muxer), _| (peer, StreamMuxerBox::new(muxer)));
    Ok(TransportTimeout::new(connected, HANDSHAKE_TIMEOUT).boxed())
}

/// TCP without Nagle's delay, with names resolved as the system does.
///
/// A machine without a readable resolver configuration can still dial numeric addresses, so that is no reason not to start.
fn resolving() -> dns::tokio::Transport<
    impl Transport<Output = Counted<tcp::tokio::TcpStream>, Error = std::io::Error, Dial: Send, ListenerUpgrade: Send>
    + Send
    + Unpin,
> {
    let counted = || tcp::tokio::Transport::new(tcp::Config::new().nodelay(true)).map(|stream, _| Counted::new(stream));
    dns::tokio::Transport::system(counted()).unwrap_or_else(|error| {
        tracing::warn!(%error, "no resolver configuration: only numeric addresses can be dialled");
        dns::tokio::Transport::custom(counted(), ResolverConfig::default(), ResolverOpts::default())
    })
}
