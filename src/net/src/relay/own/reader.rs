//! Reads the stream of a peer. The data of a message goes from the stream into its slot and is not moved again, but for its first few
//! bytes, which may come along with what stands before them. Whenever something is full, this stream alone is not read, and the peer
//! feels it through the stream's window.

use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::AsyncRead;
use levada_engine::HeldUnique;
use levada_wire::gossipsub::stream::{FrameReader, Need};
use levada_wire::waku::WakuRecord;
use libp2p::PeerId;
use tokio::time::Sleep;

use super::arrivals::Arrivals;
use super::deliver::Parked;
use super::shared::Shared;
use crate::stall::Stalled;

/// Pause between two attempts to go on.
const AGAIN_AFTER: Duration = Duration::from_millis(1);
/// Bytes of control messages read at once.
const SCRATCH_BYTES: usize = 1_024;
/// Bytes read at once where the next few are numbers: what stands before the data of a long message on `/waku/2/rs/1/0`. One by
/// one they would take a call into the stream each.
const AHEAD_BYTES: usize = 27;
/// Bytes read before the connection's other work gets its turn.
const TURN_BYTES: usize = 1_024 * 1_024;

/// What handling a message or a control entry counts for in that: many small ones cost more than their bytes tell.
const HANDLED_BYTES: usize = 2_048;

/// Why a stream is no longer read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The peer has closed or lost it.
    Closed,
    /// What came on it does not parse.
    Malformed,
}

/// A stream that is read.
pub(crate) struct Reader<S> {
    stream: S,
    frame: FrameReader,
    slot: Option<HeldUnique<WakuRecord>>,
    arrivals: Arrivals,
    parked: Option<Parked>,
    stalled: Option<Stalled>,
    /// The stream is not read any more, and what has come on it is still to be delivered.
    ended: Option<Ended>,
    /// When to try again.
    again: Option<Pin<Box<Sleep>>>,
    scratch: [u8; SCRATCH_BYTES],
    /// What of it has been read and not been looked at.
    ahead: Range<usize>,
    is_known: bool,
}

impl<S: AsyncRead + Unpin> Reader<S> {
    pub(crate) fn new(stream: S, shared: &Shared) -> Self {
        Self {
            stream,
            frame: FrameReader::new(shared.frames),
            slot: None,
            arrivals: Arrivals::new(),
            parked: None,
            stalled: None,
            ended: None,
            again: None,
            scratch: [0; SCRATCH_BYTES],
            ahead: 0..0,
            is_known: false,
        }
    }

    /// What could not go on when the stream ends.
    pub(crate) fn take_parked(&mut self) -> Option<Parked> {
        self.parked.take()
    }

    /// Reads what there is, a turn at a time, and delivers what has come whole: no message waits for the next one.
    pub(crate) fn poll(&mut self, shared: &Shared, peer: &PeerId, cx: &mut Context<'_>) -> Poll<Ended> {
        let mut turn = TURN_BYTES;
        loop {
            self.deliver(shared, peer);
            if let Some(again) = &mut self.again {
                ready!(again.as_mut().poll(cx));
                self.again = None;
                continue;
            }
            if !self.is_known {
                self.is_known = shared.is_known(peer);
                if !self.is_known {
                    self.pause();
                    continue;
                }
            }
            if let Some(ended) = self.ended {
                return Poll::Ready(ended);
            }
            if turn == 0 {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if self.gather(shared, peer, &mut turn, cx).is_pending() && self.arrivals.is_empty() {
                return Poll::Pending;
            }
        }
    }

    /// Delivers what has come, until something is full; then there is a pause.
    fn deliver(&mut self, shared: &Shared, peer: &PeerId) {
        if let Some(parked) = self.parked.take_if(|_| self.again.is_none()) {
            if let Err(parked) = shared.resume(peer, parked) {
                return self.stall(shared, Some(parked));
            }
            self.stalled = None;
        }
        while self.parked.is_none()
            && let Some(message) = self.arrivals.take()
        {
            if let Err(parked) = shared.deliver(peer, message) {
                self.stall(shared, Some(parked));
            }
        }
    }

    /// Reads until the turn is over, or something must be done about what has come; pending if the stream has nothing more.
    fn gather(&mut self, shared: &Shared, peer: &PeerId, turn: &mut usize, cx: &mut Context<'_>) -> Poll<()> {
        while *turn > 0 && self.again.is_none() && !self.arrivals.is_full() {
            // What a control entry says may be about a message before it.
            if self.frame.need() == Need::Entry && !self.arrivals.is_empty() {
                break;
            }
            match ready!(self.step(shared, peer, cx)) {
                Ok(bytes) => *turn = turn.saturating_sub(bytes),
                Err(ended) => {
                    self.ended = Some(ended);
                    break;
                }
            }
        }
        Poll::Ready(())
    }

    /// Does what the frame needs next; gives the bytes that it counts for.
    fn step(&mut self, shared: &Shared, peer: &PeerId, cx: &mut Context<'_>) -> Poll<Result<usize, Ended>> {
        match self.frame.need() {
            Need::Bytes(bytes) => {
                if self.ahead.is_empty() {
                    let scratch = &mut self.scratch[..bytes.clamp(AHEAD_BYTES, SCRATCH_BYTES)];
                    match ready!(Pin::new(&mut self.stream).poll_read(cx, scratch)) {
                        Ok(0) | Err(_) => return Poll::Ready(Err(Ended::Closed)),
                        Ok(read) => self.ahead = 0..read,
                    }
                }
                let taken = self.take_ahead(bytes);
                if let Err(fault) = self.frame.feed(&self.scratch[taken.clone()]) {
                    tracing::debug!(%peer, %fault, "the relay stream does not parse");
                    return Poll::Ready(Err(Ended::Malformed));
                }
                Poll::Ready(Ok(taken.len()))
            }
            Need::Data { at, end } => {
                let taken = self.take_ahead(end - at);
                let Some(slot) = &mut self.slot else { return Poll::Ready(Err(Ended::Closed)) };
                let room = &mut slot.payload_mut()[at..end];
                if !taken.is_empty() {
                    room[..taken.len()].copy_from_slice(&self.scratch[taken.clone()]);
                    self.frame.has_read(taken.len());
                    return Poll::Ready(Ok(taken.len()));
                }
                match ready!(Pin::new(&mut self.stream).poll_read(cx, room)) {
                    Ok(0) | Err(_) => Poll::Ready(Err(Ended::Closed)),
                    Ok(read) => {
                        self.frame.has_read(read);
                        Poll::Ready(Ok(read))
                    }
                }
            }
            Need::Slot(bytes) => {
                self.claim(shared, bytes);
                Poll::Ready(Ok(0))
            }
            Need::Entry => {
                let heard = shared.hear(peer, self.frame.entry());
                self.frame.entry_done();
                Poll::Ready(heard.map(|()| HANDLED_BYTES).map_err(|fault| {
                    tracing::debug!(%peer, %fault, "a control message does not parse");
                    Ended::Malformed
                }))
            }
            Need::Message => {
                if let Some(message) = shared.arrive(peer, self.slot.take(), self.frame.message()) {
                    self.arrivals.push(message);
                }
                self.frame.message_done();
                Poll::Ready(Ok(HANDLED_BYTES))
            }
        }
    }

    /// The next bytes of what was read ahead, at most so many.
    fn take_ahead(&mut self, bytes: usize) -> Range<usize> {
        let start = self.ahead.start;
        self.ahead.start += bytes.min(self.ahead.len());
        start..self.ahead.start
    }

    fn claim(&mut self, shared: &Shared, bytes: usize) {
        match shared.claim(bytes) {
            Ok(slot) => {
                self.slot = Some(slot);
                self.stalled = None;
                self.frame.has_slot();
            }
            // The length was checked, so the arena is full.
            Err(_) => self.stall(shared, None),
        }
    }

    fn stall(&mut self, shared: &Shared, parked: Option<Parked>) {
        self.parked = parked;
        self.stalled.get_or_insert_with(|| Stalled::begin(&shared.stall));
        self.pause();
    }

    fn pause(&mut self) {
        self.again = Some(Box::pin(tokio::time::sleep(AGAIN_AFTER)));
    }
}
