//! Writes what each target starts from into a folder per target: `seeds FOLDER`.

use std::fs;
use std::io;
use std::path::Path;

use bytes::BytesMut;
use fuzz::transport::fuzzing::{HANDSHAKE_SEEDS, MPLEX_SEEDS, RECORD_SEEDS, YAMUX_SEEDS};
use levada_wire::autonomi::{
    ChunkBody, ChunkMessage, GetResponse, MerkleCandidateQuoteRequest, ProtocolError, PutRequest, PutResponse,
    QuoteResponse, frame_head, frame_sender, frame_signature,
};
use levada_wire::gossipsub::{PublishHeader, graft, idontwant, ihave, iwant, prune, publish_topic, subscribe};
use levada_wire::mux::mplex::Mplex;
use levada_wire::mux::yamux::Yamux;
use levada_wire::mux::{Codec, Greeting, HEADER_BYTES_MAX, Header};
use levada_wire::noise;
use levada_wire::waku::Message;
use levada_wire::waku::filter::{FilterSubscribeRequest, FilterSubscribeResponse, FilterSubscribeType, push_trailer};
use levada_wire::waku::lightpush::{LightpushRequest, LightpushResponse, PushRequest, PushResponse, PushResult};
use levada_wire::waku::metadata::Metadata;
use levada_wire::waku::peer_exchange::{PeerExchangeQuery, PeerExchangeResponse};
use levada_wire::waku::store::{Entry, ResponseStatus, StoreRequest};

const TOPIC: &str = "/waku/2/rs/1/0";

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: seeds FOLDER"))?;
    let folder = Path::new(&folder);
    write(&folder.join("engine_ops"), &engine_ops())?;
    write(&folder.join("waku_message"), &waku_messages())?;
    write(&folder.join("chunk_message"), &chunk_messages())?;
    write(&folder.join("rpc"), &frames())?;
    write(&folder.join("relay_stream"), &frames())?;
    write(&folder.join("yamux"), &[stream_of(&mut Yamux::new(true)), stream_of(&mut Yamux::new(false))])?;
    write(&folder.join("mplex"), &[stream_of(&mut Mplex::default())])?;
    write(&folder.join("yamux_state"), YAMUX_SEEDS)?;
    write(&folder.join("mplex_state"), MPLEX_SEEDS)?;
    write(&folder.join("noise_record"), RECORD_SEEDS)?;
    write(&folder.join("noise_handshake"), HANDSHAKE_SEEDS)?;
    let payload = noise::encode(&[1; 36], &[2; 64], &["/yamux/1.0.0", "/mplex/6.7.0"]);
    write(&folder.join("filter"), &filter())?;
    write(&folder.join("services"), &services())?;
    write(&folder.join("noise_payload"), &[payload, noise::encode(&[1; 36], &[2; 64], &[])])
}

/// A chunk message of each shape, and one in an outer frame.
fn chunk_messages() -> Vec<Vec<u8>> {
    let (address, other, content) = (&[1; 32], &[2; 32], &[3; 40][..]);
    let mismatch = ProtocolError::AddressMismatch { expected: address, actual: other };
    let candidate =
        MerkleCandidateQuoteRequest { address, data_type: 0, data_size: 40, merkle_payment_timestamp: 1_700_000_000 };
    let bodies = [
        ChunkBody::PutRequest(PutRequest { address, content, payment_proof: Some(content) }),
        ChunkBody::PutRequest(PutRequest { address, content, payment_proof: None }),
        ChunkBody::PutResponse(PutResponse::Error(mismatch)),
        ChunkBody::PutResponse(PutResponse::PaymentRequired { message: "pay" }),
        ChunkBody::GetRequest { address },
        ChunkBody::GetResponse(GetResponse::Success { address, content }),
        ChunkBody::QuoteResponse(QuoteResponse::Success { quote: content, already_stored: true, commitment: None }),
        ChunkBody::MerkleCandidateQuoteRequestV2 { request: candidate, settlement_version: 1 },
        ChunkBody::PointerPutRequest { record: content, payment_proof: None },
    ];
    let encode = |(id, body)| ChunkMessage { request_id: id, body }.parts().slices().concat();
    let mut seeds: Vec<Vec<u8>> = (300..).zip(bodies).map(encode).collect();
    let mut frame = Vec::new();
    frame_head(seeds[0].len(), &mut frame);
    frame.extend_from_slice(&seeds[0]);
    frame_sender("ab", 1_700_000_000, "node/1", &mut frame);
    frame_signature(&[4; 20], &[5; 30], &mut frame);
    seeds.push(frame);
    seeds
}

/// A request and an answer of store, of lightpush in both versions, and of peer exchange, and a node's metadata.
fn services() -> Vec<Vec<u8>> {
    let mut seeds = vec![Vec::new(); 8];
    seeds.push(Metadata { cluster_id: Some(1), shards: vec![0, 7, 300] }.encode());
    let query = StoreRequest {
        request_id: "r",
        include_data: true,
        pubsub_topic: Some(TOPIC),
        content_topics: vec!["/a/1/b/proto"],
        time_start: Some(-1),
        time_end: Some(1_700_000_000_000_000_000),
        message_hashes: vec![[1; 32]],
        cursor: Some([2; 32]),
        forward: Some(true),
        limit: Some(100),
    };
    query.encode(&mut seeds[0]);
    let message = Message { payload: b"hello", content_topic: TOPIC, ..Message::default() };
    ResponseStatus { request_id: "r", status_code: 200, status_desc: "OK" }.put(&mut seeds[1]);
    let entry = Entry { hash: &[3; 32], body: Some((message, TOPIC)) };
    entry.put_before_payload(&mut seeds[1]);
    seeds[1].extend_from_slice(message.payload);
    entry.put_behind_payload(&mut seeds[1]);
    let data = encoded(&message);
    LightpushRequest { request_id: "r", pubsub_topic: Some(TOPIC), message: &data }.put_before_message(&mut seeds[2]);
    PushRequest { request_id: "r", push: Some((TOPIC, &data)) }.put_before_message(&mut seeds[3]);
    seeds[2].extend_from_slice(&data);
    seeds[3].extend_from_slice(&data);
    let response =
        LightpushResponse { request_id: "r", status_code: 505, status_desc: Some("no"), relay_peer_count: Some(1) };
    response.encode(&mut seeds[4]);
    let result = PushResult { is_success: true, info: Some("OK") };
    PushResponse { request_id: "r", result: Some(result) }.encode(&mut seeds[5]);
    PeerExchangeQuery { peers: 60 }.encode(&mut seeds[6]);
    let records = PeerExchangeResponse { records: vec![b"record"], status_code: Some(200), status_desc: Some("OK") };
    records.encode(&mut seeds[7]);
    seeds
}

/// A request of each kind, a response with and without words, and a push.
fn filter() -> Vec<Vec<u8>> {
    let kinds = [
        FilterSubscribeType::SubscriberPing,
        FilterSubscribeType::Subscribe,
        FilterSubscribeType::Unsubscribe,
        FilterSubscribeType::UnsubscribeAll,
    ];
    let request = |kind| {
        let content_topics = vec!["/a/1/b/proto", "/a/1/c/proto"];
        let mut out = Vec::new();
        FilterSubscribeRequest { request_id: "r", kind, pubsub_topic: Some(TOPIC), content_topics }.encode(&mut out);
        out
    };
    let response = |status_desc| {
        let mut out = Vec::new();
        FilterSubscribeResponse { request_id: "r", status_code: 404, status_desc }.encode(&mut out);
        out
    };
    let mut push = BytesMut::from(&[0x0a, 7, 0x0a, 1, 1, 0x12, 2, b'/', b'a'][..]);
    push_trailer(TOPIC, &mut push);
    kinds.map(request).into_iter().chain([response(None), response(Some("words")), push.to_vec()]).collect()
}

/// Every frame that a side can send, on two streams.
fn stream_of<C: Codec>(codec: &mut C) -> Vec<u8> {
    let mut stream = Vec::new();
    for _ in 0..2 {
        let id = codec.next_id().expect("a number");
        let (first, later) = (Greeting { opens: true, accepts: false }, Greeting { opens: false, accepts: false });
        let headers = [
            Header::Data(id, first, 3),
            Header::Credit(id, later, 1_000),
            Header::Data(id, later, 3),
            Header::Finish(id, later),
            Header::Reset(id),
            Header::Pong(7),
            Header::GoAway(0),
        ];
        for header in headers {
            let mut out = [0; HEADER_BYTES_MAX];
            let written = codec.encode(header, &mut out);
            stream.extend_from_slice(&out[..written]);
            if matches!(header, Header::Data(..)) {
                stream.extend_from_slice(b"abc");
            }
        }
    }
    stream
}

fn write(folder: &Path, seeds: &[impl AsRef<[u8]>]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    seeds.iter().enumerate().try_for_each(|(number, seed)| fs::write(folder.join(format!("{number:03}")), seed))
}

/// A few hundred operations on each ring, on the arena and on the seen set, from the beginning of the counters and across each of
/// their ends; and claims that fill the arena.
fn engine_ops() -> Vec<Vec<u8>> {
    const OPERATIONS: usize = 300;
    /// The number of the arena in the target, and more claims than it has slots.
    const ARENA: u8 = 4;
    const CLAIMS: usize = 200;
    let mut state: u32 = 1;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let starts = (0..6).flat_map(|which| [0, 61, 62].map(|start| [which, start]));
    let mut seeds: Vec<Vec<u8>> =
        starts.map(|start| start.into_iter().chain((0..2 * OPERATIONS).map(|_| random())).collect()).collect();
    seeds.push([ARENA, 0].into_iter().chain((0..CLAIMS).flat_map(|_| [0, random()])).collect());
    seeds
}

fn waku_messages() -> Vec<Vec<u8>> {
    let full = Message {
        payload: b"hello",
        content_topic: "/app/1/topic/proto",
        version: 1,
        timestamp: 1_700_000_000_000_000_000,
        meta: &[8; 64],
        proof: &[9; 30],
        ephemeral: true,
    };
    let plain = Message { payload: &[7; 200], content_topic: "/é/1/t/proto", ..Message::default() };
    [full, plain, Message::default()].iter().map(encoded).collect()
}

fn encoded(message: &Message<'_>) -> Vec<u8> {
    let mut data = vec![0; message.encoded_len()];
    message.encode_into(&mut data).expect("the buffer has the encoded length");
    data
}

/// A frame of each kind, and one of all.
fn frames() -> Vec<Vec<u8>> {
    let ids = [[1; 32], [2; 32]];
    let data = encoded(&Message { payload: b"hello", content_topic: TOPIC, ..Message::default() });
    let header = PublishHeader::new(TOPIC, data.len()).expect("a small frame");
    let mut publish = BytesMut::from(header.bare());
    publish_topic(TOPIC, &mut publish);
    publish.extend_from_slice(header.before_data());
    publish.extend_from_slice(&data);
    let mut frames = vec![publish.to_vec()];
    let writers: [&dyn Fn(&mut BytesMut); 6] = [
        &|out| subscribe(TOPIC, true, out),
        &|out| graft(TOPIC, out),
        &|out| prune(TOPIC, Some(60), out),
        &|out| ihave(TOPIC, &ids, out),
        &|out| iwant(&ids, out),
        &|out| idontwant(&ids, out),
    ];
    for write in writers {
        let mut frame = BytesMut::new();
        write(&mut frame);
        frames.push(frame.to_vec());
    }
    frames.push(frames.concat());
    frames
}
