//! A TCP socket that counts its bytes, on the worker of its connection.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::{AsyncRead, AsyncWrite};
use levada_engine::Counter;
use libp2p::core::ConnectedPoint;
use libp2p::tcp::tokio::TcpStream;

use crate::counters::{SOCKET_BYTES_IN, SOCKET_BYTES_OUT};
use crate::witness::{Step, note};
use crate::workers;

/// Passes everything through and adds the bytes to the counters of the process.
pub(crate) struct Socket(TcpStream);

impl Socket {
    /// The socket of a connection whose task is the calling one.
    ///
    /// A listener accepts on the swarm's runtime, which then waits for the socket; on a worker, that is changed here. A dialled socket is
    /// made where it stays.
    ///
    /// # Errors
    /// The system does not let the worker's runtime wait for the socket, which is closed then.
    pub(crate) fn settle(stream: TcpStream, point: &ConnectedPoint) -> io::Result<Self> {
        if point.is_dialer() || workers::here().is_none() {
            return Ok(Self(stream));
        }
        let socket = stream.0.into_std()?;
        Ok(Self(TcpStream(tokio::net::TcpStream::from_std(socket)?)))
    }
}

fn count(counter: &Counter, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
    if let Poll::Ready(Ok(bytes)) = &outcome {
        counter.add(*bytes as u64);
    }
    outcome
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        note(Step::Read);
        count(&SOCKET_BYTES_IN, Pin::new(&mut self.0).poll_read(cx, into))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        note(Step::Write);
        count(&SOCKET_BYTES_OUT, Pin::new(&mut self.0).poll_write(cx, from))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        note(Step::Write);
        count(&SOCKET_BYTES_OUT, Pin::new(&mut self.0).poll_write_vectored(cx, from))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}
