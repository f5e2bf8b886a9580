//! Rules that all multiplexers have in common, and any bytes from a peer.

mod mplex;
mod yamux;

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures::AsyncWrite;
use levada_wire::mux::mplex::Mplex;
use levada_wire::mux::yamux::Yamux;
use levada_wire::mux::{Codec, Greeting, Header, StreamId};
use libp2p::core::muxing::StreamMuxer;

use super::limits::{READER_PATIENCE, STREAMS_MAX, UNTAKEN_MAX, WAITING_BYTES_MAX};
use super::substream::Substream;
use crate::transport::by_hand::{Bench, Pipe, header, read};

/// A small generator, so that a failure can be had again from its seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Changes, adds or removes bytes somewhere.
    pub(crate) fn mutate(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        match self.below(5) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.next() as u8,
            2 => bytes.insert(at, self.next() as u8),
            3 => bytes.truncate(at),
            _ => {
                let end = (at + self.below(20)).min(bytes.len());
                let copied = bytes[at..end].to_vec();
                bytes.splice(at..at, copied);
            }
        }
    }
}

const OPENS: Greeting = Greeting { opens: true, accepts: false };
const KNOWN: Greeting = Greeting { opens: false, accepts: false };

/// The frames of a peer that opens `streams` streams and sends `bytes` on each.
fn flood<C: Codec>(codec: &mut C, streams: usize, bytes: u32) -> Vec<(StreamId, Vec<u8>)> {
    let body = vec![9; bytes as usize];
    (0..streams)
        .map(|_| {
            let id = codec.next_id().expect("a number");
            (id, [header(codec, Header::Data(id, OPENS, bytes)), body.clone()].concat())
        })
        .collect()
}

#[test]
fn readers_that_never_come_hold_a_bounded_number_of_bytes() {
    let mut bench = Bench::new(Yamux::new(false));
    let mut held = Vec::new();
    for (_, frames) in flood(&mut Yamux::new(true), 2 * STREAMS_MAX, 256 * 1_024) {
        bench.send(&frames);
        assert!(bench.turn().is_pending());
        held.extend(bench.accept());
        assert!(bench.muxer.waiting_bytes() <= WAITING_BYTES_MAX);
    }
    assert_eq!(held.len(), STREAMS_MAX);
    // The first streams keep what they were sent, the later ones were reset for want of room.
    assert_eq!(read(&mut held[0], 10).expect("bytes").expect("no error"), [9; 10]);
    let late = read(held.last_mut().expect("a stream"), 10).expect("an answer");
    assert_eq!(late.expect_err("a reset").kind(), io::ErrorKind::ConnectionReset);
}

#[test]
fn streams_that_nobody_takes_are_refused_beyond_a_bound() {
    let mut bench = Bench::new(Yamux::new(false));
    let mut codec = Yamux::new(true);
    for (_, frames) in flood(&mut codec, 2 * UNTAKEN_MAX, 0) {
        bench.send(&frames);
    }
    assert!(bench.turn().is_pending());
    let refusals = bench.received();
    assert_eq!(refusals.len(), UNTAKEN_MAX * 12);
    assert_eq!(refusals[..4], [0, 0, 0, 8]);
}

#[tokio::test]
async fn without_flow_control_a_reader_has_some_time_before_its_stream_is_reset() {
    let mut bench = Bench::new(Mplex::default());
    let mut frames = flood(&mut Mplex::default(), 1, 300_000);
    let (id, first) = frames.remove(0);
    bench.send(&first);
    assert!(bench.turn().is_pending());
    let mut stream = bench.accept().expect("a stream");
    let more = [header(&Mplex::default(), Header::Data(id, KNOWN, 300_000)), vec![8; 300_000]].concat();
    bench.send(&more);
    assert!(bench.turn().is_pending());
    let held = bench.muxer.waiting_bytes();
    assert!(held <= 512 * 1_024, "{held}");
    // A reader that comes in time gets everything.
    let mut total = 0;
    while let Some(bytes) = read(&mut stream, 50_000) {
        total += bytes.expect("bytes").len();
        assert!(bench.turn().is_pending());
    }
    assert_eq!(total, 600_000);
    // One that does not loses its stream, and the connection goes on.
    bench.send(&[more.clone(), more].concat());
    assert!(bench.turn().is_pending());
    tokio::time::sleep(READER_PATIENCE).await;
    while bench.muxer.waiting_bytes() > 0 {
        tokio::time::sleep(READER_PATIENCE / 100).await;
        assert!(bench.turn().is_pending());
    }
    assert_eq!(read(&mut stream, 1).expect("an answer").expect_err("a reset").kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(bench.received(), header(&Mplex::default(), Header::Reset(StreamId { is_ours: false, ..id })));
}

#[test]
fn a_reader_that_is_there_takes_bytes_from_the_record() {
    let mut bench = Bench::new(Yamux::new(false));
    let (_, frames) = flood(&mut Yamux::new(true), 1, 100_000).remove(0);
    bench.send(&frames[..12]);
    assert!(bench.turn().is_pending());
    let mut stream = bench.accept().expect("a stream");
    assert!(read(&mut stream, 200_000).is_none());
    bench.send(&frames[12..]);
    // Both records in one read, without a turn of the connection between.
    assert_eq!(read(&mut stream, 200_000).expect("bytes").expect("no error").len(), 100_000);
    assert_eq!(bench.muxer.waiting_bytes(), 0);
}

#[test]
fn what_waits_comes_before_what_comes_however_the_queue_lies() {
    let mut bench = Bench::new(Yamux::new(false));
    let mut codec = Yamux::new(true);
    let id = codec.next_id().expect("a number");
    let (mut stream, mut sent, mut expected) = (None, 0_u8, 0_u8);
    let mut random = Random::new(0x5eed_0005);
    for round in 0..400 {
        let greeting = if round == 0 { OPENS } else { KNOWN };
        let bytes = 1 + random.below(3_000) as u32;
        let mut frame = header(&codec, Header::Data(id, greeting, bytes));
        frame.extend(
            std::iter::repeat_with(|| {
                sent = sent.wrapping_add(1);
                sent
            })
            .take(bytes as usize),
        );
        bench.send(&frame);
        if random.below(2) == 0 {
            assert!(bench.turn().is_pending());
            stream = stream.or_else(|| bench.accept());
        }
        if let Some(stream) = &mut stream
            && let Some(read) = read(stream, 1 + random.below(4_000))
        {
            for byte in read.expect("bytes") {
                expected = expected.wrapping_add(1);
                assert_eq!(byte, expected, "round {round}");
            }
        }
    }
}

/// Remembers that it was woken.
#[derive(Default)]
struct Flag(AtomicBool);

impl std::task::Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn what_a_reader_leaves_in_the_record_is_not_left_lying() {
    let mut bench = Bench::new(Yamux::new(false));
    let mut frames = flood(&mut Yamux::new(true), 2, 10);
    let (both, one) = (frames.remove(0).1, frames.remove(0).1);
    bench.send(&[both, one].concat());
    let driver = Arc::<Flag>::default();
    let waker = driver.clone().into();
    assert!(Pin::new(&mut bench.muxer).poll(&mut Context::from_waker(&waker)).is_pending());
    let mut first = bench.accept().expect("a stream");
    assert!(driver.0.swap(false, Relaxed), "the body was offered, and waits for one turn");
    assert_eq!(read(&mut first, 10).expect("bytes").expect("no error").len(), 10);
    // The other stream's frame is in the same record, and nothing will come from the socket to tell of it.
    assert!(driver.0.swap(false, Relaxed));
    assert!(Pin::new(&mut bench.muxer).poll(&mut Context::from_waker(&waker)).is_pending());
    assert!(bench.accept().is_some());
}

/// Notes in which order its kind is woken.
struct Turnstile(&'static str, Arc<Mutex<Vec<&'static str>>>);

impl std::task::Wake for Turnstile {
    fn wake(self: Arc<Self>) {
        self.1.lock().expect("a lock").push(self.0);
    }
}

#[test]
fn writers_that_found_no_room_are_woken_in_the_order_in_which_they_came() {
    let mut bench = Bench::new(Yamux::new(true));
    let mut open = || match Pin::new(&mut bench.muxer).poll_outbound(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(stream)) => stream,
        other => panic!("{:?}", other.is_ready()),
    };
    let (mut greedy, mut modest) = (open(), open());
    bench.set_full(true);
    let order = Arc::<Mutex<Vec<&'static str>>>::default();
    let greedy_waker = Arc::new(Turnstile("greedy", order.clone())).into();
    let modest_waker = Arc::new(Turnstile("modest", order.clone())).into();
    let write = |stream: &mut Substream<Pipe, Yamux>, waker: &Waker| {
        Pin::new(stream).poll_write(&mut Context::from_waker(waker), &[1; 50_000])
    };
    let mut gathered = 0;
    while let Poll::Ready(Ok(bytes)) = write(&mut greedy, Waker::noop()) {
        gathered += bytes;
    }
    // Two records, and then nobody may write any more.
    assert!((64 * 1_024..=128 * 1_024).contains(&gathered), "{gathered}");
    assert!(write(&mut modest, &modest_waker).is_pending());
    assert!(write(&mut greedy, &greedy_waker).is_pending());
    assert!(bench.turn().is_pending());
    assert_eq!(order.lock().expect("a lock")[..], [] as [&str; 0]);
    bench.set_full(false);
    assert!(bench.turn().is_pending());
    assert_eq!(order.lock().expect("a lock")[..], ["greedy", "modest"]);
}

/// Any bytes that follow `honest` frames: the connection ends with an error or it does not, and nothing else happens.
fn mutate<C: Codec>(seed: u64, rounds: usize, honest: &[u8], near: impl Fn() -> C) {
    let mut random = Random::new(seed);
    let mut endings = 0;
    for round in 0..rounds {
        let mut frames = honest.to_vec();
        for _ in 0..=random.below(4) {
            random.mutate(&mut frames);
        }
        let mut bench = Bench::new(near());
        let cut = random.below(frames.len() + 1);
        let mut streams = Vec::new();
        for part in [&frames[..cut], &frames[cut..]] {
            bench.send(part);
            let cx = &mut Context::from_waker(Waker::noop());
            for _ in 0..4 {
                endings += usize::from(Pin::new(&mut bench.muxer).poll(cx).is_ready());
            }
            streams.extend(bench.accept());
            for stream in &mut streams {
                if let Some(Ok(bytes)) = read(stream, 1 + random.below(50)) {
                    assert!(bytes.len() <= 50, "seed {seed:#x}, round {round}");
                }
            }
            assert!(bench.muxer.waiting_bytes() <= frames.len(), "seed {seed:#x}, round {round}");
        }
    }
    assert!(endings > 0, "seed {seed:#x}: no mutation was noticed");
}

/// A short conversation of a peer, with every kind of frame.
fn conversation<C: Codec>(codec: &mut C) -> Vec<u8> {
    let (one, other) = (codec.next_id().expect("a number"), codec.next_id().expect("a number"));
    let mut bytes = Vec::new();
    for frame in [
        Header::Data(one, OPENS, 5),
        Header::Credit(other, OPENS, 70),
        Header::Data(other, KNOWN, 20),
        Header::Credit(one, KNOWN, 1 << 20),
        Header::Pong(7),
        Header::Finish(one, KNOWN),
        Header::Reset(other),
        Header::GoAway(0),
    ] {
        bytes.extend(header(codec, frame));
        if let Header::Data(_, _, body) = frame {
            bytes.extend(vec![0x55; body as usize]);
        }
    }
    bytes
}

#[test]
fn any_bytes_for_yamux_are_taken_without_harm() {
    for (seed, is_initiator) in [(0x5eed_0002, false), (0x5eed_0003, true)] {
        mutate(seed, 50_000, &conversation(&mut Yamux::new(!is_initiator)), || Yamux::new(is_initiator));
    }
}

#[test]
fn any_bytes_for_mplex_are_taken_without_harm() {
    mutate(0x5eed_0004, 100_000, &conversation(&mut Mplex::default()), Mplex::default);
}
