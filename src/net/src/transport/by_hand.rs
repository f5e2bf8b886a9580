//! Connections in memory: what the peer sends is written by hand.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures::{AsyncRead, AsyncWrite};
use levada_wire::mux::{Codec, HEADER_BYTES_MAX, Header};
use libp2p::core::muxing::StreamMuxer;

use super::error::TransportError;
use super::mux::{Muxer, Substream};
use super::noise::Secure;

/// One direction of a pipe.
#[derive(Default)]
struct Lane {
    bytes: VecDeque<u8>,
    is_closed: bool,
    /// Takes nothing more.
    is_full: bool,
    reader: Option<Waker>,
}

/// One end of a pipe that takes any number of bytes.
pub(crate) struct Pipe {
    from: Arc<Mutex<Lane>>,
    to: Arc<Mutex<Lane>>,
}

pub(crate) fn pipe() -> (Pipe, Pipe) {
    let (one, other) = (Arc::<Mutex<Lane>>::default(), Arc::<Mutex<Lane>>::default());
    (Pipe { from: one.clone(), to: other.clone() }, Pipe { from: other, to: one })
}

#[cfg(test)]
impl Pipe {
    /// Changes what has been sent to this end and not been read.
    pub(crate) fn edit_unread(&self, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut lane = self.from.lock().expect("a lock");
        let mut bytes = Vec::from(std::mem::take(&mut lane.bytes));
        edit(&mut bytes);
        lane.bytes = bytes.into();
        lane.is_closed = true;
    }
}

impl AsyncRead for Pipe {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut lane = self.from.lock().expect("a lock");
        if lane.bytes.is_empty() && !lane.is_closed {
            lane.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(io::Read::read(&mut lane.bytes, into))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        let mut lane = self.to.lock().expect("a lock");
        if lane.is_full {
            return Poll::Pending;
        }
        lane.bytes.extend(from);
        if let Some(reader) = lane.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(from.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.to.lock().expect("a lock").is_closed = true;
        Poll::Ready(Ok(()))
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let mut lane = self.to.lock().expect("a lock");
        lane.is_closed = true;
        if let Some(reader) = lane.reader.take() {
            reader.wake();
        }
    }
}

const NEAR_KEY: [u8; 32] = [1; 32];
const FAR_KEY: [u8; 32] = [2; 32];

/// A connection and the bare channel at its other end.
pub(crate) struct Bench<C: Codec> {
    pub(crate) muxer: Muxer<Pipe, C>,
    pub(crate) peer: Secure<Pipe>,
}

/// How a poll with a waker that does nothing went.
type Turn = Poll<Result<(), TransportError>>;

impl<C: Codec> Bench<C> {
    pub(crate) fn new(codec: C) -> Self {
        let (near, far) = pipe();
        let secure = Secure::new(near, &NEAR_KEY, &FAR_KEY).expect("a channel");
        Self { muxer: Muxer::new(secure, codec), peer: Secure::new(far, &FAR_KEY, &NEAR_KEY).expect("a channel") }
    }

    /// The peer sends `bytes`, in records of its own.
    pub(crate) fn send(&mut self, mut bytes: &[u8]) {
        let cx = &mut Context::from_waker(Waker::noop());
        while !bytes.is_empty() {
            let room = self.peer.room(1).expect("room").min(bytes.len());
            self.peer.put(&bytes[..room]).expect("put");
            assert!(self.peer.poll_drain(cx).is_ready());
            bytes = &bytes[room..];
        }
    }

    /// Whether the way to the peer takes nothing more.
    pub(crate) fn set_full(&self, is_full: bool) {
        self.peer.socket_of_test().from.lock().expect("a lock").is_full = is_full;
    }

    /// Lets the connection work until it waits for the peer or for a reader.
    #[cfg(test)]
    pub(crate) fn turn(&mut self) -> Turn {
        // There are few bodies in a test.
        self.turns(64)
    }

    /// Lets the connection work so many times. A body is offered to its reader first; the second time it is moved out of the way.
    pub(crate) fn turns(&mut self, turns: usize) -> Turn {
        let cx = &mut Context::from_waker(Waker::noop());
        for _ in 0..turns {
            if let Poll::Ready(Err(error)) = Pin::new(&mut self.muxer).poll(cx) {
                return Poll::Ready(Err(error));
            }
        }
        Poll::Pending
    }

    pub(crate) fn accept(&mut self) -> Option<Substream<Pipe, C>> {
        match Pin::new(&mut self.muxer).poll_inbound(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(stream)) => Some(stream),
            _ => None,
        }
    }

    /// What the connection has sent and the peer has not read.
    pub(crate) fn received(&mut self) -> Vec<u8> {
        let cx = &mut Context::from_waker(Waker::noop());
        let mut bytes = Vec::new();
        while let Poll::Ready(Ok(true)) = self.peer.poll_fill(cx) {
            bytes.extend_from_slice(self.peer.plain());
            self.peer.consume(self.peer.plain().len());
        }
        bytes
    }
}

/// Reads once; `None` if the reader would wait.
pub(crate) fn read<C: Codec>(stream: &mut Substream<Pipe, C>, bytes: usize) -> Option<io::Result<Vec<u8>>> {
    let mut into = vec![0; bytes];
    match Pin::new(stream).poll_read(&mut Context::from_waker(Waker::noop()), &mut into) {
        Poll::Ready(outcome) => Some(outcome.map(|read| into[..read].to_vec())),
        Poll::Pending => None,
    }
}

/// The header of a frame as the peer's codec writes it.
pub(crate) fn header<C: Codec>(codec: &C, header: Header) -> Vec<u8> {
    let mut out = [0; HEADER_BYTES_MAX];
    let bytes = codec.encode(header, &mut out);
    out[..bytes].to_vec()
}
