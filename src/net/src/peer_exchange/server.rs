//! The server.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use levada_wire::waku::peer_exchange::{
    PROTOCOL, PeerExchangeQuery, PeerExchangeResponse, RECORDS_MAX, REQUEST_BYTES_MAX, status,
};
use libp2p::PeerId;

use super::RecordBook;
use crate::counters;
use crate::exchange::{AlreadyServed, Exchange, RateLimit, Reply, Service, Terms};

/// Streams that one peer may have open.
const STREAMS_PER_PEER_MAX: u32 = 8;
/// Requests that are answered at once.
const REQUESTS_MAX: usize = 64;

/// Serves the records of `book`.
///
/// # Errors
///
/// [`AlreadyServed`].
pub fn serve(exchange: &Exchange, book: Arc<RecordBook>, rate_limit: Option<RateLimit>) -> Result<(), AlreadyServed> {
    let terms = Terms {
        protocol: PROTOCOL,
        request_bytes_max: REQUEST_BYTES_MAX,
        streams_per_peer_max: STREAMS_PER_PEER_MAX,
        requests_max: REQUESTS_MAX,
        rate_limit,
    };
    exchange.serve(terms, Arc::new(Server { book }))
}

struct Server {
    book: Arc<RecordBook>,
}

impl Service for Server {
    fn answer(&self, peer: PeerId, request: Bytes) -> BoxFuture<'static, Reply> {
        let query = PeerExchangeQuery::decode(&request);
        let reply = match query {
            Ok(PeerExchangeQuery { peers }) => {
                let count = usize::try_from(peers).unwrap_or(RECORDS_MAX).min(RECORDS_MAX);
                let records = self.book.sample(count);
                counters::PEER_EXCHANGE_SENT.add(records.len() as u64);
                response(&records, status::SUCCESS, None)
            }
            Err(error) => {
                counters::PEER_EXCHANGE_MALFORMED.add(1);
                tracing::debug!(%peer, %error, "a peer exchange request cannot be read");
                response(&[], status::BAD_REQUEST, Some(&error.to_string()))
            }
        };
        ready(reply).boxed()
    }

    fn too_many(&self) -> Reply {
        response(&[], status::TOO_MANY_REQUESTS, None)
    }
}

fn response(records: &[Bytes], status_code: u32, status_desc: Option<&str>) -> Reply {
    let records = records.iter().map(Bytes::as_ref).collect();
    let mut out = Vec::new();
    // nwaku writes its query field as well, and reads both: an empty one costs two bytes.
    PeerExchangeQuery { peers: 0 }.encode(&mut out);
    PeerExchangeResponse { records, status_code: Some(status_code), status_desc }.encode(&mut out);
    Reply::body(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(book: &Arc<RecordBook>, request: &'static [u8]) -> (Vec<Vec<u8>>, Option<u32>, bool) {
        told(Server { book: book.clone() }.answer(PeerId::random(), request.into()).now_or_never().expect("at once"))
    }

    fn told(reply: Reply) -> (Vec<Vec<u8>>, Option<u32>, bool) {
        let Reply::Parts(parts) = reply else { panic!("an answer in one piece") };
        let bytes = parts.concat();
        let read = PeerExchangeResponse::decode(&bytes).expect("an answer");
        (read.records.iter().map(|record| record.to_vec()).collect(), read.status_code, read.status_desc.is_some())
    }

    #[test]
    fn status_200_with_as_many_records_as_asked_for_up_to_60() {
        let book = Arc::new(RecordBook::default());
        assert_eq!(asked(&book, &[0x0a, 2, 0x08, 60]), (Vec::new(), Some(200), false), "none are known");
        for number in 0..100_u8 {
            book.put(&[number], vec![number].into());
        }
        let huge = &[0x0a, 11, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        for (request, count) in [(&[0x0a, 2, 0x08, 5][..], 5), (&[0x0a, 2, 0x08, 61], 60), (huge, 60), (&[0x0a, 0], 0)]
        {
            let (records, code, has_text) = asked(&book, request);
            assert_eq!((records.len(), code, has_text), (count, Some(200), false));
        }
    }

    #[test]
    fn status_400_for_what_cannot_be_read() {
        let book = Arc::new(RecordBook::default());
        for bad in [&[][..], &[0x0a, 9], &[0x12, 0]] {
            assert_eq!(asked(&book, bad), (Vec::new(), Some(400), true), "{bad:?}");
        }
    }

    #[test]
    fn status_429_without_a_text() {
        let server = Server { book: Arc::default() };
        assert_eq!(told(server.too_many()), (Vec::new(), Some(429), false));
    }
}
