//! The state of one stream.

use std::collections::VecDeque;
use std::task::{Context, Waker};

use levada_wire::mux::Greeting;

use super::limits::WINDOW_BYTES_MAX;

/// One stream, as the connection knows it.
pub(super) struct Stream {
    /// What has come and nobody was there to read.
    pub(super) waiting: VecDeque<u8>,
    /// What the peer may still send; counted down by the headers of frames.
    pub(super) window: u32,
    /// The size to which the window is filled up again.
    pub(super) window_max: u32,
    /// What was read and has not been given back to the peer.
    pub(super) owed: u32,
    /// What we may still send.
    pub(super) credit: u32,
    pub(super) greeting: Greeting,
    /// We have sent our end.
    pub(super) is_finished: bool,
    /// The peer has sent its end, and everything before it has been taken from the record.
    pub(super) is_ended: bool,
    pub(super) is_reset: bool,
    pub(super) reader: Option<Waker>,
    pub(super) writer: Option<Waker>,
}

/// What was said about a stream by its first frame, or is to be said.
pub(super) const OPENED_HERE: Greeting = Greeting { opens: true, accepts: false };
pub(super) const OPENED_THERE: Greeting = Greeting { opens: false, accepts: true };
const GREETED: Greeting = Greeting { opens: false, accepts: false };

impl Stream {
    /// A stream whose directions start with `window` bytes; without flow control that is any number.
    pub(super) fn new(greeting: Greeting, window: u32) -> Self {
        Self {
            waiting: VecDeque::new(),
            window,
            window_max: window,
            owed: 0,
            credit: window,
            greeting,
            is_finished: false,
            is_ended: false,
            is_reset: false,
            reader: None,
            writer: None,
        }
    }

    /// What the next frame has to say about the stream; it is said once.
    pub(super) fn greet(&mut self) -> Greeting {
        std::mem::replace(&mut self.greeting, GREETED)
    }

    /// Counts `bytes` as read. Gives the credit that the peer is to get now, if it is worth a frame: half a window.
    ///
    /// `extra` is what the windows of the connection may still grow by. A window grows once, when it has been read empty: its
    /// reader keeps up.
    pub(super) fn read(&mut self, bytes: u32, extra: &mut u64) -> Option<u32> {
        self.owed = self.owed.saturating_add(bytes);
        if self.is_ended || self.is_reset || self.owed < self.window_max / 2 {
            return None;
        }
        let growth = WINDOW_BYTES_MAX.saturating_sub(self.window_max);
        let mut credit = std::mem::take(&mut self.owed);
        if self.waiting.is_empty() && u64::from(growth) <= *extra {
            *extra -= u64::from(growth);
            self.window_max += growth;
            credit += growth;
        }
        self.window = self.window.saturating_add(credit);
        Some(credit)
    }

    /// Moves what waits to the front of `into`; what comes next may follow only when nothing waits any more.
    pub(super) fn take_waiting(&mut self, into: &mut [u8]) -> usize {
        let taken = self.waiting.len().min(into.len());
        let (front, back) = self.waiting.as_slices();
        let split = front.len().min(taken);
        into[..split].copy_from_slice(&front[..split]);
        into[split..taken].copy_from_slice(&back[..taken - split]);
        self.waiting.drain(..taken);
        taken
    }

    pub(super) fn wake_reader(&mut self) {
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
    }

    pub(super) fn wake_writer(&mut self) {
        if let Some(waker) = self.writer.take() {
            waker.wake();
        }
    }

    /// The peer or this side has killed the stream. What waits is dropped; its size is given.
    pub(super) fn reset(&mut self) -> usize {
        self.is_reset = true;
        self.wake_reader();
        self.wake_writer();
        std::mem::take(&mut self.waiting).len()
    }
}

/// Keeps the waker of `cx` in `slot` without cloning one that is there already.
pub(super) fn keep_waker(slot: &mut Option<Waker>, cx: &Context<'_>) {
    match slot {
        Some(waker) if waker.will_wake(cx.waker()) => {}
        other => *other = Some(cx.waker().clone()),
    }
}
