//! Writes what a link has queued to its stream, from where it lies.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::AsyncWrite;
use levada_router::Moment;

use super::outgoing::Outgoing;
use super::queue::{Frame, Link};

/// Bytes written before the connection's other work gets its turn.
const TURN_BYTES: usize = 1 << 20;

/// What rust-yamux puts into one of its frames. Each of them, and each slice that is shorter, costs both sides a header and a buffer.
pub(crate) const STOCK_PIECE_BYTES: usize = 16 * 1_024;
/// Data that is copied rather than written as a piece of its own.
const COPIED_BYTES_MAX: usize = 4 * 1_024;

/// The frame that is being written. It survives its stream: on the next one it begins anew.
///
/// Memory: the head of a frame, which the longest topic bounds, and [`COPIED_BYTES_MAX`].
#[derive(Debug)]
pub(crate) struct Writer {
    /// The most that the stream takes at once, if it does not gather slices.
    piece_bytes: Option<usize>,
    frame: Option<Frame>,
    /// The head of the frame in one piece, and behind it the first bytes of the body.
    front: Vec<u8>,
    /// How many of the body those are.
    copied: usize,
    written: usize,
    must_flush: bool,
}

impl Writer {
    pub(crate) fn new(piece_bytes: Option<usize>) -> Self {
        Self { piece_bytes, frame: None, front: Vec::new(), copied: 0, written: 0, must_flush: false }
    }

    /// A new stream knows nothing of what an earlier one has begun.
    pub(crate) fn restart(&mut self) {
        (self.written, self.must_flush) = (0, false);
    }

    fn begin(&mut self, frame: Option<Frame>) {
        (self.copied, self.written) = (0, 0);
        self.front.clear();
        if let Some(frame) = &frame {
            frame.head().iter().for_each(|part| self.front.extend_from_slice(part));
            self.copied = self.piece_bytes.map_or(0, |piece| to_copy(self.front.len(), frame.body().len(), piece));
            self.front.extend_from_slice(&frame.body()[..self.copied]);
        }
        self.frame = frame;
    }

    /// What of the frame is not written yet, and in how many slices.
    fn rest<'a>(&'a self, frame: &'a Frame) -> ([IoSlice<'a>; 2], usize) {
        let front = self.front.get(self.written..).unwrap_or_default();
        let passed = self.copied + self.written.saturating_sub(self.front.len());
        let body = frame.body().get(passed..).unwrap_or_default();
        match (front.is_empty(), body.is_empty()) {
            (true, _) => ([IoSlice::new(body), IoSlice::new(&[])], usize::from(!body.is_empty())),
            (false, is_last) => ([IoSlice::new(front), IoSlice::new(body)], 1 + usize::from(!is_last)),
        }
    }

    /// Writes until the queue is empty and all is flushed, which gives `Pending` as well; `sent` is told of each message that has gone.
    pub(crate) fn poll<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        link: &Link,
        now: impl Fn() -> Moment,
        sent: impl Fn(&Outgoing),
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        link.register(cx.waker());
        let mut turn = TURN_BYTES;
        loop {
            if self.frame.is_none() {
                let next = link.queue().pop(now());
                self.begin(next);
            }
            let Some(frame) = &self.frame else {
                if self.must_flush {
                    ready!(Pin::new(&mut *stream).poll_flush(cx))?;
                    self.must_flush = false;
                }
                return Poll::Pending;
            };
            if turn == 0 {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let (slices, count) = self.rest(frame);
            if count == 0 {
                if let Some(Frame::Message(message)) = self.frame.take() {
                    sent(&message);
                }
                continue;
            }
            let written = ready!(Pin::new(&mut *stream).poll_write_vectored(cx, &slices[..count]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += written;
            self.must_flush = true;
            turn = turn.saturating_sub(written);
        }
    }
}

/// How many bytes of a body go along with a head of `head` bytes, so that what is behind them fills whole pieces.
fn to_copy(head: usize, body: usize, piece: usize) -> usize {
    let over = (head + body) % piece;
    over.checked_sub(head).filter(|over| head > 0 && *over <= COPIED_BYTES_MAX).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use futures::task::noop_waker;
    use levada_wire::gossipsub::PublishHeader;

    use super::*;
    use crate::relay::own::outgoing::Payload;
    use crate::relay::own::queue::QueueLimits;

    const LIMITS: QueueLimits = QueueLimits {
        bytes_max: 1_000_000,
        control_bytes_max: 1_000,
        published_for: Duration::from_secs(5),
        forwarded_for: Duration::from_secs(1),
    };

    /// Takes up to `at_once` bytes a call, and breaks after `room` bytes.
    struct Pipe {
        taken: Vec<u8>,
        at_once: usize,
        room: usize,
        flushes: usize,
    }

    impl AsyncWrite for Pipe {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            let count = bytes.len().min(self.at_once).min(self.room);
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            self.room -= count;
            self.taken.extend_from_slice(&bytes[..count]);
            Poll::Ready(Ok(count))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.flushes += 1;
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// The bytes of a message on the wire.
    fn wire(message: &Outgoing) -> Vec<u8> {
        [&message.head().concat(), message.data()].concat()
    }

    fn pipe(at_once: usize, room: usize) -> Pipe {
        Pipe { taken: Vec::new(), at_once, room, flushes: 0 }
    }

    fn write(writer: &mut Writer, pipe: &mut Pipe, link: &Link) -> Poll<io::Result<()>> {
        let waker = noop_waker();
        writer.poll(pipe, link, || Moment::ZERO, |_| {}, &mut Context::from_waker(&waker))
    }

    fn message(number: u8, bytes: usize) -> Outgoing {
        let header = PublishHeader::new("t", bytes).expect("a short frame");
        let topic_field = Bytes::from_static(&[0x22, 1, b't']);
        Outgoing::new(header, topic_field, Payload::Bytes(vec![number; bytes].into()))
    }

    fn link(messages: &[Outgoing]) -> Link {
        let link = Link::new(LIMITS);
        for message in messages {
            assert!(link.queue().push([0; 32], message, Moment::from_nanos(1), Moment::ZERO));
        }
        link
    }

    #[test]
    fn frames_go_whole_and_in_order_however_little_the_stream_takes() {
        let messages = [message(1, 300), message(2, 0), message(3, 7)];
        let expected = [&b"control"[..], &messages.each_ref().map(wire).concat()].concat();
        for (at_once, pieces) in [(1, None), (2, Some(100)), (5, Some(7)), (1_000, None), (1_000, Some(1_000))] {
            let link = link(&messages);
            assert!(link.queue().push_control(b"control"));
            let (mut writer, mut pipe) = (Writer::new(pieces), pipe(at_once, usize::MAX));
            assert!(write(&mut writer, &mut pipe, &link).is_pending());
            assert_eq!((pipe.taken, pipe.flushes), (expected.clone(), 1), "{at_once} bytes at a time");
        }
    }

    #[test]
    fn a_frame_that_was_begun_begins_anew_on_the_next_stream() {
        let messages = [message(1, 300), message(2, 50)];
        let (link, mut writer, mut first) = (link(&messages), Writer::new(None), pipe(1_000, 100));
        assert!(matches!(write(&mut writer, &mut first, &link), Poll::Ready(Err(_))));
        writer.restart();
        let mut second = pipe(1_000, usize::MAX);
        assert!(write(&mut writer, &mut second, &link).is_pending());
        assert_eq!(second.taken, messages.each_ref().map(wire).concat());
    }

    #[test]
    fn what_is_behind_the_head_fills_whole_pieces_unless_too_much_would_be_copied() {
        const PIECE: usize = STOCK_PIECE_BYTES;
        for (head, body, copied) in [
            (28, 1_000, 1_000),
            (28, 10_000, 0),
            (28, 50_000, 848),
            (28, PIECE - 28, 0),
            (28, PIECE - 27, 0),
            (28, 2 * PIECE, 0),
            (28, 2 * PIECE + 1, 1),
            (28, PIECE + COPIED_BYTES_MAX, COPIED_BYTES_MAX),
            (28, PIECE + COPIED_BYTES_MAX + 1, 0),
            (0, 1_000, 0),
        ] {
            assert_eq!(to_copy(head, body, PIECE), copied, "{head} and {body} bytes");
        }
    }
}
