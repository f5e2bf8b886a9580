//! The server.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use levada_wire::waku::store::{PROTOCOL, REQUEST_BYTES_MAX, StoreRequest, status};
use libp2p::PeerId;

use super::{Pages, answer};
use crate::counters;
use crate::exchange::{AlreadyServed, Exchange, RateLimit, Reply, Service, Terms};

/// Streams that one peer may have open. js-waku uses a few at once, and keeps one ahead of need.
const STREAMS_PER_PEER_MAX: u32 = 20;
/// Queries that are answered at once; each waits for its turn at the archive inside.
const REQUESTS_MAX: usize = 256;

/// The terms on which store is served, without a rate limit.
pub const TERMS: Terms = Terms {
    protocol: PROTOCOL,
    request_bytes_max: REQUEST_BYTES_MAX,
    streams_per_peer_max: STREAMS_PER_PEER_MAX,
    requests_max: REQUESTS_MAX,
    rate_limit: None,
};

/// Serves store from `pages`.
///
/// # Errors
///
/// [`AlreadyServed`].
pub fn serve(exchange: &Exchange, pages: Arc<dyn Pages>, rate_limit: Option<RateLimit>) -> Result<(), AlreadyServed> {
    exchange.serve(Terms { rate_limit, ..TERMS }, Arc::new(Server { pages }))
}

struct Server {
    pages: Arc<dyn Pages>,
}

impl Service for Server {
    fn answer(&self, peer: PeerId, request: Bytes) -> BoxFuture<'static, Reply> {
        let parsed = match StoreRequest::decode(&request) {
            Ok(parsed) => parsed,
            Err(error) => {
                counters::STORE_MALFORMED.add(1);
                tracing::debug!(%peer, %error, "a store query cannot be read");
                // No request id is known; nwaku leaves it empty.
                let reply =
                    answer::failure("", status::BAD_REQUEST, &format!("BAD_REQUEST: decoding rpc failed: {error}"));
                return futures::future::ready(reply).boxed();
            }
        };
        counters::STORE_QUERIES.add(1);
        let request_id = parsed.request_id.to_owned();
        let page = self.pages.page(&parsed);
        async move {
            match page.await {
                Ok(page) => {
                    counters::STORE_ROWS_SENT.add(page.rows.len() as u64);
                    answer::page(&request_id, page)
                }
                Err(failure) => {
                    counters::STORE_FAILURES.add(1);
                    tracing::debug!(%peer, %failure, "a store query has no page");
                    answer::failure(&request_id, failure.status_code(), &failure.to_string())
                }
            }
        }
        .boxed()
    }

    fn too_many(&self) -> Reply {
        answer::failure("N/A", status::TOO_MANY_REQUESTS, "TOO_MANY_REQUESTS")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::FutureExt;
    use futures::executor::block_on;
    use futures::future::{BoxFuture, ready};
    use levada_wire::waku::store::{StoreRequest, StoreResponse};

    use super::super::{Pages, StoreFailure, StorePage};
    use super::Server;
    use crate::PeerId;
    use crate::exchange::{Reply, Service};

    /// Fails on every query as it is told to.
    struct Failing(StoreFailure);

    impl Pages for Failing {
        fn page(&self, _: &StoreRequest<'_>) -> BoxFuture<'static, Result<StorePage, StoreFailure>> {
            ready(Err(self.0.clone())).boxed()
        }
    }

    fn told(reply: Reply) -> (String, u32, String) {
        let Reply::Parts(parts) = reply else { panic!("an answer in one piece") };
        let bytes = parts.concat();
        let read = StoreResponse::decode(&bytes, bytes.len()).expect("an answer");
        (read.request_id.to_owned(), read.status_code, read.status_desc.to_owned())
    }

    fn answered(failure: StoreFailure, request: &'static [u8]) -> (String, u32, String) {
        let server = Server { pages: Arc::new(Failing(failure)) };
        told(block_on(server.answer(PeerId::random(), request.into())))
    }

    #[test]
    fn status_300_is_any_error_of_the_archive() {
        let invalid = answered(StoreFailure::Invalid("all zeroes cursor hash".to_owned()), &[0x0a, 1, b'7']);
        let text = "BAD_RESPONSE: archive error: INVALID_QUERY: all zeroes cursor hash";
        assert_eq!(invalid, ("7".to_owned(), 300, text.to_owned()));
        let driver = answered(StoreFailure::Driver("cursor not found".to_owned()), &[0x0a, 1, b'7']);
        let text = "BAD_RESPONSE: archive error: DRIVER_ERROR: cursor not found";
        assert_eq!(driver, ("7".to_owned(), 300, text.to_owned()));
    }

    #[test]
    fn status_503_when_there_is_no_room_for_the_answer() {
        let unavailable = answered(StoreFailure::Unavailable, &[0x0a, 1, b'7']);
        assert_eq!(unavailable, ("7".to_owned(), 503, "SERVICE_UNAVAILABLE".to_owned()));
    }

    #[test]
    fn status_400_for_what_cannot_be_read_without_a_request_id() {
        for bad in [&[][..], &[0x0a, 9], &[0x0b], &[0x0a, 0, 0x9a, 0x03, 1, 7]] {
            let (id, code, text) = answered(StoreFailure::Unavailable, bad);
            assert_eq!((id.as_str(), code), ("", 400), "{bad:?}");
            assert!(text.starts_with("BAD_REQUEST: decoding rpc failed: "), "{text}");
        }
    }

    #[test]
    fn status_429_says_not_applicable() {
        let server = Server { pages: Arc::new(Failing(StoreFailure::Unavailable)) };
        assert_eq!(told(server.too_many()), ("N/A".to_owned(), 429, "TOO_MANY_REQUESTS".to_owned()));
    }
}
