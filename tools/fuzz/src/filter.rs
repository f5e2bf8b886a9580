//! Filter's request, response and push beside prost, all three tried on the same bytes: their fields overlap.
#![no_main]

use fuzz::mutate::mutate;
use fuzz::shapes::FILTER;
use levada_wire::error::ServiceError;
use levada_wire::waku::filter::{
    CONTENT_TOPICS_MAX, FilterSubscribeRequest, FilterSubscribeResponse, MessagePush, PushHeader, push_trailer,
};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use prost::Message;

#[derive(Clone, PartialEq, prost::Message)]
struct Request {
    #[prost(string, optional, tag = "1")]
    request_id: Option<String>,
    #[prost(uint64, tag = "2")]
    kind: u64,
    #[prost(string, optional, tag = "10")]
    pubsub_topic: Option<String>,
    #[prost(string, repeated, tag = "11")]
    content_topics: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Response {
    #[prost(string, optional, tag = "1")]
    request_id: Option<String>,
    #[prost(uint64, optional, tag = "10")]
    status_code: Option<u64>,
    #[prost(string, optional, tag = "11")]
    status_desc: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Push {
    #[prost(bytes = "vec", optional, tag = "1")]
    message: Option<Vec<u8>>,
    #[prost(string, optional, tag = "2")]
    pubsub_topic: Option<String>,
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(data, size, max_size, seed, FILTER)
});

fuzz_target!(|data: &[u8]| {
    request(data);
    response(data);
    push(data);
});

fn request(data: &[u8]) {
    let read = FilterSubscribeRequest::decode(data);
    if let (Ok(ours), Ok(theirs)) = (&read, Request::decode(data)) {
        assert_eq!((Some(ours.request_id), ours.kind as u64), (theirs.request_id.as_deref(), theirs.kind));
        assert_eq!(ours.pubsub_topic, theirs.pubsub_topic.as_deref());
        let kept = theirs.content_topics.iter().take(CONTENT_TOPICS_MAX + 1);
        assert!(ours.content_topics.iter().eq(kept));
    }
    if let Ok(ours) = read {
        let mut again = Vec::new();
        ours.encode(&mut again);
        assert_eq!(FilterSubscribeRequest::decode(&again).as_ref(), Ok(&ours));
    } else if let Ok(theirs) = Request::decode(data) {
        let is_whole = theirs.request_id.is_some() && theirs.kind <= 3;
        assert!(!is_whole || is_about_framing(read.err()), "prost reads {theirs:?}");
    }
}

fn response(data: &[u8]) {
    let read = FilterSubscribeResponse::decode(data);
    if let (Ok(ours), Ok(theirs)) = (&read, Response::decode(data)) {
        assert_eq!(
            (Some(ours.request_id), ours.status_desc),
            (theirs.request_id.as_deref(), theirs.status_desc.as_deref())
        );
        assert_eq!(Some(u64::from(ours.status_code)), theirs.status_code);
    }
    if let Ok(ours) = read {
        let mut again = Vec::new();
        ours.encode(&mut again);
        assert_eq!(FilterSubscribeResponse::decode(&again).as_ref(), Ok(&ours));
    }
}

fn push(data: &[u8]) {
    let Ok(ours) = MessagePush::decode(data) else { return };
    let message = ours.message.of(data);
    if let Ok(theirs) = Push::decode(data) {
        assert_eq!(
            (Some(message), Some(ours.pubsub_topic)),
            (theirs.message.as_deref(), theirs.pubsub_topic.as_deref())
        );
    }
    let header = PushHeader::new(ours.pubsub_topic, message.len()).expect("it was short enough to be read");
    let mut trailer = bytes::BytesMut::new();
    push_trailer(ours.pubsub_topic, &mut trailer);
    let wire = [header.framed(), message, &trailer].concat();
    let body = levada_wire::varint::decode_frame(&wire, u32::MAX).expect("a frame").expect("all of it");
    let again = MessagePush::decode(body.of(&wire)).expect("our own push");
    assert_eq!((again.message.of(body.of(&wire)), again.pubsub_topic), (message, ours.pubsub_topic));
}

/// Groups, which prost steps over, are in no message of ours; nor does it mind a number of more than 32 bits where a later field of the
/// same number is smaller.
fn is_about_framing(error: Option<ServiceError>) -> bool {
    matches!(error, Some(ServiceError::Wire(_) | ServiceError::ValueTooLarge { .. }))
}
