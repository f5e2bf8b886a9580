//! A peer that is no node of ours: a bare swarm with rust-libp2p's router, and metadata under the test's control.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use futures::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, StreamExt};
use levada_net::{METADATA_PROTOCOL, Multiaddr, NetConfig, NodeKey, RELAY_PROTOCOL};
use levada_stock::{Gossipsub, gossipsub};
use libp2p::core::Transport;
use libp2p::core::muxing::StreamMuxerBox;
use libp2p::core::transport::Boxed;
use libp2p::core::upgrade::Version;
use libp2p::identity::Keypair;
use libp2p::request_response::{Behaviour, Codec, Config, ProtocolSupport};
use libp2p::swarm::behaviour::toggle::Toggle;
use libp2p::swarm::{NetworkBehaviour, SwarmEvent};
use libp2p::{PeerId, StreamProtocol, Swarm, noise, tcp, yamux};
use tokio::sync::Semaphore;

use super::within;

/// What is written on a metadata stream, and when: at once, or when the gate is closed for good.
#[derive(Debug)]
pub struct Ask {
    pub bytes: Vec<u8>,
    pub after: Option<Arc<Semaphore>>,
}

/// Reads until the other side has closed its side, as js-waku does, and counts the streams that it has read.
#[derive(Clone, Default)]
pub struct ToTheEnd {
    pub streams: Arc<AtomicUsize>,
}

impl Codec for ToTheEnd {
    type Protocol = StreamProtocol;
    type Request = Ask;
    type Response = Vec<u8>;

    async fn read_request<T: AsyncRead + Unpin + Send>(&mut self, _: &StreamProtocol, io: &mut T) -> io::Result<Ask> {
        self.streams.fetch_add(1, Relaxed);
        let mut bytes = Vec::new();
        io.read_to_end(&mut bytes).await?;
        Ok(Ask { bytes, after: None })
    }

    async fn read_response<T: AsyncRead + Unpin + Send>(
        &mut self,
        _: &StreamProtocol,
        io: &mut T,
    ) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        io.read_to_end(&mut bytes).await?;
        Ok(bytes)
    }

    async fn write_request<T: AsyncWrite + Unpin + Send>(
        &mut self,
        _: &StreamProtocol,
        io: &mut T,
        ask: Ask,
    ) -> io::Result<()> {
        if let Some(after) = ask.after {
            // No permit is ever given: this returns when the semaphore is closed.
            drop(after.acquire().await);
        }
        io.write_all(&ask.bytes).await
    }

    async fn write_response<T: AsyncWrite + Unpin + Send>(
        &mut self,
        _: &StreamProtocol,
        io: &mut T,
        bytes: Vec<u8>,
    ) -> io::Result<()> {
        io.write_all(&bytes).await
    }
}

#[derive(NetworkBehaviour)]
pub struct Protocols {
    pub relay: Gossipsub,
    pub metadata: Toggle<Behaviour<ToTheEnd>>,
}

pub type RawPeer = Swarm<Protocols>;

/// Which multiplexer the peer offers.
pub enum Muxer {
    Yamux,
    Mplex,
}

pub fn peer(muxer: &Muxer, metadata: bool, message_bytes_max: usize) -> RawPeer {
    let key = Keypair::generate_ed25519();
    let router = NetConfig { message_bytes_max, cluster_id: 1, ..NetConfig::new(NodeKey::generate()) };
    let streams = Config::default().with_request_timeout(std::time::Duration::from_secs(90));
    let metadata = metadata.then(|| {
        Behaviour::with_codec(
            ToTheEnd::default(),
            [(StreamProtocol::new(METADATA_PROTOCOL), ProtocolSupport::Full)],
            streams,
        )
    });
    let protocols = Protocols { relay: gossipsub(&router).unwrap(), metadata: metadata.into() };
    swarm(&key, muxer, protocols)
}

/// A peer that writes what it wants on relay streams, one frame on each, and answers nothing.
pub fn relay_writer() -> Swarm<Behaviour<ToTheEnd>> {
    relay_writer_for(std::time::Duration::from_secs(90), ToTheEnd::default())
}

/// The same with a codec of the test, and which gives every stream up after a while.
pub fn relay_writer_for(patience: std::time::Duration, codec: ToTheEnd) -> Swarm<Behaviour<ToTheEnd>> {
    let relay = [(StreamProtocol::new(RELAY_PROTOCOL), ProtocolSupport::Full)];
    let streams = Config::default().with_request_timeout(patience);
    swarm(&Keypair::generate_ed25519(), &Muxer::Yamux, Behaviour::with_codec(codec, relay, streams))
}

fn swarm<B: NetworkBehaviour>(key: &Keypair, muxer: &Muxer, protocols: B) -> Swarm<B> {
    let idle = std::time::Duration::from_secs(600);
    let config = libp2p::swarm::Config::with_tokio_executor().with_idle_connection_timeout(idle);
    Swarm::new(transport(key, muxer), protocols, key.public().to_peer_id(), config)
}

fn transport(key: &Keypair, muxer: &Muxer) -> Boxed<(PeerId, StreamMuxerBox)> {
    let secure =
        tcp::tokio::Transport::default().upgrade(Version::V1Lazy).authenticate(noise::Config::new(key).unwrap());
    match muxer {
        Muxer::Yamux => secure
            .multiplex(yamux::Config::default())
            .map(|(peer, muxer), _| (peer, StreamMuxerBox::new(muxer)))
            .boxed(),
        Muxer::Mplex => secure
            .multiplex(libp2p_mplex::Config::default())
            .map(|(peer, muxer), _| (peer, StreamMuxerBox::new(muxer)))
            .boxed(),
    }
}

/// Dials and runs the swarm until the connection stands.
pub async fn connect<B: NetworkBehaviour>(swarm: &mut Swarm<B>, address: &Multiaddr) -> PeerId {
    swarm.dial(address.clone()).unwrap();
    event(swarm, |event| match event {
        SwarmEvent::ConnectionEstablished { peer_id, .. } => Some(peer_id),
        SwarmEvent::OutgoingConnectionError { error, .. } => panic!("{error}"),
        _ => None,
    })
    .await
}

/// Runs the swarm until an event is the one that is waited for.
pub async fn event<B: NetworkBehaviour, T>(
    swarm: &mut Swarm<B>,
    mut wanted: impl FnMut(SwarmEvent<B::ToSwarm>) -> Option<T>,
) -> T {
    within(async {
        loop {
            if let Some(found) = wanted(swarm.select_next_some().await) {
                return found;
            }
        }
    })
    .await
}

/// Runs the swarm while `work` is done.
pub async fn beside<B: NetworkBehaviour, T>(swarm: &mut Swarm<B>, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    within(async {
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = swarm.select_next_some() => {}
            }
        }
    })
    .await
}
