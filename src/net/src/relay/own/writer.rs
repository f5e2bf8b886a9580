//! Writes what a link has queued to its stream, from where it lies.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::AsyncWrite;
use levada_router::Moment;

use super::queue::{Frame, Link};

/// Bytes written before the connection's other work gets its turn.
const TURN_BYTES: usize = 1 << 20;

/// The frame that is being written. It survives its stream: on the next one it begins anew.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    frame: Option<Frame>,
    written: usize,
    must_flush: bool,
}

impl Writer {
    /// A new stream knows nothing of what an earlier one has begun.
    pub(crate) fn restart(&mut self) {
        (self.written, self.must_flush) = (0, false);
    }

    /// Writes until the queue is empty and all is flushed, which gives `Pending` as well.
    pub(crate) fn poll<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        link: &Link,
        now: impl Fn() -> Moment,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        link.register(cx.waker());
        let mut turn = TURN_BYTES;
        loop {
            if self.frame.is_none() {
                self.frame = link.queue().pop(now());
                self.written = 0;
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
            let (slices, count) = rest_of(frame, self.written);
            if count == 0 {
                self.frame = None;
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

/// The parts of a frame behind its first `written` bytes, and how many they are.
fn rest_of(frame: &Frame, written: usize) -> ([IoSlice<'_>; 3], usize) {
    let mut skip = written;
    let mut slices = [IoSlice::new(&[]); 3];
    let mut count = 0;
    for part in frame.parts() {
        let rest = part.get(skip..).unwrap_or_default();
        skip = skip.saturating_sub(part.len());
        if !rest.is_empty() {
            slices[count] = IoSlice::new(rest);
            count += 1;
        }
    }
    (slices, count)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use futures::task::noop_waker;
    use levada_wire::gossipsub::PublishHeader;

    use super::*;
    use crate::relay::own::outgoing::{Outgoing, Payload};
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

    fn pipe(at_once: usize, room: usize) -> Pipe {
        Pipe { taken: Vec::new(), at_once, room, flushes: 0 }
    }

    fn write(writer: &mut Writer, pipe: &mut Pipe, link: &Link) -> Poll<io::Result<()>> {
        let waker = noop_waker();
        writer.poll(pipe, link, || Moment::ZERO, &mut Context::from_waker(&waker))
    }

    fn message(number: u8, bytes: usize) -> Outgoing {
        let header = PublishHeader::new("t", bytes).expect("a short frame");
        let trailer = Bytes::from_static(&[0x22, 1, b't']);
        Outgoing::new(header, Payload::Bytes(vec![number; bytes].into()), trailer)
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
        let expected =
            [&b"control"[..], &messages.each_ref().map(|message| message.parts().concat()).concat()].concat();
        for at_once in [1, 2, 5, 1_000] {
            let link = link(&messages);
            assert!(link.queue().push_control(b"control"));
            let (mut writer, mut pipe) = (Writer::default(), pipe(at_once, usize::MAX));
            assert!(write(&mut writer, &mut pipe, &link).is_pending());
            assert_eq!((pipe.taken, pipe.flushes), (expected.clone(), 1), "{at_once} bytes at a time");
        }
    }

    #[test]
    fn a_frame_that_was_begun_begins_anew_on_the_next_stream() {
        let messages = [message(1, 300), message(2, 50)];
        let (link, mut writer, mut first) = (link(&messages), Writer::default(), pipe(1_000, 100));
        assert!(matches!(write(&mut writer, &mut first, &link), Poll::Ready(Err(_))));
        writer.restart();
        let mut second = pipe(1_000, usize::MAX);
        assert!(write(&mut writer, &mut second, &link).is_pending());
        assert_eq!(second.taken, messages.each_ref().map(|message| message.parts().concat()).concat());
    }
}
