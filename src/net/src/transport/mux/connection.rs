//! What the task of a connection and its streams share.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures::{AsyncRead, AsyncWrite};
use levada_wire::mux::{Codec, HEADER_BYTES_MAX, Header, StreamId};
use tokio::time::Sleep;

use super::limits::{STREAMS_MAX, UNTAKEN_MAX, WINDOWS_EXTRA_BYTES_MAX};
use super::reading::Incoming;
use super::stream::{OPENED_HERE, OPENED_THERE, Stream, keep_waker};
use crate::transport::counters::{MUXER_VIOLATIONS, STREAMS_REFUSED};
use crate::transport::error::TransportError;
use crate::transport::noise::Secure;
use crate::workers;

const CODE_NORMAL: u32 = 0;
const CODE_VIOLATION: u32 = 1;
/// The longest header that any codec reads.
const READ_HEADER_BYTES_MAX: usize = 16;

/// One connection under its lock.
pub(super) struct Connection<S, C> {
    pub(super) secure: Secure<S>,
    pub(super) codec: C,
    pub(super) streams: HashMap<StreamId, Stream>,
    /// The first bytes of a header that the rest of has not come; records may end anywhere.
    pub(super) partial: [u8; READ_HEADER_BYTES_MAX],
    pub(super) partial_bytes: usize,
    /// The body that comes next.
    pub(super) incoming: Option<Incoming>,
    /// Runs while a body waits for a reader where there is no flow control.
    pub(super) patience: Option<Pin<Box<Sleep>>>,
    /// The sum of what waits in all streams.
    pub(super) waiting_bytes: usize,
    /// By how much windows may still grow.
    pub(super) extra: u64,
    /// Streams that found no room, in the order in which they came.
    pub(super) writers: VecDeque<StreamId>,
    untaken: VecDeque<StreamId>,
    open_ours: usize,
    open_theirs: usize,
    /// The stream that was told last that it does not exist; it is told once.
    pub(super) last_refused: Option<StreamId>,
    pub(super) driver: Option<Waker>,
    /// The worker of the connection's task, if that is on one. Others leave socket and records to it.
    home: Option<usize>,
    acceptor: Option<Waker>,
    opener: Option<Waker>,
    /// The driver was woken because something waits to be sent or read, and has not had its turn.
    is_nudged: bool,
    /// Set when the connection has ended; every stream fails with it.
    pub(super) ended: Option<io::ErrorKind>,
    /// Why, until the driver has been told.
    failure: Option<TransportError>,
    /// The peer has said goodbye: no streams are opened any more.
    pub(super) is_peer_leaving: bool,
    has_said_goodbye: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin, C: Codec> Connection<S, C> {
    pub(super) fn new(secure: Secure<S>, codec: C) -> Self {
        const { assert!(C::READ_BYTES_MAX <= READ_HEADER_BYTES_MAX) };
        Self {
            secure,
            codec,
            streams: HashMap::new(),
            partial: [0; READ_HEADER_BYTES_MAX],
            partial_bytes: 0,
            incoming: None,
            patience: None,
            waiting_bytes: 0,
            extra: WINDOWS_EXTRA_BYTES_MAX,
            writers: VecDeque::new(),
            untaken: VecDeque::new(),
            open_ours: 0,
            open_theirs: 0,
            last_refused: None,
            driver: None,
            home: None,
            acceptor: None,
            opener: None,
            is_nudged: false,
            ended: None,
            failure: None,
            is_peer_leaving: false,
            has_said_goodbye: false,
        }
    }

    /// One turn of the connection's task. Pending unless the connection has ended.
    pub(super) fn poll_drive(&mut self, cx: &mut Context<'_>) -> Poll<TransportError> {
        keep_waker(&mut self.driver, cx);
        self.home = workers::here();
        self.is_nudged = false;
        if self.ended.is_none()
            && let Err(error) = self.drive(cx)
        {
            self.fail(error, cx);
        }
        match self.ended {
            None => Poll::Pending,
            Some(_) => Poll::Ready(self.failure.take().unwrap_or(TransportError::Closed)),
        }
    }

    fn drive(&mut self, cx: &mut Context<'_>) -> Result<(), TransportError> {
        _ = self.poll_drain(cx)?;
        self.advance(cx, None)?;
        // What was read may have been answered.
        _ = self.poll_drain(cx)?;
        Ok(())
    }

    /// The next stream that the peer has opened.
    pub(super) fn poll_accept(&mut self, cx: &Context<'_>) -> Poll<Result<StreamId, TransportError>> {
        if let Some(id) = self.untaken.pop_front() {
            return Poll::Ready(Ok(id));
        }
        if self.ended.is_some() {
            return Poll::Ready(Err(self.failure.take().unwrap_or(TransportError::Closed)));
        }
        keep_waker(&mut self.acceptor, cx);
        Poll::Pending
    }

    /// A new stream of ours; the peer learns of it with the first frame.
    pub(super) fn poll_open(&mut self, cx: &Context<'_>) -> Poll<Result<StreamId, TransportError>> {
        if self.ended.is_some() || self.is_peer_leaving {
            return Poll::Ready(Err(self.failure.take().unwrap_or(TransportError::Closed)));
        }
        if self.open_ours >= STREAMS_MAX {
            keep_waker(&mut self.opener, cx);
            return Poll::Pending;
        }
        let Some(id) = self.codec.next_id() else { return Poll::Ready(Err(TransportError::Closed)) };
        self.open_ours += 1;
        self.streams.insert(id, Stream::new(OPENED_HERE, C::WINDOW_BYTES.unwrap_or(u32::MAX)));
        Poll::Ready(Ok(id))
    }

    /// The peer has opened a stream.
    pub(super) fn on_opened(&mut self, id: StreamId) -> Result<(), TransportError> {
        if id.is_ours {
            return Err(violation::<C>("a stream is opened with a number of the other side"));
        }
        if self.streams.contains_key(&id) {
            return Err(violation::<C>("a stream is opened twice"));
        }
        if self.open_theirs >= STREAMS_MAX || self.untaken.len() >= UNTAKEN_MAX || self.has_said_goodbye {
            STREAMS_REFUSED.add(1);
            return self.refuse(id);
        }
        self.open_theirs += 1;
        self.streams.insert(id, Stream::new(OPENED_THERE, C::WINDOW_BYTES.unwrap_or(u32::MAX)));
        self.untaken.push_back(id);
        if let Some(waker) = self.acceptor.take() {
            waker.wake();
        }
        Ok(())
    }

    /// Tells the peer that there is no such stream (any more), if that was not the last thing it was told.
    pub(super) fn refuse(&mut self, id: StreamId) -> Result<(), TransportError> {
        if self.last_refused.replace(id) == Some(id) { Ok(()) } else { self.put_header(Header::Reset(id)) }
    }

    /// A stream is held by nobody any more.
    pub(super) fn forget(&mut self, id: StreamId) {
        let Some(stream) = self.streams.remove(&id) else { return };
        self.waiting_bytes -= stream.waiting.len();
        self.extra += u64::from(stream.window_max - C::WINDOW_BYTES.unwrap_or(u32::MAX));
        *(if id.is_ours { &mut self.open_ours } else { &mut self.open_theirs }) -= 1;
        if let Some(waker) = self.opener.take() {
            waker.wake();
        }
        if self.ended.is_some() {
            return;
        }
        let goodbye = match stream {
            // The peer never heard of it.
            Stream { greeting, .. } if greeting.opens => None,
            Stream { is_reset: true, .. } => None,
            Stream { is_ended: true, is_finished: false, greeting, .. } => Some(Header::Finish(id, greeting)),
            Stream { is_finished: false, .. } => Some(Header::Reset(id)),
            // A peer that can still send will be told when it does; one that cannot would wait for ever.
            Stream { is_ended: false, window: 0, .. } => Some(Header::Reset(id)),
            _ => None,
        };
        if let Some(header) = goodbye
            && let Err(error) = self.put_header(header)
        {
            self.end(error);
        }
        self.nudge();
        self.leave_rest();
    }

    /// Gathers a frame without a body.
    pub(super) fn put_header(&mut self, header: Header) -> Result<(), TransportError> {
        let mut bytes = [0; HEADER_BYTES_MAX];
        let length = self.codec.encode(header, &mut bytes);
        self.secure.put(&bytes[..length])
    }

    /// Sends what was gathered as far as the socket takes it; writers that wait for room are woken when all of it is out.
    pub(super) fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        let drained = self.secure.poll_drain(cx)?;
        if drained.is_ready() {
            while let Some(id) = self.writers.pop_front() {
                if let Some(stream) = self.streams.get_mut(&id) {
                    stream.wake_writer();
                }
            }
        }
        drained.map(Ok)
    }

    /// Says goodbye, sends what was gathered, and closes.
    pub(super) fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        if self.ended.is_some() {
            return Poll::Ready(Ok(()));
        }
        if !self.has_said_goodbye {
            self.has_said_goodbye = true;
            self.put_header(Header::GoAway(CODE_NORMAL))?;
        }
        std::task::ready!(self.secure.poll_finish(cx))?;
        self.end(TransportError::Closed);
        Poll::Ready(Ok(()))
    }

    /// Ends the connection because of `error`, and tells a peer that is to blame.
    pub(super) fn fail(&mut self, error: TransportError, cx: &mut Context<'_>) {
        if let TransportError::Violation { muxer, rule } = &error {
            MUXER_VIOLATIONS.add(1);
            tracing::debug!(muxer, rule, "the peer broke the rules of its muxer");
            // It may be too late for that; the connection ends in any case.
            if self.put_header(Header::GoAway(CODE_VIOLATION)).is_ok() {
                _ = self.secure.poll_drain(cx);
            }
        }
        self.end(error);
    }

    /// Closes the socket and wakes everybody.
    pub(super) fn end(&mut self, error: TransportError) {
        if self.ended.is_some() {
            return;
        }
        self.ended = Some(error.kind());
        self.failure = Some(error);
        self.secure.abandon();
        self.patience = None;
        for stream in self.streams.values_mut() {
            stream.wake_reader();
            stream.wake_writer();
        }
        for waker in [&mut self.driver, &mut self.acceptor, &mut self.opener] {
            if let Some(waker) = waker.take() {
                waker.wake();
            }
        }
    }

    pub(super) fn wake_driver(&self) {
        if let Some(driver) = &self.driver {
            driver.wake_by_ref();
        }
    }

    /// Has the connection's task send what was gathered, if nobody else does it first.
    pub(super) fn nudge(&mut self) {
        if !self.secure.is_drained() {
            self.call_driver();
        }
    }

    /// Has the connection's task go on with what a reader left: it may be for others, and the socket may have more.
    pub(super) fn leave_rest(&mut self) {
        if self.ended.is_none() && self.secure.has_more() {
            self.call_driver();
        }
    }

    fn call_driver(&mut self) {
        if !std::mem::replace(&mut self.is_nudged, true) {
            self.wake_driver();
        }
    }

    /// Whether the calling thread may read, open, seal and write: it is the connection's worker, or there are none.
    pub(super) fn is_home(&self) -> bool {
        self.home.is_none() || self.home == workers::here()
    }

    /// The waker that the socket is to know, whoever polls: the one of the connection's task.
    pub(super) fn driver_or(&self, cx: &Context<'_>) -> Waker {
        self.driver.as_ref().unwrap_or(cx.waker()).clone()
    }
}

/// The peer broke a rule.
pub(super) fn violation<C: Codec>(rule: &'static str) -> TransportError {
    TransportError::Violation { muxer: C::NAME, rule }
}
