//! Requests and answers over streams, between two nodes, one of which misbehaves.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{AsyncReadExt, AsyncWriteExt, StreamExt, stream};
use levada_net::exchange::{RateLimit, RateScope, Reply, RequestError, Service, ServiceCounters, Terms};
use levada_net::{Exchange, NetConfig, PeerId};
use levada_wire::varint;
use libp2p::Stream;
use support::{Node, config, dialling, until, within};
use tokio::sync::Semaphore;

const ECHO: &str = "/levada/test/echo/1.0.0";
const REQUEST_BYTES_MAX: usize = 1 << 20;
const STREAMS_MAX: u32 = 8;

/// Answers what it is asked: by itself, or as the first byte says.
struct Echo {
    gate: Arc<Semaphore>,
}

impl Service for Echo {
    fn answer(&self, _: PeerId, request: Bytes) -> BoxFuture<'static, Reply> {
        let gate = self.gate.clone();
        Box::pin(async move {
            match request.first() {
                Some(b'n') => Reply::None,
                Some(b'p') => Reply::Parts(request.chunks(1_000).map(Bytes::copy_from_slice).collect()),
                Some(b's') => {
                    let parts: Vec<_> = request.chunks(1_000).map(|part| Ok(Bytes::copy_from_slice(part))).collect();
                    Reply::Stream { bytes: request.len() as u64, parts: stream::iter(parts).boxed() }
                }
                Some(b'f') => {
                    let parts = [Ok(request), Err(io::Error::other("no more"))];
                    Reply::Stream { bytes: 1 << 20, parts: stream::iter(parts).boxed() }
                }
                Some(b'w') => {
                    gate.acquire().await.unwrap().forget();
                    Reply::body(request)
                }
                _ => Reply::body(request),
            }
        })
    }

    fn too_many(&self) -> Reply {
        Reply::body(&b"too many"[..])
    }
}

struct Pair {
    server: Node,
    client: Node,
    gate: Arc<Semaphore>,
    counters: Arc<ServiceCounters>,
}

impl Pair {
    /// A node that serves, and one that is connected to it and does not.
    async fn start(requests_max: usize, rate_limit: Option<RateLimit>) -> Self {
        let (exchange, gate) = (Exchange::default(), Arc::new(Semaphore::new(0)));
        let terms = Terms {
            protocol: ECHO,
            request_bytes_max: REQUEST_BYTES_MAX,
            streams_per_peer_max: STREAMS_MAX,
            requests_max,
            rate_limit,
        };
        exchange.serve(terms, Arc::new(Echo { gate: gate.clone() })).unwrap();
        let counters = exchange.counters().pop().unwrap().1;
        let server = Node::start(NetConfig { exchange, ..config() }).await;
        let client = Node::start(dialling(&server.tcp())).await;
        until(async || client.exchange().is_connected(&server.id()) && server.exchange().is_connected(&client.id()))
            .await;
        Self { server, client, gate, counters }
    }

    async fn ask(&self, request: &[u8]) -> Result<Bytes, RequestError> {
        within(self.client.exchange().request(&self.server.id(), ECHO, &[request], REQUEST_BYTES_MAX)).await
    }

    async fn open(&self) -> Stream {
        within(self.client.exchange().open(&self.server.id(), ECHO)).await.unwrap()
    }
}

fn framed(body: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; varint::len(body.len() as u64)];
    varint::encode(body.len() as u64, &mut frame).unwrap();
    frame.extend_from_slice(body);
    frame
}

/// What comes until the end; nothing if the stream was reset.
async fn to_the_end(stream: &mut Stream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = within(stream.read_to_end(&mut bytes)).await;
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_every_form_and_size() {
    let pair = Pair::start(8, None).await;
    for first in [b'b', b'p', b's'] {
        for bytes in [1, 127, 128, 70_000, REQUEST_BYTES_MAX] {
            let request: Vec<u8> = [first].into_iter().chain((1..bytes).map(|at| at as u8)).collect();
            assert_eq!(pair.ask(&request).await.unwrap(), request, "{} {bytes}", char::from(first));
        }
    }
    assert_eq!(pair.ask(b"").await.unwrap()[..], b""[..]);
    // The last answer is counted when its stream has ended on both sides.
    until(async || pair.counters.served.value() == 16).await;
    assert_eq!(pair.counters.bytes_in.value(), pair.counters.bytes_out.value());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_stream_follows_the_answer_and_not_the_clients_end() {
    let pair = Pair::start(8, None).await;
    let mut stream = pair.open().await;
    stream.write_all(&framed(b"half open")).await.unwrap();
    stream.flush().await.unwrap();
    assert_eq!(to_the_end(&mut stream).await, framed(b"half open"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_request_is_not_answered_and_costs_nobody_else() {
    let pair = Pair::start(8, None).await;
    let too_long = framed(&[])[..0].iter().copied().chain([0x81, 0x80, 0x40]).collect::<Vec<u8>>();
    for garbage in [vec![0xff; 64], vec![0x80, 0x00], too_long, framed(b"n"), framed(b"f")] {
        let mut stream = pair.open().await;
        // It may be reset before all is written.
        let _ = stream.write_all(&garbage).await;
        let _ = stream.flush().await;
        let answer = to_the_end(&mut stream).await;
        assert!(answer.len() < 8, "{garbage:02x?}: {answer:02x?}");
        assert_eq!(pair.ask(b"still there").await.unwrap()[..], b"still there"[..]);
    }
    until(async || pair.counters.malformed.value() == 4 && pair.counters.broken.value() == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_streams_are_tolerated_up_to_a_bound_and_usable_later() {
    let pair = Pair::start(8, None).await;
    let mut idle = Vec::new();
    for _ in 0..STREAMS_MAX {
        idle.push(pair.open().await);
    }
    // One more is reset, perhaps before its protocol is agreed on.
    match within(pair.client.exchange().open(&pair.server.id(), ECHO)).await {
        Ok(mut over) => assert_eq!(to_the_end(&mut over).await, b""),
        Err(refused) => assert!(matches!(refused, RequestError::Ended), "{refused}"),
    }
    until(async || pair.server.exchange().streams_refused_total() == 1).await;
    let mut late = idle.pop().unwrap();
    late.write_all(&framed(b"late")).await.unwrap();
    late.close().await.unwrap();
    assert_eq!(to_the_end(&mut late).await, framed(b"late"));
    drop(idle);
    until(async || pair.ask(b"room again").await.is_ok()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_in_work_are_bounded_and_slow_clients_take_no_place() {
    let pair = Pair::start(1, None).await;
    let mut slow = pair.open().await;
    slow.write_all(&framed(b"never ends")[..4]).await.unwrap();
    slow.flush().await.unwrap();
    let (first, second) = (pair.ask(b"wait 1"), pair.ask(b"wait 2"));
    let other = async {
        // Both are there, and one of them is not being answered.
        until(async || pair.counters.bytes_in.value() == 12).await;
        assert_eq!(pair.counters.served.value(), 0);
        pair.gate.add_permits(2);
    };
    let (first, second, ()) = futures::join!(first, second, other);
    assert_eq!((first.unwrap(), second.unwrap()), (Bytes::from_static(b"wait 1"), Bytes::from_static(b"wait 2")));
}

#[tokio::test(flavor = "multi_thread")]
async fn large_requests_that_do_not_end_keep_no_small_one_out() {
    let pair = Pair::start(8, None).await;
    let mut trickles = Vec::new();
    for _ in 0..STREAMS_MAX - 1 {
        let mut stream = pair.open().await;
        stream.write_all(&framed(&vec![0; REQUEST_BYTES_MAX])[..100]).await.unwrap();
        stream.flush().await.unwrap();
        trickles.push(stream);
    }
    assert_eq!(pair.ask(b"small").await.unwrap()[..], b"small"[..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn over_the_rate_limit_the_answer_comes_without_reading_the_request() {
    let limit = RateLimit { requests: 2, period: Duration::from_secs(3_600), scope: RateScope::Peer };
    let pair = Pair::start(8, Some(limit)).await;
    for _ in 0..2 {
        assert_eq!(pair.ask(b"in time").await.unwrap()[..], b"in time"[..]);
    }
    let mut stream = pair.open().await;
    stream.write_all(&[0xff]).await.unwrap();
    stream.flush().await.unwrap();
    assert_eq!(to_the_end(&mut stream).await, framed(b"too many"));
    assert_eq!(pair.counters.rejected.value(), 1);
    // An answer is counted when its stream has ended on both sides.
    until(async || pair.counters.served.value() == 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whom_and_what_cannot_be_asked() {
    let pair = Pair::start(8, None).await;
    let stranger = PeerId::random();
    let error = pair.client.exchange().request(&stranger, ECHO, &[b"?"], 10).await.unwrap_err();
    assert!(matches!(error, RequestError::NotConnected { peer } if peer == stranger), "{error}");
    let error = pair.server.exchange().request(&pair.client.id(), ECHO, &[b"?"], 10).await.unwrap_err();
    assert!(matches!(error, RequestError::Unsupported { protocol: ECHO }), "{error}");
    let error = pair.client.exchange().request(&pair.server.id(), ECHO, &[b"long"], 3).await.unwrap_err();
    assert!(matches!(error, RequestError::Frame(_)), "{error}");
    let error = pair.ask(b"no answer").await.unwrap_err();
    assert!(matches!(error, RequestError::Ended), "{error}");
    let again = pair.server.exchange().accept(ECHO, 1, |_, _| Box::pin(async {})).unwrap_err();
    assert_eq!(again.protocol, ECHO);
}
