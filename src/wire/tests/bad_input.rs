//! Bytes that nobody meant to send: every reader of this crate gives a value or a typed error, and never panics.

mod random;

use levada_wire::error::DecodeError;
use levada_wire::gossipsub::{RpcItem, RpcLimits, RpcWalk};
use levada_wire::varint::{decode_frame, encode};
use levada_wire::waku::lightpush::{LightpushRequest, LightpushResponse, PushRequest, PushResponse};
use levada_wire::waku::message::{Message, decode};
use levada_wire::waku::metadata::Metadata;
use levada_wire::waku::peer_exchange::{PeerExchangeQuery, PeerExchangeResponse};
use levada_wire::waku::sharding::shard_of;
use levada_wire::waku::store::{StoreRequest, StoreResponse};
use levada_wire::waku::topics::PubsubTopic;
use random::SplitMix;

const INPUTS: u32 = 100_000;

/// Reads `bytes` as everything this crate reads.
fn read_all(bytes: &[u8]) {
    if let Ok(spans) = decode(bytes) {
        let message = spans.view(bytes);
        assert!(message.payload.len() + message.content_topic.len() <= bytes.len());
    }
    for item in RpcWalk::new(bytes, RpcLimits::default()).into_iter().flatten() {
        match item {
            Ok(RpcItem::IHave { ids, .. } | RpcItem::IWant { ids } | RpcItem::IDontWant { ids }) => {
                assert_eq!(ids.of(bytes).count(), ids.count as usize);
            }
            Ok(RpcItem::Publish(publication)) => {
                assert_eq!(publication.data.of(bytes).len(), publication.data.len as usize);
                if let Ok(spans) = decode(publication.data.of(bytes)) {
                    spans.view(publication.data.of(bytes));
                }
            }
            _ => {}
        }
    }
    if let Ok(Some(frame)) = decode_frame(bytes, 1_000) {
        assert_eq!(frame.of(bytes).len(), frame.len as usize);
    }
    // All refuse or read; what they read has its own tests.
    Metadata::decode(bytes).ok();
    StoreRequest::decode(bytes).ok();
    StoreResponse::decode(bytes, bytes.len()).ok();
    LightpushRequest::decode(bytes, bytes.len()).ok();
    LightpushResponse::decode(bytes).ok();
    PushRequest::decode(bytes, bytes.len()).ok();
    PushResponse::decode(bytes).ok();
    PeerExchangeQuery::decode(bytes).ok();
    PeerExchangeResponse::decode(bytes).ok();
    if let Ok(text) = std::str::from_utf8(bytes) {
        PubsubTopic::parse(text).ok();
        shard_of(text, 8).ok();
    }
}

#[test]
fn random_bytes() {
    let mut random = SplitMix(1);
    for _ in 0..INPUTS {
        // Small values make more valid keys and lengths than uniform bytes do.
        let mask = [0xff, 0x3f, 0x1f][random.below(3)];
        let len = random.below(120);
        let bytes: Vec<u8> = (0..len).map(|_| random.next() as u8 & mask).collect();
        read_all(&bytes);
    }
}

#[test]
fn changed_frames() {
    let frames = [
        "124912370a1266726f6d206a732d77616b752072656c617912122f72696e672f312f746573742f70726f746f18005080d3f6d7c7bfce972ff8\
         0100220e2f77616b752f322f72732f312f30",
        "0a120801120e2f77616b752f322f72732f312f301a1422120a0e2f77616b752f322f72732f312f30183c",
        "1a340a320a0e2f77616b752f322f72732f312f301220796c985cc82da7e0cb4bfcb45d43c893fbd29b79e7602fb7cb595b153aef731c",
    ];
    let frames = frames.map(|frame| hex::decode(frame).expect("a frame is hex"));
    let mut random = SplitMix(2);
    for _ in 0..INPUTS {
        let mut frame = frames[random.below(frames.len())].clone();
        for _ in 0..=random.below(3) {
            let at = random.below(frame.len());
            frame[at] = random.next() as u8;
        }
        read_all(&frame);
    }
}

#[test]
fn a_message_cut_at_every_length() {
    let message = Message {
        payload: &[7; 200],
        content_topic: "/app/1/topic/proto",
        version: 300,
        timestamp: 1_700_000_000_000_000_000,
        meta: &[8; 64],
        proof: &[9; 289],
        ephemeral: true,
    };
    let mut data = vec![0; message.encoded_len()];
    message.encode_into(&mut data).expect("the buffer fits");
    let payload_end = 3 + 200;
    let required_end = payload_end + 2 + 18;
    let field_ends = [required_end, required_end + 3, required_end + 13, required_end + 79, required_end + 372];
    for cut in 0..data.len() {
        let decoded = decode(&data[..cut]);
        let at_field_end = field_ends.contains(&cut);
        assert_eq!(decoded.is_ok(), at_field_end, "{cut} bytes");
        if let Err(error) = decoded {
            let missing = cut == 0 || cut == payload_end;
            assert_eq!(matches!(error, DecodeError::Missing { .. }), missing, "{cut} bytes: {error}");
        }
    }
    assert_eq!(decode(&data).map(|spans| spans.view(&data)), Ok(message));
}

#[test]
fn a_length_at_every_power_of_two() {
    for bit in 0..64 {
        for len in [1u64 << bit, (1u64 << bit).wrapping_neg()] {
            let mut data = vec![0x0a; 1];
            let mut prefix = [0; 10];
            let written = encode(len, &mut prefix).expect("ten bytes hold any varint");
            data.extend(&prefix[..written]);
            read_all(&data);
            read_all(&prefix[..written]);
        }
    }
}
