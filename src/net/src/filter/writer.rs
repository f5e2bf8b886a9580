//! Writes what is queued for one subscriber, from where it lies, to one stream that is kept.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::{AsyncWrite, AsyncWriteExt};
use levada_wire::waku::filter::PUSH_PROTOCOL;
use libp2p::{PeerId, Stream};
use tokio::time::{sleep, timeout};

use super::counters::FilterCounters;
use super::push::Push;
use super::queue::Queue;
use crate::exchange::{Exchange, RequestError};
use crate::peers::Direction;
use crate::streams::OpenStream;

/// A subscriber takes a push by then, as with nwaku.
const PUSH_TIMEOUT: Duration = Duration::from_secs(20);
/// Pause before a subscriber that could not be reached is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Why a push did not go.
enum Failure {
    Unreachable(RequestError),
    Broken(io::Error),
    TimedOut,
}

/// Pushes until the queue is closed. Whatever goes wrong costs this subscriber what waits for it, and nobody else anything.
pub(super) async fn run(queue: Arc<Queue>, peer: PeerId, exchange: Exchange, counters: Arc<FilterCounters>) {
    let mut writer = Writer { exchange, peer, stream: None };
    while !queue.is_closed() {
        let Some(push) = queue.pop() else {
            // An error shows again at the next push.
            writer.flush().await;
            queue.changed().await;
            continue;
        };
        match writer.push(&push).await {
            Ok(()) => {
                counters.pushed.add(1);
                counters.pushed_bytes.add(push.frame_bytes() as u64);
            }
            Err(failure) => {
                drop(push);
                let lost = 1 + queue.clear();
                match failure {
                    Failure::TimedOut => counters.timed_out.add(lost),
                    Failure::Unreachable(_) | Failure::Broken(_) => counters.unreachable.add(lost),
                }
                tracing::debug!(%peer, lost, reason = %failure, "pushes to a filter subscriber were lost");
                sleep(AGAIN_AFTER).await;
            }
        }
    }
}

struct Writer {
    exchange: Exchange,
    peer: PeerId,
    stream: Option<(Stream, OpenStream)>,
}

impl Writer {
    /// Writes a push; on a new stream if the kept one turns out to be broken.
    async fn push(&mut self, push: &Push) -> Result<(), Failure> {
        if self.stream.is_some() {
            match self.write(push).await {
                Err(Failure::Broken(_)) => {}
                outcome => return outcome,
            }
        }
        let opened = self.exchange.open(&self.peer, PUSH_PROTOCOL).await;
        let stream = opened.map_err(Failure::Unreachable)?;
        self.stream = Some((stream, OpenStream::new(PUSH_PROTOCOL, Direction::Out)));
        self.write(push).await
    }

    /// After a failure the stream is gone: dropped in the middle of a frame, it is reset.
    async fn write(&mut self, push: &Push) -> Result<(), Failure> {
        let Some((mut stream, count)) = self.stream.take() else { return Err(Failure::TimedOut) };
        match timeout(PUSH_TIMEOUT, write_all(&mut stream, push.parts())).await {
            Ok(Ok(())) => {
                self.stream = Some((stream, count));
                Ok(())
            }
            Ok(Err(error)) => Err(Failure::Broken(error)),
            Err(_) => Err(Failure::TimedOut),
        }
    }

    async fn flush(&mut self) {
        if let Some((stream, _)) = &mut self.stream
            && !matches!(timeout(PUSH_TIMEOUT, stream.flush()).await, Ok(Ok(())))
        {
            self.stream = None;
        }
    }
}

async fn write_all<S: AsyncWrite + Unpin>(stream: &mut S, parts: [&[u8]; 3]) -> io::Result<()> {
    let mut slices = parts.map(IoSlice::new);
    let mut rest = &mut slices[..];
    IoSlice::advance_slices(&mut rest, 0);
    while !rest.is_empty() {
        let write = |cx: &mut std::task::Context<'_>| Pin::new(&mut *stream).poll_write_vectored(cx, rest);
        let written = std::future::poll_fn(write).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        IoSlice::advance_slices(&mut rest, written);
    }
    Ok(())
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreachable(error) => error.fmt(f),
            Self::Broken(error) => error.fmt(f),
            Self::TimedOut => write!(f, "it did not read for {} s", PUSH_TIMEOUT.as_secs()),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use futures::io::Cursor;

    use super::write_all;

    /// Takes up to `at_once` bytes a call.
    struct Pipe {
        taken: Vec<u8>,
        at_once: usize,
    }

    impl super::AsyncWrite for Pipe {
        fn poll_write(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            bytes: &[u8],
        ) -> std::task::Poll<std::io::Result<usize>> {
            let count = bytes.len().min(self.at_once);
            self.taken.extend_from_slice(&bytes[..count]);
            std::task::Poll::Ready(Ok(count))
        }

        fn poll_flush(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            std::task::Poll::Ready(Ok(()))
        }

        fn poll_close(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            std::task::Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn parts_go_whole_and_in_order_however_little_the_stream_takes() {
        for parts in [[&b"head"[..], b"message", b"tail"], [b"head", b"", b"tail"], [b"", b"", b""]] {
            for at_once in [1, 2, 5, 1_000] {
                let mut pipe = Pipe { taken: Vec::new(), at_once };
                block_on(write_all(&mut pipe, parts)).unwrap();
                assert_eq!(pipe.taken, parts.concat());
            }
        }
        let full = block_on(write_all(&mut Cursor::new(&mut [0_u8; 3][..]), [b"four", b"", b""])).unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::WriteZero);
    }
}
