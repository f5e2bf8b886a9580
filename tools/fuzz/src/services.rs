//! What the service protocols ask and answer: whatever is read is written and read again the same; a store query and a lightpush request
//! are read beside prost too.
#![no_main]

use fuzz::mutate::mutate;
use fuzz::tree::Kind::{Bytes, Message as Nested, Number};
use fuzz::tree::Shape;
use levada_wire::error::{ServiceError, WireError};
use levada_wire::waku::lightpush::{LightpushRequest, LightpushResponse, PushRequest, PushResponse};
use levada_wire::waku::metadata::{METADATA_BYTES_MAX, Metadata};
use levada_wire::waku::peer_exchange::{PeerExchangeQuery, PeerExchangeResponse};
use levada_wire::waku::store::{StoreRequest, StoreResponse};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use prost::Message as _;

/// The fields of all these messages, where their numbers do not meet.
const MESSAGE: Shape = &[
    (1, Bytes),
    (2, Nested(&[(1, Bytes), (2, Bytes), (10, Number), (11, Bytes)])),
    (3, Nested(&[(1, Number), (2, Bytes)])),
    (10, Number),
    (11, Bytes),
    (12, Number),
    (13, Number),
    (20, Nested(&[(1, Bytes), (2, Bytes), (3, Bytes)])),
    (21, Bytes),
    (51, Bytes),
    (52, Number),
    (53, Number),
];

/// StoreQueryRequest as prost reads it.
#[derive(Clone, PartialEq, prost::Message)]
struct Query {
    #[prost(string, optional, tag = "1")]
    request_id: Option<String>,
    #[prost(bool, tag = "2")]
    include_data: bool,
    #[prost(string, optional, tag = "10")]
    pubsub_topic: Option<String>,
    #[prost(string, repeated, tag = "11")]
    content_topics: Vec<String>,
    #[prost(sint64, optional, tag = "12")]
    time_start: Option<i64>,
    #[prost(sint64, optional, tag = "13")]
    time_end: Option<i64>,
    #[prost(bytes = "vec", repeated, tag = "20")]
    message_hashes: Vec<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "51")]
    cursor: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "52")]
    forward: Option<bool>,
    #[prost(uint64, optional, tag = "53")]
    limit: Option<u64>,
}

/// LightpushRequest as prost reads it.
#[derive(Clone, PartialEq, prost::Message)]
struct Push {
    #[prost(string, optional, tag = "1")]
    request_id: Option<String>,
    #[prost(string, optional, tag = "20")]
    pubsub_topic: Option<String>,
    #[prost(bytes = "vec", optional, tag = "21")]
    message: Option<Vec<u8>>,
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(data, size, max_size, seed, MESSAGE)
});

fuzz_target!(|data: &[u8]| {
    store(data);
    lightpush(data);
    peer_exchange(data);
    metadata(data);
});

fn store(data: &[u8]) {
    match (StoreRequest::decode(data), Query::decode(data)) {
        (Ok(read), Ok(query)) => {
            assert_eq!(Some(read.request_id), query.request_id.as_deref());
            assert_eq!((read.include_data, read.pubsub_topic), (query.include_data, query.pubsub_topic.as_deref()));
            assert!(read.content_topics.iter().eq(query.content_topics.iter()));
            assert_eq!((read.time_start, read.time_end), (query.time_start, query.time_end));
            assert!(
                read.message_hashes.iter().map(<[u8; 32]>::as_slice).eq(query.message_hashes.iter().map(Vec::as_slice))
            );
            assert_eq!(read.cursor.as_ref().map(<[u8; 32]>::as_slice), query.cursor.as_deref());
            assert_eq!((read.forward, read.limit), (query.forward, query.limit));
        }
        (Err(error), Ok(query)) => assert!(is_stricter(&error), "{error:?}, and prost reads {query:?}"),
        (read, Err(error)) => assert!(is_excused(read.is_err(), &error), "{read:?}, and prost says: {error}"),
    }
    if let Ok(read) = StoreRequest::decode(data) {
        let mut out = Vec::new();
        read.encode(&mut out);
        assert_eq!(StoreRequest::decode(&out), Ok(read));
    }
    if let Ok(read) = StoreResponse::decode(data, data.len()) {
        let held: usize =
            read.messages.iter().filter_map(|entry| entry.body).map(|(data, topic)| data.len() + topic.len()).sum();
        assert!(held <= data.len());
    }
}

fn lightpush(data: &[u8]) {
    match (LightpushRequest::decode(data, data.len()), Push::decode(data)) {
        (Ok(read), Ok(push)) => {
            assert_eq!(
                (Some(read.request_id), read.pubsub_topic),
                (push.request_id.as_deref(), push.pubsub_topic.as_deref())
            );
            assert_eq!(Some(read.message), push.message.as_deref());
            let mut out = Vec::new();
            read.put_before_message(&mut out);
            out.extend_from_slice(read.message);
            assert_eq!((LightpushRequest::decode(&out, out.len()), out.len()), (Ok(read), read.encoded_len()));
        }
        (Err(error), Ok(push)) => assert!(is_stricter(&error), "{error:?}, and prost reads {push:?}"),
        (read, Err(error)) => assert!(is_excused(read.is_err(), &error), "{read:?}, and prost says: {error}"),
    }
    if let Ok(read) = LightpushResponse::decode(data) {
        let mut out = Vec::new();
        read.encode(&mut out);
        assert_eq!(LightpushResponse::decode(&out), Ok(read));
    }
    if let Ok(read) = PushRequest::decode(data, data.len()) {
        let mut out = Vec::new();
        read.put_before_message(&mut out);
        out.extend_from_slice(read.push.map_or(&[], |(_, message)| message));
        assert_eq!(PushRequest::decode(&out, out.len()), Ok(read));
    }
    if let Ok(read) = PushResponse::decode(data) {
        let mut out = Vec::new();
        read.encode(&mut out);
        assert_eq!(PushResponse::decode(&out), Ok(read));
    }
}

fn peer_exchange(data: &[u8]) {
    if let Ok(read) = PeerExchangeQuery::decode(data) {
        let mut out = Vec::new();
        read.encode(&mut out);
        assert_eq!(PeerExchangeQuery::decode(&out), Ok(read));
    }
    if let Ok(read) = PeerExchangeResponse::decode(data) {
        let mut out = Vec::new();
        read.encode(&mut out);
        assert_eq!(PeerExchangeResponse::decode(&out), Ok(read));
    }
}

/// Not all shards that can be read can be told, but the first ones always are.
fn metadata(data: &[u8]) {
    if let Ok(read) = Metadata::decode(data) {
        let (told, out) = (read.told().1, read.encode());
        assert!(out.len() <= METADATA_BYTES_MAX, "{} bytes", out.len());
        assert_eq!(Metadata::decode(&out), Ok(Metadata { shards: read.shards[..told].to_vec(), ..read }));
    }
}

/// Refused here on purpose, though protobuf has it.
fn is_stricter(error: &ServiceError) -> bool {
    !matches!(error, ServiceError::Wire(error) if !matches!(error, WireError::Group { .. }))
}

/// Both refuse, or a known field of another wire type was passed over here, as nwaku does.
fn is_excused(both: bool, error: &prost::DecodeError) -> bool {
    both || error.to_string().contains("invalid wire type: ")
}
