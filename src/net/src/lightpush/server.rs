//! The server of both versions.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use levada_engine::Counter;
use levada_wire::waku::lightpush::{
    LightpushRequest, LightpushResponse, OVERHEAD_BYTES_MAX, PROTOCOL_V2, PROTOCOL_V3, PushRequest, PushResponse,
    PushResult, status,
};
use libp2p::PeerId;

use super::{Publisher, Push, PushFailure};
use crate::counters;
use crate::exchange::{AlreadyServed, Exchange, RateLimit, Reply, Service, Terms};

/// Streams that one peer may have open.
const STREAMS_PER_PEER_MAX: u32 = 20;
/// Messages that are on their way at once.
const REQUESTS_MAX: usize = 128;

const DECODE_FAILURE: &str = "decode_rpc_failure";
const EMPTY_REQUEST: &str = "empty_request_body_failure";
const TOO_MANY: &str = "TOO_MANY_REQUESTS";
/// Where no request id is known.
const NO_ID: &str = "N/A";

/// Where the outcomes of a version are counted.
struct Counted {
    published: &'static Counter,
    refused: &'static Counter,
}

static V2_COUNTERS: Counted =
    Counted { published: &counters::LIGHTPUSH_V2_PUBLISHED, refused: &counters::LIGHTPUSH_V2_REFUSED };
static V3_COUNTERS: Counted =
    Counted { published: &counters::LIGHTPUSH_V3_PUBLISHED, refused: &counters::LIGHTPUSH_V3_REFUSED };

/// Serves both versions through `publisher`, each with a rate limit of its own. A request that is over `message_bytes_max` by more than
/// a frame may add is refused unread.
///
/// # Errors
///
/// [`AlreadyServed`].
pub fn serve(
    exchange: &Exchange,
    publisher: &Arc<dyn Publisher>,
    message_bytes_max: usize,
    rate_limit: Option<RateLimit>,
) -> Result<(), AlreadyServed> {
    // A message just over the limit is read, so that its client is told why it is refused.
    let request_bytes_max = 2 * message_bytes_max + OVERHEAD_BYTES_MAX;
    let terms = |protocol| Terms {
        protocol,
        request_bytes_max,
        streams_per_peer_max: STREAMS_PER_PEER_MAX,
        requests_max: REQUESTS_MAX,
        rate_limit,
    };
    exchange.serve(terms(PROTOCOL_V3), Arc::new(V3 { publisher: publisher.clone(), request_bytes_max }))?;
    exchange.serve(terms(PROTOCOL_V2), Arc::new(V2 { publisher: publisher.clone(), request_bytes_max }))
}

struct V3 {
    publisher: Arc<dyn Publisher>,
    request_bytes_max: usize,
}

impl Service for V3 {
    fn answer(&self, peer: PeerId, request: Bytes) -> BoxFuture<'static, Reply> {
        let parsed = match LightpushRequest::decode(&request, self.request_bytes_max) {
            Ok(parsed) => parsed,
            Err(error) => {
                counters::LIGHTPUSH_V3_MALFORMED.add(1);
                let desc = format!("{DECODE_FAILURE}: {error}");
                return ready(response(NO_ID, status::BAD_REQUEST, Some(&desc), None)).boxed();
            }
        };
        let request_id = parsed.request_id.to_owned();
        let push =
            Push { pubsub_topic: parsed.pubsub_topic.map(str::to_owned), message: request.slice_ref(parsed.message) };
        let published = publish(&*self.publisher, push, peer, &V3_COUNTERS);
        async move {
            match published.await {
                Ok(peers) => response(&request_id, status::SUCCESS, None, Some(peers)),
                Err(failure) => response(&request_id, failure.status_code(), Some(&failure.to_string()), None),
            }
        }
        .boxed()
    }

    fn too_many(&self) -> Reply {
        response(NO_ID, status::TOO_MANY_REQUESTS, Some(TOO_MANY), None)
    }
}

fn response(request_id: &str, status_code: u32, status_desc: Option<&str>, relay_peer_count: Option<u32>) -> Reply {
    let mut out = Vec::new();
    LightpushResponse { request_id, status_code, status_desc, relay_peer_count }.encode(&mut out);
    Reply::body(out)
}

struct V2 {
    publisher: Arc<dyn Publisher>,
    request_bytes_max: usize,
}

impl Service for V2 {
    fn answer(&self, peer: PeerId, request: Bytes) -> BoxFuture<'static, Reply> {
        let parsed = match PushRequest::decode(&request, self.request_bytes_max) {
            Ok(parsed) => parsed,
            Err(error) => {
                counters::LIGHTPUSH_V2_MALFORMED.add(1);
                return ready(result("", false, &format!("{DECODE_FAILURE}: {error}"))).boxed();
            }
        };
        let Some((pubsub_topic, message)) = parsed.push else {
            counters::LIGHTPUSH_V2_MALFORMED.add(1);
            return ready(result("", false, EMPTY_REQUEST)).boxed();
        };
        let request_id = parsed.request_id.to_owned();
        let push = Push { pubsub_topic: Some(pubsub_topic.to_owned()), message: request.slice_ref(message) };
        let published = publish(&*self.publisher, push, peer, &V2_COUNTERS);
        async move {
            let info = published.await.map_or_else(|failure| Err(failure.info()), |_| Ok(Cow::Borrowed("OK")));
            match info {
                Ok(info) => result(&request_id, true, &info),
                Err(info) => result(&request_id, false, &info),
            }
        }
        .boxed()
    }

    fn too_many(&self) -> Reply {
        result(NO_ID, false, TOO_MANY)
    }
}

fn result(request_id: &str, is_success: bool, info: &str) -> Reply {
    let mut out = Vec::new();
    PushResponse { request_id, result: Some(PushResult { is_success, info: Some(info) }) }.encode(&mut out);
    Reply::body(out)
}

/// Publishes, and counts what becomes of it.
fn publish(
    publisher: &dyn Publisher,
    push: Push,
    peer: PeerId,
    counted: &'static Counted,
) -> BoxFuture<'static, Result<u32, PushFailure>> {
    // What is only white space would be no topic to any router.
    let published = match push.pubsub_topic.as_deref().map(str::trim) {
        Some("") => ready(Err(PushFailure::EmptyTopic)).boxed(),
        _ => publisher.publish(push),
    };
    published
        .inspect(move |published| match published {
            Ok(_) => counted.published.add(1),
            Err(failure) => {
                counted.refused.add(1);
                tracing::debug!(%peer, %failure, "a pushed message is not published");
            }
        })
        .boxed()
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    /// Does with every message as it is told to.
    struct Told(Result<u32, PushFailure>);

    impl Publisher for Told {
        fn publish(&self, push: Push) -> BoxFuture<'static, Result<u32, PushFailure>> {
            assert_eq!(push.message, &b"m"[..]);
            ready(self.0.clone()).boxed()
        }
    }

    fn v3(outcome: Result<u32, PushFailure>) -> V3 {
        V3 { publisher: Arc::new(Told(outcome)), request_bytes_max: 1_000 }
    }

    fn v2(outcome: Result<u32, PushFailure>) -> V2 {
        V2 { publisher: Arc::new(Told(outcome)), request_bytes_max: 1_000 }
    }

    fn bytes(reply: Reply) -> Vec<u8> {
        let Reply::Parts(parts) = reply else { panic!("an answer in one piece") };
        parts.concat()
    }

    fn request_v3(pubsub_topic: Option<&str>) -> Bytes {
        let mut out = Vec::new();
        LightpushRequest { request_id: "7", pubsub_topic, message: b"m" }.put_before_message(&mut out);
        out.push(b'm');
        out.into()
    }

    fn request_v2(topic: &str) -> Bytes {
        let mut out = Vec::new();
        PushRequest { request_id: "7", push: Some((topic, b"m")) }.put_before_message(&mut out);
        out.push(b'm');
        out.into()
    }

    /// Id, status and text of version 3.
    fn answer_v3(outcome: Result<u32, PushFailure>, request: Bytes) -> (String, u32, Option<String>, Option<u32>) {
        let bytes = bytes(block_on(v3(outcome).answer(PeerId::random(), request)));
        let read = LightpushResponse::decode(&bytes).expect("a response");
        (read.request_id.to_owned(), read.status_code, read.status_desc.map(str::to_owned), read.relay_peer_count)
    }

    /// Id, success and text of version 2.
    fn answer_v2(outcome: Result<u32, PushFailure>, request: Bytes) -> (String, bool, String) {
        told_v2(block_on(v2(outcome).answer(PeerId::random(), request)))
    }

    fn told_v2(reply: Reply) -> (String, bool, String) {
        let bytes = bytes(reply);
        let read = PushResponse::decode(&bytes).expect("a response");
        let result = read.result.expect("a result");
        (read.request_id.to_owned(), result.is_success, result.info.expect("a text").to_owned())
    }

    /// Every failure with its status, its text in version 3 and its text in version 2.
    fn failures() -> Vec<(PushFailure, u32, &'static str, &'static str)> {
        let static_sharding = "Pubsub topic must be specified when static sharding is enabled";
        let too_large = "Message size exceeded maximum of 153600 bytes";
        let not_published = "not_published_to_any_peer";
        let invalid = |text: &str| PushFailure::Invalid(text.to_owned());
        vec![
            (PushFailure::EmptyTopic, 400, "topic must not be empty", not_published),
            (PushFailure::TopicMissing, 420, static_sharding, static_sharding),
            (PushFailure::ContentTopic("x".to_owned()), 420, "Invalid content-topic: x", "Invalid content-topic: x"),
            (PushFailure::UnsupportedTopic, 421, "this node does not relay the pubsub topic", not_published),
            (invalid("validator"), 420, "validator", "validator"),
            (PushFailure::TooLarge { bytes_max: 153_600 }, 420, too_large, too_large),
            (PushFailure::Duplicate, 420, "Dropping already-seen message", not_published),
            (PushFailure::NoPeers, 505, "No peers for topic, skipping publish", not_published),
            (PushFailure::Unavailable("full".to_owned()), 503, "full", "full"),
        ]
    }

    #[test]
    fn statuses_400_420_421_503_and_505_with_their_texts() {
        for (failure, code, desc, info) in failures() {
            let answer = answer_v3(Err(failure.clone()), request_v3(Some("/t")));
            assert_eq!(answer, ("7".to_owned(), code, Some(desc.to_owned()), None), "{failure:?}");
            let answer = answer_v2(Err(failure.clone()), request_v2("/t"));
            assert_eq!(answer, ("7".to_owned(), false, info.to_owned()), "{failure:?}");
        }
    }

    #[test]
    fn status_200_tells_how_many_peers() {
        for topic in [None, Some("/t")] {
            assert_eq!(answer_v3(Ok(3), request_v3(topic)), ("7".to_owned(), 200, None, Some(3)));
        }
        assert_eq!(answer_v2(Ok(3), request_v2("/t")), ("7".to_owned(), true, "OK".to_owned()));
    }

    #[test]
    fn an_empty_topic_is_no_topic() {
        for topic in ["", "  \t"] {
            let (_, code, desc, _) = answer_v3(Ok(1), request_v3(Some(topic)));
            assert_eq!((code, desc.as_deref()), (400, Some("topic must not be empty")));
            assert_eq!(answer_v2(Ok(1), request_v2(topic)).2, "not_published_to_any_peer");
        }
    }

    #[test]
    fn what_cannot_be_read_is_answered_without_its_id() {
        for bad in [&[][..], &[0x0b], &[0x0a, 9], &[0x0a, 1, b'7']] {
            let (id, code, desc, _) = answer_v3(Ok(1), bad.into());
            assert_eq!((id.as_str(), code), ("N/A", 400), "{bad:?}");
            assert!(desc.is_some_and(|desc| desc.starts_with("decode_rpc_failure: ")));
        }
        for bad in [&[][..], &[0x0b], &[0x0a, 9], &[0x0a, 0, 0x12, 0]] {
            let (id, is_success, info) = answer_v2(Ok(1), bad.into());
            assert_eq!((id.as_str(), is_success), ("", false), "{bad:?}");
            assert!(info.starts_with("decode_rpc_failure: "), "{info}");
        }
        let empty = answer_v2(Ok(1), Bytes::from_static(&[0x0a, 1, b'7']));
        assert_eq!(empty, (String::new(), false, "empty_request_body_failure".to_owned()));
    }

    #[test]
    fn status_429_says_not_applicable() {
        let bytes = bytes(v3(Ok(1)).too_many());
        let read = LightpushResponse::decode(&bytes).expect("a response");
        assert_eq!((read.request_id, read.status_code, read.status_desc), ("N/A", 429, Some("TOO_MANY_REQUESTS")));
        let told = told_v2(v2(Ok(1)).too_many());
        assert_eq!(told, ("N/A".to_owned(), false, "TOO_MANY_REQUESTS".to_owned()));
    }
}
