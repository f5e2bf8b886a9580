//! The connection as libp2p's swarm sees it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures::{AsyncRead, AsyncWrite};
use levada_wire::mux::Codec;
use libp2p::core::muxing::{StreamMuxer, StreamMuxerEvent};

use super::connection::Connection;
use super::substream::Substream;
use crate::transport::error::TransportError;
use crate::transport::noise::Secure;

/// What the muxer and its streams hold together.
pub(super) type Shared<S, C> = Arc<Mutex<Connection<S, C>>>;

/// A multiplexed connection. It must be polled for anything to happen, as the swarm does; when it is dropped the socket closes and
/// its streams fail.
pub(crate) struct Muxer<S: AsyncRead + AsyncWrite + Unpin, C: Codec> {
    shared: Shared<S, C>,
}

impl<S: AsyncRead + AsyncWrite + Unpin, C: Codec> Muxer<S, C> {
    pub(crate) fn new(secure: Secure<S>, codec: C) -> Self {
        Self { shared: Arc::new(Mutex::new(Connection::new(secure, codec))) }
    }

    /// Bytes that wait for readers, all streams together.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn waiting_bytes(&self) -> usize {
        lock(&self.shared).waiting_bytes
    }
}

/// No code panics while it holds the lock, and if some did, the connection would be closed by the swarm.
pub(super) fn lock<S, C>(shared: &Mutex<Connection<S, C>>) -> MutexGuard<'_, Connection<S, C>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: AsyncRead + AsyncWrite + Unpin, C: Codec> StreamMuxer for Muxer<S, C> {
    type Substream = Substream<S, C>;
    type Error = TransportError;

    fn poll_inbound(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Self::Substream, Self::Error>> {
        lock(&self.shared).poll_accept(cx).map_ok(|id| Substream::new(self.shared.clone(), id))
    }

    fn poll_outbound(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Self::Substream, Self::Error>> {
        lock(&self.shared).poll_open(cx).map_ok(|id| Substream::new(self.shared.clone(), id))
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        lock(&self.shared).poll_close(cx)
    }

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<StreamMuxerEvent, Self::Error>> {
        lock(&self.shared).poll_drive(cx).map(Err)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin, C: Codec> Drop for Muxer<S, C> {
    fn drop(&mut self) {
        lock(&self.shared).end(TransportError::Closed);
    }
}
