//! A socket with the record layer on it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::{AsyncRead, AsyncWrite};

use super::aead::{Aead, Cipher, KEY_BYTES};
use super::opener::Opener;
use super::sealer::Sealer;
use crate::transport::counters::RECORDS_REFUSED;
use crate::transport::error::TransportError;

/// An authenticated, encrypted connection.
///
/// It reads like an `AsyncBufRead`: [`Secure::poll_fill`] until there is plaintext, [`Secure::plain`] to see it,
/// [`Secure::consume`] to be done with it. It writes in two steps: [`Secure::put`] gathers, [`Secure::poll_drain`] seals and sends.
/// For negotiations, which need no speed, it is an `AsyncRead` and `AsyncWrite` as well.
pub(crate) struct Secure<S> {
    /// `None` once the connection is given up, so that the system's socket closes although streams may still be held.
    socket: Option<S>,
    opener: Opener,
    sealer: Sealer,
    /// Something was written since the socket was last flushed.
    is_unflushed: bool,
    /// The socket had nothing when it was read last, and knows whom to wake.
    is_awaited: bool,
    /// A record of the peer was refused, and counted.
    has_refused: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Secure<S> {
    /// The connection on `socket` whose directions have these keys, and whose counters start at zero.
    pub(crate) fn new(socket: S, send: &[u8; KEY_BYTES], receive: &[u8; KEY_BYTES]) -> Result<Self, TransportError> {
        let cipher = |key| Cipher::new(key).map_err(|_| TransportError::Seal);
        let (sealer, opener) = (Sealer::new(cipher(send)?), Opener::new(cipher(receive)?));
        Ok(Self { socket: Some(socket), opener, sealer, is_unflushed: false, is_awaited: false, has_refused: false })
    }

    #[cfg(any(test, fuzzing))]
    pub(crate) fn socket_of_test(&self) -> &S {
        self.socket.as_ref().expect("a socket")
    }

    /// What is left of the record that is open.
    pub(crate) fn plain(&self) -> &[u8] {
        self.opener.plain()
    }

    /// The caller is done with `bytes` of [`Secure::plain`].
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.opener.consume(bytes);
    }

    /// Reads until [`Secure::plain`] is not empty; `false` at the end of the connection.
    ///
    /// # Errors
    ///
    /// [`TransportError::Io`], also when the connection ends inside of a record, or the reason why a record was refused.
    pub(crate) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, TransportError>> {
        loop {
            if !self.opener.plain().is_empty() {
                return Poll::Ready(Ok(true));
            }
            match self.opener.open_next() {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => {
                    self.has_refused = true;
                    RECORDS_REFUSED.add(1);
                    return Poll::Ready(Err(error));
                }
            }
            let socket = self.socket.as_mut().ok_or(TransportError::Closed)?;
            let outcome = Pin::new(socket).poll_read(cx, self.opener.space()?);
            self.is_awaited = outcome.is_pending();
            match ready!(outcome)? {
                0 if self.opener.is_inside_record() => {
                    return Poll::Ready(Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()));
                }
                0 => return Poll::Ready(Ok(false)),
                bytes => self.opener.received(bytes),
            }
        }
    }

    /// Whether a record of the peer was refused.
    pub(crate) fn has_refused(&self) -> bool {
        self.has_refused
    }

    /// Whether there may be something to read that no waker will tell of.
    pub(crate) fn has_more(&self) -> bool {
        !self.is_awaited || !self.opener.plain().is_empty()
    }

    /// How many bytes can be put now; less than `wanted` only if the socket must take some first.
    pub(crate) fn room(&mut self, wanted: usize) -> Result<usize, TransportError> {
        let room = self.sealer.room();
        if room >= wanted {
            return Ok(room);
        }
        // The open record may be what is full.
        self.sealer.seal()?;
        Ok(self.sealer.room())
    }

    /// Gathers `bytes`: within [`Secure::room`], or a header.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), TransportError> {
        self.sealer.put(bytes)
    }

    /// Bytes that were put and that the socket has not taken.
    pub(crate) fn gathered(&self) -> usize {
        self.sealer.gathered()
    }

    /// Whether the socket has everything that was put.
    pub(crate) fn is_drained(&self) -> bool {
        self.sealer.gathered() == 0 && !self.is_unflushed
    }

    /// Seals what was put and gives all of it to the socket.
    pub(crate) fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        self.sealer.seal()?;
        let socket = self.socket.as_mut().ok_or(TransportError::Closed)?;
        while !self.sealer.pending().is_empty() {
            match ready!(Pin::new(&mut *socket).poll_write(cx, self.sealer.pending()))? {
                0 => return Poll::Ready(Err(io::Error::from(io::ErrorKind::WriteZero).into())),
                bytes => self.sealer.sent(bytes),
            }
            self.is_unflushed = true;
        }
        if self.is_unflushed {
            ready!(Pin::new(socket).poll_flush(cx))?;
            self.is_unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Sends what was put, then the end.
    pub(crate) fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        ready!(self.poll_drain(cx))?;
        let socket = self.socket.as_mut().ok_or(TransportError::Closed)?;
        Pin::new(socket).poll_close(cx).map_err(TransportError::from)
    }

    /// Closes the system's socket at once. Everything fails with [`TransportError::Closed`] from here on.
    pub(crate) fn abandon(&mut self) {
        self.socket = None;
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Secure<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        if !ready!(self.poll_fill(cx))? {
            return Poll::Ready(Ok(0));
        }
        let plain = self.plain();
        let bytes = plain.len().min(into.len());
        into[..bytes].copy_from_slice(&plain[..bytes]);
        self.consume(bytes);
        Poll::Ready(Ok(bytes))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Secure<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        if self.room(1)? == 0 {
            ready!(self.poll_drain(cx))?;
        }
        let bytes = from.len().min(self.room(1)?);
        self.put(&from[..bytes])?;
        Poll::Ready(Ok(bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_drain(cx).map_err(io::Error::from)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_finish(cx).map_err(io::Error::from)
    }
}
