//! Connections between transports of any kind on loopback TCP, without a swarm.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use futures::{AsyncReadExt, AsyncWriteExt};
use levada_net::{Multiaddr, PeerId, TransportKind, build_transport};
use libp2p::Transport;
use libp2p::core::Endpoint;
use libp2p::core::muxing::{StreamMuxerBox, StreamMuxerExt, SubstreamBox};
use libp2p::core::transport::{Boxed, DialOpts, ListenerId, PortUse, TransportEvent};
use libp2p::core::upgrade::Version;
use libp2p::identity::Keypair;
use libp2p::{noise, tcp, yamux};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

pub type Connection = (PeerId, StreamMuxerBox);

/// Everything a test waits for comes long before this, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it came in time")
}

/// What a side of a connection is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Levada,
    StockYamux,
    StockMplex,
}

pub fn transport(side: Side, key: &Keypair) -> Boxed<Connection> {
    if side == Side::Levada {
        return build_transport(key, TransportKind::Levada, None).unwrap();
    }
    let secure = tcp::tokio::Transport::new(tcp::Config::new().nodelay(true))
        .upgrade(Version::V1Lazy)
        .authenticate(noise::Config::new(key).unwrap());
    if side == Side::StockYamux {
        return secure
            .multiplex(yamux::Config::default())
            .map(|(peer, muxer), _| (peer, StreamMuxerBox::new(muxer)))
            .boxed();
    }
    let mut mplex = libp2p_mplex::Config::default();
    mplex.set_max_buffer_behaviour(libp2p_mplex::MaxBufferBehaviour::Block);
    secure.multiplex(mplex).map(|(peer, muxer), _| (peer, StreamMuxerBox::new(muxer))).boxed()
}

/// Connects two sides and gives the dialler's end first. Each must have learned who the other one is.
///
/// The stock transport negotiates lazily: the dialler's end must run for the listener's to come about.
pub async fn connect(dialler: Side, listener: Side) -> (Driven, Driven) {
    let (dialler_key, listener_key) = (Keypair::generate_ed25519(), Keypair::generate_secp256k1());
    let mut listening = transport(listener, &listener_key);
    let mut dialling = transport(dialler, &dialler_key);
    listening.listen_on(ListenerId::next(), "/ip4/127.0.0.1/tcp/0".parse().unwrap()).unwrap();
    let address = within(poll_fn(|cx| match Pin::new(&mut listening).poll(cx) {
        Poll::Ready(TransportEvent::NewAddress { listen_addr, .. }) => Poll::Ready(listen_addr),
        other => panic!("{other:?}"),
    }))
    .await;
    let accepted = async {
        let upgrade = poll_fn(|cx| match Pin::new(&mut listening).poll(cx) {
            Poll::Ready(TransportEvent::Incoming { upgrade, .. }) => Poll::Ready(upgrade),
            _ => Poll::Pending,
        });
        let (id, muxer) = upgrade.await.await.unwrap();
        (id, Driven::new(muxer))
    };
    let dialled = async {
        let (id, muxer) = dial(&mut dialling, address).await;
        (id, Driven::new(muxer))
    };
    let ((listener_id, ours), (dialler_id, theirs)) = within(futures::future::join(dialled, accepted)).await;
    assert_eq!(listener_id, listener_key.public().to_peer_id());
    assert_eq!(dialler_id, dialler_key.public().to_peer_id());
    (ours, theirs)
}

async fn dial(transport: &mut Boxed<Connection>, address: Multiaddr) -> Connection {
    let how = DialOpts { role: Endpoint::Dialer, port_use: PortUse::New };
    transport.dial(address, how).unwrap().await.unwrap()
}

/// A muxer whose task runs.
pub struct Driven {
    opens: mpsc::UnboundedSender<oneshot::Sender<SubstreamBox>>,
    accepted: mpsc::UnboundedReceiver<SubstreamBox>,
    pub task: JoinHandle<io::Error>,
}

impl Driven {
    pub fn new(mut muxer: StreamMuxerBox) -> Self {
        let (opens, mut requests) = mpsc::unbounded_channel::<oneshot::Sender<SubstreamBox>>();
        let (accepts, accepted) = mpsc::unbounded_channel();
        let mut wanted: Option<oneshot::Sender<SubstreamBox>> = None;
        let task = tokio::spawn(poll_fn(move |cx| {
            loop {
                if let Poll::Ready(Err(error)) = muxer.poll_unpin(cx) {
                    return Poll::Ready(error);
                }
                match muxer.poll_inbound_unpin(cx) {
                    Poll::Ready(Ok(stream)) => {
                        _ = accepts.send(stream);
                        continue;
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(error),
                    Poll::Pending => {}
                }
                if wanted.is_none()
                    && let Poll::Ready(Some(request)) = requests.poll_recv(cx)
                {
                    wanted = Some(request);
                }
                if wanted.is_some()
                    && let Poll::Ready(opened) = muxer.poll_outbound_unpin(cx)
                {
                    match opened {
                        Ok(stream) => _ = wanted.take().unwrap().send(stream),
                        Err(error) => return Poll::Ready(error),
                    }
                    continue;
                }
                return Poll::Pending;
            }
        }));
        Self { opens, accepted, task }
    }

    pub async fn open(&self) -> SubstreamBox {
        let (send, receive) = oneshot::channel();
        self.opens.send(send).unwrap();
        within(receive).await.unwrap()
    }

    pub async fn accept(&mut self) -> SubstreamBox {
        within(self.accepted.recv()).await.unwrap()
    }
}

/// A stream of `from` as both sides see it; the first byte has announced it.
pub async fn stream(from: &Driven, to: &mut Driven) -> (SubstreamBox, SubstreamBox) {
    let mut near = from.open().await;
    near.write_all(&[7]).await.unwrap();
    near.flush().await.unwrap();
    let mut far = to.accept().await;
    let mut first = [0];
    within(far.read_exact(&mut first)).await.unwrap();
    assert_eq!(first, [7]);
    (near, far)
}

/// Bytes that differ along the way, so that an exchange of any two is seen.
pub fn pattern(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    std::iter::repeat_with(|| next().to_le_bytes()).flatten().take(bytes).collect()
}
