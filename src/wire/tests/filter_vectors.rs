//! 12/WAKU2-FILTER as js-waku writes it, recorded from its client and its service node.

use bytes::BytesMut;
use levada_wire::varint;
use levada_wire::waku::filter::{
    FilterSubscribeRequest, FilterSubscribeResponse, FilterSubscribeType, MessagePush, PUSH_PROTOCOL, PushHeader,
    SUBSCRIBE_PROTOCOL, push_trailer,
};
use levada_wire::waku::message;
use serde_json::Value;

/// Every message of the recording on a protocol, with what it was decoded to.
fn vectors(protocol: &str) -> Vec<(Vec<u8>, Value)> {
    let recording: Value =
        serde_json::from_str(include_str!("vectors/jswaku-wire.json")).expect("the vectors are JSON");
    let lists = [&recording["fixed_request_id"], &recording["recorded"]];
    let all = lists.into_iter().flat_map(|list| list.as_array().expect("a list"));
    let bytes = |vector: &Value| hex::decode(vector["hex"].as_str().expect("hex text")).expect("hex");
    all.filter(|vector| vector["protocol"] == protocol)
        .map(|vector| (bytes(vector), vector["decoded"].clone()))
        .collect()
}

fn kind_of(decoded: &Value) -> FilterSubscribeType {
    match decoded["filterSubscribeType"].as_str().expect("a name") {
        "SUBSCRIBER_PING" => FilterSubscribeType::SubscriberPing,
        "SUBSCRIBE" => FilterSubscribeType::Subscribe,
        "UNSUBSCRIBE" => FilterSubscribeType::Unsubscribe,
        "UNSUBSCRIBE_ALL" => FilterSubscribeType::UnsubscribeAll,
        other => panic!("{other}"),
    }
}

#[test]
fn js_waku_requests() {
    let requests = vectors(SUBSCRIBE_PROTOCOL).into_iter().filter(|(_, decoded)| decoded["statusCode"].is_null());
    let mut count = 0;
    for (bytes, decoded) in requests {
        let request = FilterSubscribeRequest::decode(&bytes).expect("a request of js-waku");
        assert_eq!(request.request_id, decoded["requestId"]);
        assert_eq!(request.kind, kind_of(&decoded));
        assert_eq!(request.kind.label(), decoded["filterSubscribeType"]);
        assert_eq!(request.pubsub_topic, decoded["pubsubTopic"].as_str());
        assert_eq!(request.content_topics, *decoded["contentTopics"].as_array().expect("a list"));
        // js-waku leaves the kind out when it is a ping; ours is always written.
        let mut encoded = Vec::new();
        request.encode(&mut encoded);
        assert_eq!(FilterSubscribeRequest::decode(&encoded).as_ref(), Ok(&request));
        if request.kind != FilterSubscribeType::SubscriberPing {
            assert_eq!(encoded, bytes);
        }
        count += 1;
    }
    assert!(count >= 9, "{count} vectors");
}

#[test]
fn js_waku_responses() {
    let responses = vectors(SUBSCRIBE_PROTOCOL).into_iter().filter(|(_, decoded)| !decoded["statusCode"].is_null());
    let mut count = 0;
    for (bytes, decoded) in responses {
        let response = FilterSubscribeResponse::decode(&bytes).expect("a response of js-waku");
        assert_eq!(response.request_id, decoded["requestId"]);
        assert_eq!(u64::from(response.status_code), decoded["statusCode"].as_u64().expect("a number"));
        assert_eq!(response.status_desc, decoded["statusDesc"].as_str());
        let mut encoded = Vec::new();
        response.encode(&mut encoded);
        assert_eq!(encoded, bytes);
        count += 1;
    }
    assert!(count >= 7, "{count} vectors");
}

#[test]
fn js_waku_pushes() {
    let pushes = vectors(PUSH_PROTOCOL);
    assert!(pushes.len() >= 7, "{} vectors", pushes.len());
    for (bytes, decoded) in pushes {
        let push = MessagePush::decode(&bytes).expect("a push of js-waku");
        assert_eq!(push.pubsub_topic, decoded["pubsubTopic"]);
        let data = push.message.of(&bytes);
        message::decode(data).expect("a message of js-waku");
        // The same push as it leaves here, in three parts.
        let header = PushHeader::new(push.pubsub_topic, data.len()).expect("a short push");
        let mut trailer = BytesMut::new();
        push_trailer(push.pubsub_topic, &mut trailer);
        let mut framed = vec![0; varint::len(bytes.len() as u64)];
        varint::encode(bytes.len() as u64, &mut framed).expect("it has the length that was made for it");
        framed.extend_from_slice(&bytes);
        assert_eq!([header.framed(), data, &trailer].concat(), framed);
    }
}
