//! TCP and WebSocket, and on them either libp2p's stock upgrades or our own: Noise, and yamux or mplex.

#[cfg(test)]
mod by_hand;
pub mod counters;
pub mod error;
#[cfg(test)]
mod fuzzing;
mod gathered;
mod mux;
mod noise;
mod socket;
mod stock;
mod tls;
mod upgrade;

use std::fmt;
use std::future::ready;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use libp2p::core::muxing::StreamMuxerBox;
use libp2p::core::transport::timeout::TransportTimeout;
use libp2p::core::transport::{Boxed, OrTransport, Transport};
use libp2p::core::{ConnectedPoint, Endpoint};
use libp2p::dns::{ResolverConfig, ResolverOpts};
use libp2p::identity::Keypair;
use libp2p::{PeerId, dns, tcp, websocket};

use crate::error::NetError;
use noise::NoiseKeys;
use socket::Socket;
pub use tls::{TlsError, TlsFiles};

/// From the first byte to a multiplexed, authenticated connection. nwaku gives up after the same time.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Noise records are at most 64 KiB; an implementation may put a few of them into one WebSocket frame.
const WEBSOCKET_FRAME_BYTES_MAX: usize = 4 * 1_024 * 1_024;

/// Whose implementation of Noise, yamux and mplex secures and divides connections. On the wire both are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TransportKind {
    /// Our own, which copies a payload once in each direction.
    #[default]
    Levada,
    /// The one that comes with rust-libp2p.
    Stock,
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Levada => "levada",
            Self::Stock => "stock",
        })
    }
}

/// A text that names no transport.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no transport; write levada or stock")]
pub struct UnknownTransport(pub String);

impl FromStr for TransportKind {
    type Err = UnknownTransport;

    fn from_str(text: &str) -> Result<Self, UnknownTransport> {
        match text {
            "levada" => Ok(Self::Levada),
            "stock" => Ok(Self::Stock),
            _ => Err(UnknownTransport(text.to_owned())),
        }
    }
}

/// The transport of a node with the identity `keypair`, for listening and for dialling. Must be called inside of a tokio runtime.
///
/// # Errors
///
/// [`NetError`] if the keys of the secure channel cannot be made from the identity, or those of TLS from the files.
pub fn build(
    keypair: &Keypair,
    kind: TransportKind,
    websocket_tls: Option<&TlsFiles>,
) -> Result<Boxed<(PeerId, StreamMuxerBox)>, NetError> {
    let mut websocket = websocket::Config::new(resolving());
    websocket.set_max_data_size(WEBSOCKET_FRAME_BYTES_MAX);
    if let Some(files) = websocket_tls {
        websocket.set_tls_config(files.load()?);
    }
    let socket = OrTransport::new(websocket, resolving());
    match kind {
        TransportKind::Stock => Ok(TransportTimeout::new(stock::upgrade(socket, keypair)?, HANDSHAKE_TIMEOUT).boxed()),
        TransportKind::Levada => {
            let keys = Arc::new(NoiseKeys::new(keypair, &upgrade::MUXERS)?);
            let upgraded = socket
                .and_then(move |socket, point| upgrade::upgrade(socket, keys.clone(), is_initiator(&point)).boxed());
            Ok(TransportTimeout::new(upgraded, HANDSHAKE_TIMEOUT).boxed())
        }
    }
}

/// Two sides that dial each other at once agree beforehand on who plays the listener.
fn is_initiator(point: &ConnectedPoint) -> bool {
    matches!(point, ConnectedPoint::Dialer { role_override: Endpoint::Dialer, .. })
}

/// TCP without Nagle's delay, with names resolved as the system does.
///
/// A machine without a readable resolver configuration can still dial numeric addresses, so that is no reason not to start.
fn resolving() -> dns::tokio::Transport<
    impl Transport<Output = Socket, Error = std::io::Error, Dial: Send, ListenerUpgrade: Send> + Send + Unpin,
> {
    let settled = || {
        tcp::tokio::Transport::new(tcp::Config::new().nodelay(true))
            .and_then(|stream, point| ready(Socket::settle(stream, &point)))
            .map_err(|error| error.into_inner())
    };
    dns::tokio::Transport::system(settled()).unwrap_or_else(|error| {
        tracing::warn!(%error, "no resolver configuration: only numeric addresses can be dialled");
        dns::tokio::Transport::custom(settled(), ResolverConfig::default(), ResolverOpts::default())
    })
}
