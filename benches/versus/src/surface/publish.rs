//! REST publish beside a handler of the same HTTP library that takes the body and says OK.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use levada::bench_surface::{BareHandler, with_node};

use super::http::Connection;
use crate::pair::Sample;
use crate::row::{Contest, Row};

const PATH: &str = "/relay/v1/messages/%2Fwaku%2F2%2Frs%2F0%2F0";
/// 1 kB of payload in base64, 16 bits of padding at most; its first characters are the number of the message.
const PAYLOAD_CHARS: usize = 1_336;
/// Enough that neither server waits for its clients.
const CONNECTIONS: usize = 8;
const BAR: f64 = 0.5;

/// No message is published twice.
static PUBLISHED: AtomicU64 = AtomicU64::new(0);

/// Time per request over kept connections.
pub fn row(measure: &'static str, quick: bool) -> Row {
    let (requests, rounds) = if quick { (20, 1) } else { (2_000, 7) };
    with_node(&["--store=false"], 0, move |servers| {
        let bare = BareHandler::start(PATH);
        let open = |address| (0..CONNECTIONS).map(|_| Connection::open(address)).collect::<Vec<_>>();
        let (mut ours, mut rival) = (open(servers.rest), open(bare.address));
        let contest = Contest::new(measure, "ns/request", BAR).tolerate_switches();
        let contest = contest.with("levada", || sample(&mut ours, requests));
        contest.with("bare axum handler", || sample(&mut rival, requests)).run(rounds)
    })
}

/// Every connection sends so many requests, one after the other.
fn sample(connections: &mut [Connection], requests: usize) -> Sample {
    let (began, count) = (Instant::now(), connections.len());
    thread::scope(|scope| {
        for connection in connections {
            scope.spawn(move || {
                let mut request = Request::new();
                for _ in 0..requests {
                    assert_eq!(connection.ask(request.next()), b"OK");
                }
            });
        }
    });
    Sample::per(count * requests, began.elapsed(), 0)
}

/// The bytes of a request, of which only the number changes.
struct Request {
    bytes: Vec<u8>,
    number_at: usize,
}

impl Request {
    fn new() -> Self {
        let payload = "A".repeat(PAYLOAD_CHARS);
        let body = format!(r#"{{"payload":"{payload}","contentTopic":"/levada/1/bench/proto","version":0}}"#);
        let head = format!("POST {PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n");
        let text = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        let number_at = text.find(&payload).expect("it is there");
        Self { bytes: text.into_bytes(), number_at }
    }

    fn next(&mut self) -> &[u8] {
        let number = format!("{:016}", PUBLISHED.fetch_add(1, Ordering::Relaxed));
        self.bytes[self.number_at..][..number.len()].copy_from_slice(number.as_bytes());
        &self.bytes
    }
}
