//! From records to readers.

use std::io;
use std::task::{Context, Poll};

use futures::{AsyncRead, AsyncWrite};
use levada_engine::copy;
use levada_wire::mux::{Body, Codec, Frame, Header, StreamId};

use super::connection::{Connection, violation};
use super::limits::{READER_PATIENCE, UNWINDOWED_BYTES_MAX, WAITING_BYTES_MAX};
use super::stream::keep_waker;
use crate::transport::counters::{SPILLED_BYTES, STREAMS_OVERFLOWED};
use crate::transport::error::TransportError;

/// So much may be answered before the answers are sent.
const ANSWERS_BYTES: usize = 4 * 1_024;

/// The body of the frame whose header came last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Incoming {
    /// Whose bytes they are; `None` if nobody wants them.
    to: Option<StreamId>,
    left: u32,
    finishes: bool,
    /// The reader was woken for what is left, and has a turn of the connection's task to come.
    is_offered: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin, C: Codec> Connection<S, C> {
    /// Reads for stream `id`.
    pub(super) fn poll_read(&mut self, id: StreamId, cx: &Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let Some(stream) = self.streams.get_mut(&id) else {
            return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
        };
        if stream.is_reset {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if into.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let kept = stream.take_waiting(into);
        if kept > 0 {
            self.waiting_bytes -= kept;
            self.on_kept_read(id);
        }
        let waker = self.driver_or(cx);
        let driver = &mut Context::from_waker(&waker);
        let outcome = if self.is_home() {
            self.read_on(id, driver, into, kept)
        } else {
            // The connection's task moves what comes out of its way, and wakes the reader.
            self.give_credit(id, kept).map(|()| kept)
        };
        let bytes = match outcome {
            Ok(bytes) => bytes,
            Err(error) => {
                self.fail(error, driver);
                kept
            }
        };
        self.nudge();
        self.leave_rest();
        self.conclude_read(id, cx, bytes)
    }

    /// Fills `into` behind its first `filled` bytes from what the socket has.
    fn read_on(
        &mut self,
        id: StreamId,
        cx: &mut Context<'_>,
        into: &mut [u8],
        mut filled: usize,
    ) -> Result<usize, TransportError> {
        while self.ended.is_none() && filled < into.len() && self.advance(cx, Some(id))? {
            let Some(incoming) = &mut self.incoming else { break };
            match self.secure.poll_fill(cx)? {
                Poll::Ready(true) => {}
                Poll::Ready(false) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Poll::Pending => break,
            }
            let plain = self.secure.plain();
            let bytes = plain.len().min(incoming.left as usize).min(into.len() - filled);
            copy::copy(&plain[..bytes], &mut into[filled..filled + bytes]);
            self.secure.consume(bytes);
            incoming.left -= bytes as u32;
            incoming.is_offered = false;
            filled += bytes;
        }
        if self.incoming.is_some_and(|incoming| incoming.left == 0) {
            self.on_body_end();
        }
        self.give_credit(id, filled)?;
        Ok(filled)
    }

    /// What a reader gets that has `bytes` so far.
    fn conclude_read(&mut self, id: StreamId, cx: &Context<'_>, bytes: usize) -> Poll<io::Result<usize>> {
        if bytes > 0 {
            return Poll::Ready(Ok(bytes));
        }
        let Some(stream) = self.streams.get_mut(&id) else {
            return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
        };
        if stream.is_ended {
            return Poll::Ready(Ok(0));
        }
        if stream.is_reset {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if let Some(kind) = self.ended {
            return Poll::Ready(Err(kind.into()));
        }
        keep_waker(&mut stream.reader, cx);
        self.greet(id)
    }

    /// A reader that waits for the peer's first bytes waits in vain while the peer does not know the stream.
    fn greet(&mut self, id: StreamId) -> Poll<io::Result<usize>> {
        if let Some(stream) = self.streams.get_mut(&id)
            && stream.greeting.opens
        {
            let greeting = stream.greet();
            if let Err(error) = self.put_header(Header::Credit(id, greeting, 0)) {
                self.end(error);
            }
            self.nudge();
        }
        Poll::Pending
    }

    /// The reader took something that waited; a connection that stood still for its sake goes on.
    fn on_kept_read(&mut self, id: StreamId) {
        if self.patience.is_some() && self.incoming.is_some_and(|incoming| incoming.to == Some(id)) {
            self.patience = None;
            self.wake_driver();
        }
    }

    fn give_credit(&mut self, id: StreamId, bytes: usize) -> Result<(), TransportError> {
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        if C::WINDOW_BYTES.is_none() || bytes == 0 {
            return Ok(());
        }
        let Some(credit) = stream.read(u32::try_from(bytes).unwrap_or(u32::MAX), &mut self.extra) else {
            return Ok(());
        };
        let greeting = stream.greet();
        self.put_header(Header::Credit(id, greeting, credit))
    }

    /// Works through what has come until bytes for `wanted` are next (`true`), or nothing more can be done now.
    pub(super) fn advance(&mut self, cx: &mut Context<'_>, wanted: Option<StreamId>) -> Result<bool, TransportError> {
        loop {
            let Some(incoming) = self.incoming else {
                if self.secure.gathered() > ANSWERS_BYTES {
                    _ = self.poll_drain(cx)?;
                }
                match self.poll_frame(cx)? {
                    Poll::Pending => return Ok(false),
                    Poll::Ready(frame) => self.on_frame(frame)?,
                }
                continue;
            };
            if incoming.left == 0 {
                self.on_body_end();
            } else if incoming.to.is_some() && incoming.to == wanted {
                return Ok(true);
            } else if !self.set_aside(incoming, cx)? {
                return Ok(false);
            }
        }
    }

    /// Moves what has come of a body out of the way; `false` if that is not possible, or not yet.
    fn set_aside(&mut self, incoming: Incoming, cx: &mut Context<'_>) -> Result<bool, TransportError> {
        let reader = incoming.to.and_then(|id| Some((id, self.streams.get_mut(&id)?)));
        if let Some((_, stream)) = reader
            && !incoming.is_offered
        {
            stream.wake_reader();
            self.incoming = Some(Incoming { is_offered: true, ..incoming });
            self.wake_driver();
            return Ok(false);
        }
        match self.secure.poll_fill(cx)? {
            Poll::Ready(true) => {}
            Poll::Ready(false) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Poll::Pending => return Ok(false),
        }
        let bytes = self.secure.plain().len().min(incoming.left as usize);
        let mut to = incoming.to;
        if let Some(id) = to {
            match self.keep(id, bytes, cx) {
                Kept::Yes => {}
                Kept::NotYet => return Ok(false),
                Kept::Never => {
                    self.patience = None;
                    to = None;
                }
            }
        }
        self.secure.consume(bytes);
        self.incoming = Some(Incoming { to, left: incoming.left - bytes as u32, ..incoming });
        Ok(true)
    }

    /// Keeps `bytes` of the open record for the reader of `id`, if there is room.
    fn keep(&mut self, id: StreamId, bytes: usize, cx: &mut Context<'_>) -> Kept {
        let Some(stream) = self.streams.get_mut(&id) else { return Kept::Never };
        if stream.is_reset {
            return Kept::Never;
        }
        let is_full = C::WINDOW_BYTES.is_none() && stream.waiting.len() + bytes > UNWINDOWED_BYTES_MAX;
        if is_full {
            let patience = self.patience.get_or_insert_with(|| Box::pin(tokio::time::sleep(READER_PATIENCE)));
            if patience.as_mut().poll(cx).is_pending() {
                return Kept::NotYet;
            }
        }
        self.patience = None;
        if is_full || self.waiting_bytes + bytes > WAITING_BYTES_MAX {
            STREAMS_OVERFLOWED.add(1);
            self.waiting_bytes -= stream.reset();
            if let Err(error) = self.put_header(Header::Reset(id)) {
                self.end(error);
            }
            return Kept::Never;
        }
        stream.waiting.extend(&self.secure.plain()[..bytes]);
        stream.wake_reader();
        self.waiting_bytes += bytes;
        SPILLED_BYTES.add(bytes as u64);
        Kept::Yes
    }

    fn on_body_end(&mut self) {
        if let Some(incoming) = self.incoming.take()
            && incoming.finishes
            && let Some(stream) = incoming.to.and_then(|id| self.streams.get_mut(&id))
        {
            stream.is_ended = true;
            stream.wake_reader();
        }
    }

    /// Reads one header; it may be spread over records.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Frame, TransportError>> {
        loop {
            if !std::task::ready!(self.secure.poll_fill(cx))? {
                let is_inside = self.partial_bytes > 0;
                let error = if is_inside {
                    io::Error::from(io::ErrorKind::UnexpectedEof).into()
                } else {
                    TransportError::Closed
                };
                return Poll::Ready(Err(error));
            }
            let plain = self.secure.plain();
            if self.partial_bytes == 0
                && let Some((frame, bytes)) = self.codec.decode(plain)?
            {
                self.secure.consume(bytes);
                return Poll::Ready(Ok(frame));
            }
            let before = self.partial_bytes;
            let taken = plain.len().min(C::READ_BYTES_MAX - before);
            self.partial[before..before + taken].copy_from_slice(&plain[..taken]);
            match self.codec.decode(&self.partial[..before + taken])? {
                Some((frame, bytes)) => {
                    self.secure.consume(bytes - before);
                    self.partial_bytes = 0;
                    return Poll::Ready(Ok(frame));
                }
                None if before + taken == C::READ_BYTES_MAX => {
                    return Poll::Ready(Err(violation::<C>("a header does not end")));
                }
                None => {
                    self.secure.consume(taken);
                    self.partial_bytes = before + taken;
                }
            }
        }
    }

    fn on_frame(&mut self, frame: Frame) -> Result<(), TransportError> {
        match frame {
            Frame::Ping(value) => self.put_header(Header::Pong(value)),
            Frame::Pong => Ok(()),
            Frame::GoAway(0) => {
                self.is_peer_leaving = true;
                Ok(())
            }
            Frame::GoAway(code) => Err(TransportError::GoneAway { code }),
            Frame::Stream { id, opens, body, finishes, resets } => {
                if opens {
                    self.on_opened(id)?;
                }
                self.on_body(id, body, finishes)?;
                if resets {
                    self.on_reset(id);
                }
                Ok(())
            }
        }
    }

    fn on_body(&mut self, id: StreamId, body: Body, finishes: bool) -> Result<(), TransportError> {
        let (to, left) = match body {
            Body::Credit(bytes) => {
                if let Some(stream) = self.streams.get_mut(&id) {
                    stream.credit = stream.credit.saturating_add(bytes);
                    stream.wake_writer();
                }
                (Some(id), 0)
            }
            Body::Ignored(bytes) => (finishes.then_some(id), bytes),
            Body::Data(bytes) => match self.streams.get_mut(&id) {
                Some(stream) => {
                    if C::WINDOW_BYTES.is_some() {
                        stream.window = stream
                            .window
                            .checked_sub(bytes)
                            .ok_or(violation::<C>("more is sent than the window allows"))?;
                    }
                    ((!stream.is_ended && !stream.is_reset).then_some(id), bytes)
                }
                None => {
                    // The end of a stream that we have left tells that the peer has left it as well.
                    if bytes > 0 && !finishes {
                        self.refuse(id)?;
                    }
                    (None, bytes)
                }
            },
        };
        self.incoming = Some(Incoming { to, left, finishes, is_offered: false });
        Ok(())
    }

    fn on_reset(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(&id) {
            self.waiting_bytes -= stream.reset();
        }
        if let Some(incoming) = &mut self.incoming {
            incoming.to = None;
        }
    }
}

/// Whether bytes were kept for a reader.
enum Kept {
    Yes,
    /// Its reader is given time.
    NotYet,
    /// The stream is dead.
    Never,
}
