//! The life of one inbound stream: idle, a request, its answer, the end.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{AsyncReadExt, AsyncWriteExt, StreamExt};
use libp2p::{PeerId, Stream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::counters::ServiceCounters;
use super::frame::{FrameFault, Prefix, read_body, read_byte, read_length};
use super::rate::RateLimiter;
use super::reply::{Reply, Service, Terms};
use super::served::Place;

/// A stream that carries nothing for this long is reset.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// A request that has begun is here by then.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The service has its answer by then.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// The client takes a piece of the answer by then.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Pieces of the answer are at most so large, for the time above.
const PIECE_BYTES_MAX: usize = 64 << 10;
/// Behind the answer the client has so long to close its side. Dropped at once, an mplex stream would be reset, and a client that has not
/// closed its side yet would lose the answer with it.
const LINGER: Duration = Duration::from_secs(5);
/// What a client may still send meanwhile.
const LINGER_BYTES_MAX: usize = 4 << 10;

/// A request up to this size is read at once. Larger ones have to find room in what follows, so that slow clients hold little memory, and
/// cannot keep small requests out.
const SMALL_BYTES_MAX: usize = 4 << 10;
/// Kilobytes of the large requests of one protocol that are read or answered at once; more if that were less than four of the largest.
const LARGE_KIB_MAX: usize = 32 << 10;

/// One service and what it is short of.
pub(super) struct Serving {
    terms: Terms,
    service: Arc<dyn Service>,
    counters: Arc<ServiceCounters>,
    limiter: Option<RateLimiter>,
    answering: Semaphore,
    /// In KiB.
    large: Semaphore,
}

/// Why a stream ended without an answer.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Request(#[from] FrameFault),
    #[error("the {0} took too long")]
    TimedOut(&'static str),
    #[error("{0}")]
    Answer(io::Error),
}

impl Serving {
    pub(super) fn new(terms: Terms, service: Arc<dyn Service>, counters: Arc<ServiceCounters>) -> Self {
        let limiter = terms.rate_limit.map(RateLimiter::new);
        let large = Semaphore::new(LARGE_KIB_MAX.max(4 * kib(terms.request_bytes_max) as usize));
        Self { answering: Semaphore::new(terms.requests_max), large, terms, service, counters, limiter }
    }

    /// Serves a stream to its end. Whatever goes wrong concerns this stream alone.
    pub(super) async fn run(&self, place: &Place, mut stream: Stream) {
        // A stream that stays idle, or is closed unused, is not a failure.
        let Ok(Ok(first)) = timeout(IDLE_TIMEOUT, read_byte(&mut stream)).await else { return };
        let peer = place.peer();
        match self.exchange(place, &mut stream, first).await {
            Ok(()) => linger(&mut stream).await,
            Err(failure) => {
                let counter = match &failure {
                    Failure::Request(FrameFault::TooLong { .. } | FrameFault::Prefix) => &self.counters.malformed,
                    _ => &self.counters.broken,
                };
                counter.add(1);
                tracing::debug!(%peer, protocol = self.terms.protocol, %failure, "request not answered");
            }
        }
    }

    async fn exchange(&self, place: &Place, stream: &mut Stream, first: u8) -> Result<(), Failure> {
        let peer = place.peer();
        if !self.limiter.as_ref().is_none_or(|limiter| limiter.admit(peer, Instant::now())) {
            self.counters.rejected.add(1);
            return self.write(stream, self.service.too_many()).await;
        }
        let began = Instant::now();
        let request = timeout(REQUEST_TIMEOUT, self.read(place, stream, first)).await;
        let (request, room) = request.map_err(|_| Failure::TimedOut("request"))??;
        self.counters.bytes_in.add(request.len() as u64);
        let reply = self.answer(peer, request.into()).await?;
        drop(room);
        let answered = Instant::now();
        self.write(stream, reply).await?;
        self.counters.writing.observe_duration(answered.elapsed());
        self.counters.handling.observe_duration(began.elapsed());
        self.counters.served.add(1);
        Ok(())
    }

    /// Reads a request, and keeps the room that a large one takes.
    async fn read<'a>(
        &'a self,
        place: &'a Place,
        stream: &mut Stream,
        first: u8,
    ) -> Result<(Vec<u8>, impl Sized + 'a), FrameFault> {
        let bytes = read_length(stream, first, self.terms.request_bytes_max).await?;
        let room = if bytes > SMALL_BYTES_MAX {
            Some((place.large_turn().await, self.large.acquire_many(kib(bytes)).await))
        } else {
            None
        };
        Ok((read_body(stream, bytes).await?, room))
    }

    async fn answer(&self, peer: PeerId, request: Bytes) -> Result<Reply, Failure> {
        // It fails only when closed, which it never is.
        let _turn = self.answering.acquire().await;
        let began = Instant::now();
        let reply = timeout(ANSWER_TIMEOUT, self.service.answer(peer, request)).await;
        self.counters.answering.observe_duration(began.elapsed());
        reply.map_err(|_| Failure::TimedOut("answer"))
    }

    async fn write(&self, stream: &mut Stream, reply: Reply) -> Result<(), Failure> {
        let (bytes, mut parts) = match reply {
            Reply::None => return Err(Failure::Request(FrameFault::Prefix)),
            Reply::Parts(parts) => {
                let bytes = parts.iter().map(|part| part.len() as u64).sum();
                (bytes, futures::stream::iter(parts).map(Ok).boxed())
            }
            Reply::Stream { bytes, parts } => (bytes, parts),
        };
        in_time(stream.write_all(Prefix::of(bytes).bytes())).await?;
        let mut left = bytes;
        while let Some(part) = parts.next().await {
            let part = part.map_err(Failure::Answer)?;
            left = left.checked_sub(part.len() as u64).ok_or_else(wrong_length)?;
            for piece in part.chunks(PIECE_BYTES_MAX) {
                in_time(stream.write_all(piece)).await?;
            }
        }
        if left > 0 {
            return Err(wrong_length());
        }
        self.counters.bytes_out.add(bytes);
        in_time(stream.close()).await
    }
}

fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX)
}

fn wrong_length() -> Failure {
    Failure::Answer(io::Error::other("the service gave an answer of another length than it said"))
}

async fn in_time(write: impl Future<Output = io::Result<()>>) -> Result<(), Failure> {
    match timeout(WRITE_TIMEOUT, write).await {
        Ok(written) => written.map_err(Failure::Answer),
        Err(_) => Err(Failure::TimedOut("client's reading")),
    }
}

/// Waits for the client's end of the stream.
async fn linger(stream: &mut Stream) {
    let read_on = async {
        let (mut sink, mut taken) = ([0; 256], 0);
        while taken < LINGER_BYTES_MAX {
            match stream.read(&mut sink).await {
                Ok(0) | Err(_) => break,
                Ok(count) => taken += count,
            }
        }
    };
    // Whichever way it ends, the stream has done its work.
    let _ = timeout(LINGER, read_on).await;
}
