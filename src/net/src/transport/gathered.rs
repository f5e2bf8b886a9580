//! What stands between rust-libp2p's noise and its multiplexers, so that frames share records.
//!
//! rust-yamux flushes behind every frame of 16 KiB, and of everything that is flushed noise makes a record and a call into the system. So
//! a flush is put off while frames come behind one another: those of one turn of the connection's task go by threes.
//!
//! noise appends what it is given to a buffer that begins like the frame itself, on a page, behind a header of twelve bytes: one of the
//! places where a long copy takes twelve times as long (see [`levada_engine::copy`]). So it is given short pieces.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::{AsyncRead, AsyncWrite};
use libp2p::core::upgrade::{InboundConnectionUpgrade, OutboundConnectionUpgrade, UpgradeInfo};

/// What noise puts into a record at most.
const RECORD_BYTES_MAX: usize = 65_535 - 1_024;
const PIECE_BYTES: usize = 1_024;

/// The upgrade `U` on a connection that gathers.
#[derive(Clone)]
pub(super) struct OnGathered<U>(pub(super) U);

impl<U: UpgradeInfo> UpgradeInfo for OnGathered<U> {
    type Info = U::Info;
    type InfoIter = U::InfoIter;

    fn protocol_info(&self) -> U::InfoIter {
        self.0.protocol_info()
    }
}

impl<C, U: InboundConnectionUpgrade<Gathered<C>>> InboundConnectionUpgrade<C> for OnGathered<U> {
    type Output = U::Output;
    type Error = U::Error;
    type Future = U::Future;

    fn upgrade_inbound(self, secure: C, info: U::Info) -> U::Future {
        self.0.upgrade_inbound(Gathered::new(secure), info)
    }
}

impl<C, U: OutboundConnectionUpgrade<Gathered<C>>> OutboundConnectionUpgrade<C> for OnGathered<U> {
    type Output = U::Output;
    type Error = U::Error;
    type Future = U::Future;

    fn upgrade_outbound(self, secure: C, info: U::Info) -> U::Future {
        self.0.upgrade_outbound(Gathered::new(secure), info)
    }
}

/// A secure channel whose flushes wait for what is written next, if it comes at once.
pub(super) struct Gathered<S> {
    secure: S,
    /// Bytes written since the last flush that was not put off.
    gathered: usize,
    /// How many they were when a flush was put off last.
    put_off_at: usize,
}

impl<S> Gathered<S> {
    fn new(secure: S) -> Self {
        Self { secure, gathered: 0, put_off_at: 0 }
    }

    /// Whether more may come, and has room in the record: as much as came last.
    fn may_grow(&self) -> bool {
        let last = self.gathered - self.put_off_at;
        last > 0 && self.gathered + last <= RECORD_BYTES_MAX
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gathered<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.secure).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gathered<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        let mut written = 0;
        for piece in from.chunks(PIECE_BYTES) {
            match Pin::new(&mut self.secure).poll_write(cx, piece) {
                Poll::Ready(Ok(bytes)) => {
                    written += bytes;
                    if bytes < piece.len() {
                        break;
                    }
                }
                // What was taken before has to be told first; the rest of this comes up again.
                _ if written > 0 => break,
                otherwise => return otherwise,
            }
        }
        self.gathered += written;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.may_grow() {
            self.put_off_at = self.gathered;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        (self.gathered, self.put_off_at) = (0, 0);
        Pin::new(&mut self.secure).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.secure).poll_close(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::task::{Wake, Waker};

    use super::*;

    /// Takes so many bytes in all, each call whole or what is left; keeps where it was flushed.
    struct Sink {
        taken: Vec<u8>,
        room: usize,
        flushed_at: Vec<usize>,
    }

    impl AsyncWrite for Sink {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
            assert!(from.len() <= PIECE_BYTES);
            let bytes = from.len().min(self.room - self.taken.len());
            self.taken.extend_from_slice(&from[..bytes]);
            if bytes == 0 { Poll::Pending } else { Poll::Ready(Ok(bytes)) }
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            let at = self.taken.len();
            self.flushed_at.push(at);
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    fn gathered(room: usize) -> Gathered<Sink> {
        Gathered::new(Sink { taken: Vec::new(), room, flushed_at: Vec::new() })
    }

    fn write(gathered: &mut Gathered<Sink>, bytes: &[u8]) -> Poll<Option<usize>> {
        Pin::new(gathered).poll_write(&mut Context::from_waker(Waker::noop()), bytes).map(Result::ok)
    }

    /// Writes frames of so many bytes, with a flush behind each, and flushes until nothing waits; how often the task was woken.
    fn frames(gathered: &mut Gathered<Sink>, frames: &[usize]) -> usize {
        let woken = Arc::<Woken>::default();
        let waker = Waker::from(woken.clone());
        let cx = &mut Context::from_waker(&waker);
        for bytes in frames {
            assert_eq!(write(gathered, &[7; 12]), Poll::Ready(Some(12)));
            assert_eq!(write(gathered, &vec![7; *bytes]), Poll::Ready(Some(*bytes)));
            _ = Pin::new(&mut *gathered).poll_flush(cx);
        }
        while Pin::new(&mut *gathered).poll_flush(cx).is_pending() {}
        woken.0.load(Relaxed)
    }

    #[test]
    fn frames_that_follow_one_another_share_a_flush_as_far_as_a_record_has_room() {
        let mut channel = gathered(usize::MAX);
        let wakes = frames(&mut channel, &[16_384; 7]);
        let three = 3 * (16_384 + 12);
        // The last one is flushed when nothing has come behind it; then there is nothing left to do.
        assert_eq!(channel.secure.flushed_at, [three, 2 * three, 2 * three + 16_396]);
        assert_eq!(wakes, 5);
    }

    #[test]
    fn a_frame_alone_is_flushed_at_the_second_time() {
        let mut channel = gathered(usize::MAX);
        assert_eq!(frames(&mut channel, &[100]), 1);
        assert_eq!(frames(&mut channel, &[100]), 1);
        assert_eq!(channel.secure.flushed_at, [112, 224]);
    }

    #[test]
    fn what_is_not_taken_is_told() {
        let mut channel = gathered(2_500);
        let bytes: Vec<u8> = (0..5_000_u32).map(|number| number as u8).collect();
        assert_eq!(write(&mut channel, &bytes), Poll::Ready(Some(2_500)));
        assert_eq!(write(&mut channel, &bytes[2_500..]), Poll::Pending);
        assert_eq!(channel.secure.taken, bytes[..2_500]);
    }
}
