//! A socket that counts its bytes.

use std::io::{self, IoSlice, IoSliceMut};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::{AsyncRead, AsyncWrite};
use levada_engine::Counter;

use crate::counters::{SOCKET_BYTES_IN, SOCKET_BYTES_OUT};

/// Passes everything through and adds the bytes to the counters of the process.
pub(crate) struct Counted<S> {
    inner: S,
}

impl<S> Counted<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self { inner }
    }
}

fn count(counter: &Counter, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
    if let Poll::Ready(Ok(bytes)) = &outcome {
        counter.add(*bytes as u64);
    }
    outcome
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        count(&SOCKET_BYTES_IN, Pin::new(&mut self.inner).poll_read(cx, into))
    }

    fn poll_read_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        count(&SOCKET_BYTES_IN, Pin::new(&mut self.inner).poll_read_vectored(cx, into))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        count(&SOCKET_BYTES_OUT, Pin::new(&mut self.inner).poll_write(cx, from))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        count(&SOCKET_BYTES_OUT, Pin::new(&mut self.inner).poll_write_vectored(cx, from))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_close(cx)
    }
}
