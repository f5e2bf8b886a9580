//! A push as it leaves: framed once, shared by the queues of all subscribers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use bytes::Bytes;
use levada_engine::{Held, Histogram};
use levada_wire::waku::WakuRecord;
use levada_wire::waku::filter::PushHeader;

/// What all pushes keep from others, and for how long.
#[derive(Debug, Default)]
pub(super) struct Kept {
    slot_bytes: AtomicUsize,
    /// From the match to the last subscriber that has the message or will not get it.
    pub(super) durations: Histogram,
}

impl Kept {
    pub(super) fn bytes(&self) -> usize {
        self.slot_bytes.load(Relaxed)
    }
}

/// One frame: what stands in front of the message, the message in its slot, and what stands behind it.
#[derive(Debug)]
pub(super) struct Push {
    header: PushHeader,
    message: Held<WakuRecord>,
    /// The topic, the same bytes for all messages on it.
    trailer: Bytes,
    began: Instant,
    kept: Arc<Kept>,
}

impl Push {
    pub(super) fn new(header: PushHeader, message: Held<WakuRecord>, trailer: Bytes, kept: Arc<Kept>) -> Self {
        kept.slot_bytes.fetch_add(message.slot_bytes(), Relaxed);
        Self { header, message, trailer, began: Instant::now(), kept }
    }

    /// The bytes on the wire, in order.
    pub(super) fn parts(&self) -> [&[u8]; 3] {
        [self.header.framed(), self.message.payload(), &self.trailer]
    }

    /// Bytes of the whole frame.
    pub(super) fn frame_bytes(&self) -> usize {
        self.parts().iter().map(|part| part.len()).sum()
    }

    /// What a queue is charged for it.
    pub(super) fn kept_bytes(&self) -> usize {
        self.message.slot_bytes()
    }
}

impl Drop for Push {
    fn drop(&mut self) {
        self.kept.slot_bytes.fetch_sub(self.message.slot_bytes(), Relaxed);
        self.kept.durations.observe_duration(self.began.elapsed());
    }
}
