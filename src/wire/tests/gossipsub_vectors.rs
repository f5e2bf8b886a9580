//! Every RPC frame of a recorded session between a js-waku relay and a raw gossipsub peer: read, and written again.

use bytes::BytesMut;
use levada_wire::Span;
use levada_wire::gossipsub::{
    MessageIds, PublishHeader, RpcItem, RpcLimits, RpcWalk, graft, ihave, iwant, prune, publish_topic, subscribe,
};
use levada_wire::hash::{Digest, Hex};
use levada_wire::waku::message::decode;
use serde_json::{Value, json};

fn frames() -> Vec<(Vec<u8>, Value)> {
    let recording: Value =
        serde_json::from_str(include_str!("vectors/jswaku-gossipsub-rpc.json")).expect("the vectors are JSON");
    let frames = recording["frames"].as_array().expect("a list").iter();
    let with_bytes = frames.filter_map(|frame| Some((frame["rpc"].as_str()?, frame["decoded"].clone())));
    with_bytes.map(|(rpc, decoded)| (hex::decode(rpc).expect("a frame is hex"), decoded)).collect()
}

fn items(frame: &[u8]) -> Vec<RpcItem> {
    let walk = RpcWalk::new(frame, RpcLimits::default()).expect("within the limit");
    walk.collect::<Result<_, _>>().expect("a well-formed frame")
}

fn name(topic: Span, frame: &[u8]) -> &str {
    std::str::from_utf8(topic.of(frame)).expect("a topic is text")
}

fn hex_ids(ids: MessageIds, frame: &[u8]) -> Vec<String> {
    assert_eq!(ids.of(frame).count(), ids.count as usize);
    ids.of(frame).map(|id| Hex(id).to_string()).collect()
}

/// The walk's items in the recording's form: `(list, entry)` pairs in the order of the lists.
fn as_recorded(frame: &[u8]) -> Vec<(&'static str, Value)> {
    let entry = |item: &RpcItem| match *item {
        RpcItem::Subscription { subscribe, topic } => {
            ("subscriptions", json!({ "subscribe": subscribe, "topic": name(topic, frame) }))
        }
        RpcItem::Publish(publication) => {
            let mut entry = json!({
                "data": Hex(publication.data.of(frame)).to_string(),
                "topic": name(publication.topic, frame),
            });
            for (key, present) in [
                ("from", publication.from),
                ("seqno", publication.seqno),
                ("signature", publication.signature),
                ("key", publication.key),
            ] {
                if present {
                    entry[key] = json!(true);
                }
            }
            ("messages", entry)
        }
        RpcItem::IHave { topic, ids } => {
            ("ihave", json!({ "topicID": name(topic, frame), "messageIDs": hex_ids(ids, frame) }))
        }
        RpcItem::IWant { ids } => ("iwant", json!({ "messageIDs": hex_ids(ids, frame) })),
        RpcItem::Graft { topic } => ("graft", json!({ "topicID": name(topic, frame) })),
        RpcItem::Prune { topic, backoff_s } => {
            ("prune", json!({ "topicID": name(topic, frame), "peers": [], "backoff": backoff_s }))
        }
        ref other => panic!("the recording has no {other:?}"),
    };
    items(frame).iter().map(entry).collect()
}

fn recorded(decoded: &Value) -> Vec<(&'static str, Value)> {
    let control = &decoded["control"];
    let lists = [
        ("subscriptions", &decoded["subscriptions"]),
        ("messages", &decoded["messages"]),
        ("ihave", &control["ihave"]),
        ("iwant", &control["iwant"]),
        ("graft", &control["graft"]),
        ("prune", &control["prune"]),
    ];
    let entries = lists
        .into_iter()
        .flat_map(|(list, entries)| entries.as_array().into_iter().flatten().map(move |entry| (list, entry.clone())));
    entries.map(|(list, entry)| (list, without_values_of_forbidden_fields(entry))).collect()
}

/// The walk only tells that these fields are present.
fn without_values_of_forbidden_fields(mut entry: Value) -> Value {
    for key in ["from", "seqno", "signature", "key"] {
        if entry.get(key).is_some() {
            entry[key] = json!(true);
        }
    }
    entry
}

#[test]
fn every_recorded_frame_is_read() {
    let frames = frames();
    assert_eq!(frames.len(), 15);
    for (frame, decoded) in &frames {
        assert_eq!(as_recorded(frame), recorded(decoded), "{}", Hex(frame));
    }
}

#[test]
fn recorded_messages_are_waku_messages() {
    let mut named_senders = 0;
    for (frame, _) in &frames() {
        for item in items(frame) {
            let RpcItem::Publish(publication) = item else { continue };
            let data = publication.data.of(frame);
            let message = decode(data).expect("a WakuMessage").view(data);
            assert_eq!(message.content_topic, "/ring/1/test/proto");
            named_senders += usize::from(!publication.is_anonymous());
        }
    }
    assert_eq!(named_senders, 1);
}

fn digests(ids: MessageIds, frame: &[u8]) -> Vec<Digest> {
    ids.of(frame).map(|id| id.try_into().expect("a Waku id has 32 bytes")).collect()
}

/// Writes an item as this node would, but for the order of the fields of a message.
fn written(item: RpcItem, frame: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    match item {
        RpcItem::Subscription { subscribe: on, topic } => subscribe(name(topic, frame), on, &mut out),
        RpcItem::Publish(publication) => {
            let topic = name(publication.topic, frame);
            let header = PublishHeader::new(topic, publication.data.len as usize).expect("a small frame");
            out.extend_from_slice(header.bare());
            let mut topic_field = BytesMut::new();
            publish_topic(topic, &mut topic_field);
            // Others write the fields in the order of their numbers, we the data last; the bytes of each are the same.
            out.extend_from_slice(header.before_data());
            out.extend_from_slice(publication.data.of(frame));
            out.extend_from_slice(&topic_field);
        }
        RpcItem::IHave { topic, ids } => ihave(name(topic, frame), &digests(ids, frame), &mut out),
        RpcItem::IWant { ids } => iwant(&digests(ids, frame), &mut out),
        RpcItem::Graft { topic } => graft(name(topic, frame), &mut out),
        RpcItem::Prune { topic, backoff_s } => prune(name(topic, frame), backoff_s, &mut out),
        other => panic!("the recording has no {other:?}"),
    }
    out.to_vec()
}

#[test]
fn recorded_frames_are_written_byte_for_byte() {
    let mut identical = 0;
    for (frame, _) in &frames() {
        let written: Vec<u8> = items(frame).into_iter().flat_map(|item| written(item, frame)).collect();
        let named_sender = frame.starts_with(&[0x12, 0x48, 0x0a]);
        // js-waku answers an IWANT with an empty control message behind the messages.
        let bare = frame.strip_suffix(&[0x1a, 0x00]).unwrap_or(frame);
        if !named_sender {
            assert_eq!(Hex(&written).to_string(), Hex(bare).to_string());
            identical += 1;
        }
    }
    assert_eq!(identical, 14);
}
