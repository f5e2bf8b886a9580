//! The side that clients ask.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures::future::BoxFuture;
use levada_wire::waku::filter::{
    FilterSubscribeRequest, FilterSubscribeResponse, REQUEST_BYTES_MAX, SUBSCRIBE_PROTOCOL, status,
};
use libp2p::PeerId;

use super::counters::FilterCounters;
use crate::exchange::{AlreadyServed, Exchange, RateLimit, Reply, Service, Terms};

/// Streams that a client may have open; it needs one at a time.
const STREAMS_PER_PEER_MAX: u32 = 32;
/// Requests in work. Each is a few look-ups.
const REQUESTS_MAX: usize = 64;
/// As nwaku answers what it has not read.
const REQUEST_ID_UNREAD: &str = "N/A";
const TOO_MANY: &str = "filter request rejected due rate limit exceeded";

/// Keeps the subscriptions.
pub trait Registrar: Send + Sync + 'static {
    /// Does what a client asks, at once.
    fn request(&self, peer: PeerId, request: &FilterSubscribeRequest<'_>) -> Answer;
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// One of [`status`].
    pub status_code: u32,
    /// In words.
    pub status_desc: Cow<'static, str>,
}

impl Answer {
    /// The request was granted.
    pub const OK: Self = Self { status_code: status::OK, status_desc: Cow::Borrowed("OK") };
}

/// Serves subscriptions to the peers of `exchange`.
///
/// # Errors
///
/// [`AlreadyServed`].
pub fn serve(
    exchange: &Exchange,
    registrar: Arc<dyn Registrar>,
    rate_limit: Option<RateLimit>,
    counters: Arc<FilterCounters>,
) -> Result<(), AlreadyServed> {
    let terms = Terms {
        protocol: SUBSCRIBE_PROTOCOL,
        request_bytes_max: REQUEST_BYTES_MAX,
        streams_per_peer_max: STREAMS_PER_PEER_MAX,
        requests_max: REQUESTS_MAX,
        rate_limit,
    };
    exchange.serve(terms, Arc::new(Subscribing { registrar, counters }))
}

struct Subscribing {
    registrar: Arc<dyn Registrar>,
    counters: Arc<FilterCounters>,
}

impl Subscribing {
    fn reply(&self, peer: PeerId, request: &[u8]) -> Reply {
        let request = match FilterSubscribeRequest::decode(request) {
            Ok(request) => request,
            Err(error) => {
                self.counters.undecodable.add(1);
                tracing::debug!(%peer, %error, "no filter request");
                return Reply::None;
            }
        };
        let (kind, began) = (request.kind as usize, Instant::now());
        self.counters.requests[kind].add(1);
        let answer = self.registrar.request(peer, &request);
        self.counters.request_durations[kind].observe_duration(began.elapsed());
        match answer.status_code {
            status::BAD_REQUEST => self.counters.bad_requests.add(1),
            status::NOT_FOUND => self.counters.not_found.add(1),
            status::SERVICE_UNAVAILABLE => self.counters.unavailable.add(1),
            _ => {}
        }
        response(request.request_id, &answer)
    }
}

impl Service for Subscribing {
    fn answer(&self, peer: PeerId, request: Bytes) -> BoxFuture<'static, Reply> {
        Box::pin(std::future::ready(self.reply(peer, &request)))
    }

    fn too_many(&self) -> Reply {
        let answer = Answer { status_code: status::TOO_MANY_REQUESTS, status_desc: TOO_MANY.into() };
        response(REQUEST_ID_UNREAD, &answer)
    }
}

fn response(request_id: &str, answer: &Answer) -> Reply {
    let Answer { status_code, status_desc } = answer;
    let response = FilterSubscribeResponse { request_id, status_code: *status_code, status_desc: Some(status_desc) };
    let mut message = Vec::with_capacity(request_id.len() + status_desc.len() + 16);
    response.encode(&mut message);
    Reply::body(message)
}
