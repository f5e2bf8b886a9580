//! A stream as its user sees it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::{AsyncRead, AsyncWrite};
use levada_wire::mux::{Codec, StreamId};

use super::muxer::{Shared, lock};

/// One stream of a connection.
///
/// A read copies from the open record straight into the caller's slice, on through the records that have come, until the slice is
/// full or nothing is left: give it the slice where the bytes are to stay. A vectored write gathers its slices into one frame.
/// Dropping it before both sides have ended resets the stream.
pub(crate) struct Substream<S: AsyncRead + AsyncWrite + Unpin, C: Codec> {
    shared: Shared<S, C>,
    id: StreamId,
}

impl<S: AsyncRead + AsyncWrite + Unpin, C: Codec> Substream<S, C> {
    pub(super) fn new(shared: Shared<S, C>, id: StreamId) -> Self {
        Self { shared, id }
    }

    #[cfg(any(test, fuzzing))]
    pub(crate) fn id(&self) -> StreamId {
        self.id
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin, C: Codec> AsyncRead for Substream<S, C> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        lock(&self.shared).poll_read(self.id, cx, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin, C: Codec> AsyncWrite for Substream<S, C> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        lock(&self.shared).poll_write(self.id, cx, &[IoSlice::new(from)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        lock(&self.shared).poll_write(self.id, cx, from)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        lock(&self.shared).poll_flush(self.id, cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        lock(&self.shared).poll_finish(self.id, cx)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin, C: Codec> Drop for Substream<S, C> {
    fn drop(&mut self) {
        lock(&self.shared).forget(self.id);
    }
}
