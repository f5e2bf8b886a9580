//! What waits to be sent to one peer, bounded in bytes and in age.
//!
//! Memory: at most [`QueueLimits::bytes_max`] of messages, which are references to slots that other queues share, and
//! [`QueueLimits::control_bytes_max`] of control frames. A message is charged with its slot, in every queue that holds it: the slot is
//! what it keeps from others, and which queue lets go of it last nobody knows. So short messages that lie in long slots fill a queue
//! sooner than their bytes tell, and all queues together keep no more than the sum of what they are charged.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::task::AtomicWaker;
use levada_router::Moment;
use levada_wire::hash::Digest;

use super::outgoing::Outgoing;

/// How much may wait for a peer, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLimits {
    pub(crate) bytes_max: usize,
    pub(crate) control_bytes_max: usize,
    /// How long a message of this node's own may wait.
    pub(crate) published_for: Duration,
    /// How long a message of others may wait.
    pub(crate) forwarded_for: Duration,
}

/// What is written next, whole.
#[derive(Clone, Debug)]
pub(crate) enum Frame {
    /// Control frames, one behind the other.
    Control(Bytes),
    Message(Outgoing),
}

impl Frame {
    /// The small parts that go first.
    pub(crate) fn head(&self) -> [&[u8]; 3] {
        match self {
            Self::Control(_) => [&[]; 3],
            Self::Message(message) => message.head(),
        }
    }

    /// What is written from where it lies.
    pub(crate) fn body(&self) -> &[u8] {
        match self {
            Self::Control(bytes) => bytes,
            Self::Message(message) => message.data(),
        }
    }
}

#[derive(Debug)]
struct Waiting {
    id: Digest,
    message: Outgoing,
    expires: Moment,
}

/// The queue itself, without a clock.
#[derive(Debug)]
pub(crate) struct SendQueue {
    limits: QueueLimits,
    control: BytesMut,
    messages: VecDeque<Waiting>,
    bytes: usize,
    /// Messages that found no room or waited for too long, since somebody asked.
    dropped: u64,
}

impl SendQueue {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        Self { limits, control: BytesMut::new(), messages: VecDeque::new(), bytes: 0, dropped: 0 }
    }

    pub(crate) fn limits(&self) -> &QueueLimits {
        &self.limits
    }

    /// Appends a message; `false`, and counted, if there is no room for it.
    pub(crate) fn push(&mut self, id: Digest, message: &Outgoing, expires: Moment, now: Moment) -> bool {
        let bytes = message.kept_bytes();
        if self.bytes + bytes > self.limits.bytes_max {
            self.expire(now);
        }
        // One message always has room, or a large one would never go.
        if self.bytes + bytes > self.limits.bytes_max && !self.messages.is_empty() {
            self.dropped += 1;
            return false;
        }
        self.bytes += bytes;
        self.messages.push_back(Waiting { id, message: message.clone(), expires });
        true
    }

    /// Appends whole control frames; `false` if there is no room, and then the peer has missed something that it must know.
    pub(crate) fn push_control(&mut self, frames: &[u8]) -> bool {
        let fits = self.control.len() + frames.len() <= self.limits.control_bytes_max;
        if fits {
            self.control.extend_from_slice(frames);
        }
        fits
    }

    /// Takes what is to be written next: control frames first.
    pub(crate) fn pop(&mut self, now: Moment) -> Option<Frame> {
        if !self.control.is_empty() {
            return Some(Frame::Control(self.control.split().freeze()));
        }
        while let Some(Waiting { message, expires, .. }) = self.messages.pop_front() {
            self.bytes -= message.kept_bytes();
            if expires > now {
                return Some(Frame::Message(message));
            }
            self.dropped += 1;
        }
        None
    }

    /// Takes a message out that the peer has got from elsewhere.
    pub(crate) fn cancel(&mut self, id: &Digest) {
        self.retain(|waiting| waiting.id != *id);
    }

    /// Drops what has waited for too long.
    pub(crate) fn expire(&mut self, now: Moment) {
        let before = self.messages.len();
        self.retain(|waiting| waiting.expires > now);
        self.dropped += (before - self.messages.len()) as u64;
    }

    fn retain(&mut self, stays: impl Fn(&Waiting) -> bool) {
        let bytes = &mut self.bytes;
        self.messages.retain(|waiting| {
            let stays = stays(waiting);
            *bytes -= if stays { 0 } else { waiting.message.kept_bytes() };
            stays
        });
    }

    /// Messages dropped since the last call.
    pub(crate) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The queue of one connection, between the router and the connection's task.
#[derive(Debug)]
pub(crate) struct Link {
    queue: Mutex<SendQueue>,
    writer: AtomicWaker,
}

impl Link {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        Self { queue: Mutex::new(SendQueue::new(limits)), writer: AtomicWaker::new() }
    }

    /// The queue; every change leaves it sound, so a panic elsewhere cannot have broken it.
    pub(crate) fn queue(&self) -> MutexGuard<'_, SendQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake(&self) {
        self.writer.wake();
    }

    /// Who is woken when something is queued.
    pub(crate) fn register(&self, waker: &std::task::Waker) {
        self.writer.register(waker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::own::outgoing::Payload;
    use levada_wire::gossipsub::PublishHeader;

    const LIMITS: QueueLimits = QueueLimits {
        bytes_max: 1_000,
        control_bytes_max: 8,
        published_for: Duration::from_secs(5),
        forwarded_for: Duration::from_secs(1),
    };

    /// Queues a message of so many bytes, each of them its number.
    fn push(queue: &mut SendQueue, number: u8, bytes: usize, expires: Moment, now: Moment) -> bool {
        let header = PublishHeader::new("t", bytes).expect("a short frame");
        let message = Outgoing::new(header, Bytes::new(), Payload::Bytes(vec![number; bytes].into()));
        queue.push([number; 32], &message, expires, now)
    }

    fn id_of(frame: Option<Frame>) -> Option<u8> {
        match frame? {
            Frame::Message(message) => message.data().first().copied(),
            Frame::Control(_) => None,
        }
    }

    #[test]
    fn bytes_are_bounded_and_what_does_not_fit_is_counted() {
        let mut queue = SendQueue::new(LIMITS);
        let (now, later) = (Moment::ZERO, Moment::from_nanos(1));
        assert!(push(&mut queue, 1, 600, later, now) && !push(&mut queue, 2, 600, later, now));
        assert!(push(&mut queue, 3, 400, later, now));
        assert_eq!((queue.bytes(), queue.take_dropped(), queue.take_dropped()), (1_000, 1, 0));
        assert_eq!((id_of(queue.pop(now)), id_of(queue.pop(now)), id_of(queue.pop(now))), (Some(1), Some(3), None));
        assert!(push(&mut queue, 4, 5_000, later, now), "a large message goes when nothing else waits");
    }

    #[test]
    fn what_is_too_old_makes_room() {
        let mut queue = SendQueue::new(LIMITS);
        let [now, then, later] = [0, 10, 20].map(Moment::from_nanos);
        assert!(push(&mut queue, 1, 900, then, now) && push(&mut queue, 2, 100, later, now));
        assert!(push(&mut queue, 3, 900, later, then), "the first has expired");
        assert_eq!((queue.take_dropped(), id_of(queue.pop(then)), id_of(queue.pop(later))), (1, Some(2), None));
        assert_eq!((queue.take_dropped(), queue.bytes()), (1, 0));
    }

    #[test]
    fn control_goes_first_and_what_is_cancelled_does_not_go() {
        let mut queue = SendQueue::new(LIMITS);
        let (now, later) = (Moment::ZERO, Moment::from_nanos(1));
        assert!(push(&mut queue, 1, 10, later, now) && push(&mut queue, 2, 10, later, now));
        assert!(queue.push_control(b"first") && queue.push_control(b"two") && !queue.push_control(b"!"));
        queue.cancel(&[1; 32]);
        assert!(matches!(queue.pop(now), Some(Frame::Control(bytes)) if bytes == "firsttwo"[..]));
        assert_eq!((queue.bytes(), id_of(queue.pop(now)), id_of(queue.pop(now))), (10, Some(2), None));
    }
}
