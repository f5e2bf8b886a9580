//! Store, lightpush and peer exchange as js-waku writes them, recorded from its client and its service node.

use levada_wire::hash::Digest;
use levada_wire::waku::lightpush::{self, LightpushRequest, LightpushResponse, PushRequest, PushResponse, PushResult};
use levada_wire::waku::message::decode;
use levada_wire::waku::peer_exchange::{self, PeerExchangeQuery};
use levada_wire::waku::store::{self, ReadEntry, ResponseStatus, StoreRequest, StoreResponse, put_cursor};
use serde_json::Value;

/// A message of the recording, and what js-waku says that is in it.
struct Vector {
    bytes: Vec<u8>,
    decoded: Value,
    is_request: bool,
}

/// Every message of `protocol`.
fn vectors(protocol: &str) -> Vec<Vector> {
    let recording: Value =
        serde_json::from_str(include_str!("vectors/jswaku-wire.json")).expect("the vectors are JSON");
    let lists = [&recording["fixed_request_id"], &recording["recorded"]];
    let all = lists.into_iter().flat_map(|list| list.as_array().expect("a list"));
    all.filter(|vector| vector["protocol"] == protocol)
        .map(|vector| {
            let text = |name: &str| vector[name].as_str().unwrap_or_default();
            Vector {
                bytes: hex::decode(text("hex")).expect("hex"),
                decoded: vector["decoded"].clone(),
                is_request: text("dir") == "client->service"
                    || text("message").contains("Request")
                    || text("message").contains("(request)"),
            }
        })
        .collect()
}

fn text(value: &Value) -> Option<&str> {
    value.as_str()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().map(|list| list.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

/// A number, or one that is too large for JSON's and is written as text.
fn number<N: TryFrom<i64>>(value: &Value) -> Option<N> {
    let number = value.as_i64().or_else(|| value.as_str()?.parse().ok())?;
    N::try_from(number).ok()
}

fn digest(value: &Value) -> Option<Digest> {
    Some(hex::decode(value.as_str()?).expect("hex").try_into().expect("32 bytes"))
}

fn request_id(decoded: &Value) -> &str {
    text(&decoded["requestId"]).unwrap_or_default()
}

#[test]
fn store_queries() {
    let vectors: Vec<_> = vectors(store::PROTOCOL).into_iter().filter(|vector| vector.is_request).collect();
    assert!(vectors.len() >= 5, "{}", vectors.len());
    for Vector { bytes, decoded, .. } in &vectors {
        let request = StoreRequest::decode(bytes).expect("a query");
        // js-waku writes a false as nothing, so that its backward query says nothing of its direction.
        let flag = |name: &str| decoded[name].as_bool().filter(|set| *set);
        let expected = StoreRequest {
            request_id: request_id(decoded),
            include_data: flag("includeData").is_some(),
            pubsub_topic: text(&decoded["pubsubTopic"]),
            content_topics: texts(&decoded["contentTopics"]),
            time_start: number(&decoded["timeStart"]),
            time_end: number(&decoded["timeEnd"]),
            message_hashes: decoded["messageHashes"]
                .as_array()
                .unwrap_or(&Vec::new())
                .iter()
                .filter_map(digest)
                .collect(),
            cursor: digest(&decoded["paginationCursor"]),
            forward: flag("paginationForward"),
            limit: number(&decoded["paginationLimit"]),
        };
        assert_eq!(request, expected, "{}", hex::encode(bytes));
        let mut encoded = Vec::new();
        request.encode(&mut encoded);
        if request.include_data {
            assert_eq!(&encoded, bytes, "what js-waku sets is written as js-waku writes it");
        } else {
            assert_eq!(StoreRequest::decode(&encoded), Ok(request));
        }
    }
}

#[test]
fn store_pages() {
    let vectors: Vec<_> = vectors(store::PROTOCOL).into_iter().filter(|vector| !vector.is_request).collect();
    assert!(vectors.len() >= 5, "{}", vectors.len());
    let mut messages = 0;
    for Vector { bytes, decoded, .. } in &vectors {
        let read = StoreResponse::decode(bytes, bytes.len()).expect("an answer");
        assert_eq!(read.request_id, request_id(decoded));
        assert_eq!(Some(read.status_code), number(&decoded["statusCode"]));
        assert_eq!(Some(read.status_desc), text(&decoded["statusDesc"]));
        assert_eq!(read.cursor, digest(&decoded["paginationCursor"]));
        let entries = decoded["messages"].as_array().expect("a list");
        assert_eq!(read.messages.len(), entries.len());
        read.messages.iter().zip(entries).for_each(|(read, entry)| same_entry(read, entry));
        messages += entries.len();

        // Status and cursor are the same bytes here; entries are longer, since they carry fields at their defaults.
        let status = ResponseStatus {
            request_id: read.request_id,
            status_code: read.status_code,
            status_desc: read.status_desc,
        };
        let mut encoded = Vec::new();
        status.put(&mut encoded);
        assert!(bytes.starts_with(&encoded));
        if let Some(cursor) = &read.cursor {
            encoded.clear();
            put_cursor(cursor, &mut encoded);
            assert!(bytes.ends_with(&encoded));
        }
    }
    assert!(messages >= 5, "{messages}");
}

fn same_entry(read: &ReadEntry<'_>, entry: &Value) {
    assert_eq!(Some(read.hash), digest(&entry["messageHash"]));
    // A query for hashes alone has neither in its answer.
    assert_eq!(read.body.map(|(_, pubsub_topic)| pubsub_topic), text(&entry["pubsubTopic"]));
    if let Some((message, _)) = read.body {
        same_message(message, &entry["message"]);
    }
}

fn same_message(bytes: &[u8], expected: &Value) {
    let message = decode(bytes).expect("a message").view(bytes);
    assert_eq!(hex::encode(message.payload), text(&expected["payload"]).expect("hex"));
    assert_eq!(Some(message.content_topic), text(&expected["contentTopic"]));
    assert_eq!(Some(message.timestamp), number(&expected["timestamp"]));
    assert_eq!(Some(message.ephemeral), expected["ephemeral"].as_bool());
}

#[test]
fn lightpush_of_version_3() {
    let vectors = vectors(lightpush::PROTOCOL_V3);
    assert!(vectors.len() >= 6, "{}", vectors.len());
    for Vector { bytes, decoded, is_request } in &vectors {
        let mut encoded = Vec::new();
        if *is_request {
            let request = LightpushRequest::decode(bytes, bytes.len()).expect("a request");
            assert_eq!(request.request_id, request_id(decoded));
            assert_eq!(request.pubsub_topic, text(&decoded["pubsubTopic"]));
            same_message(request.message, &decoded["message"]);
            request.put_before_message(&mut encoded);
            encoded.extend_from_slice(request.message);
        } else {
            let expected = LightpushResponse {
                request_id: request_id(decoded),
                status_code: number(&decoded["statusCode"]).expect("a code"),
                status_desc: text(&decoded["statusDesc"]),
                relay_peer_count: number(&decoded["relayPeerCount"]),
            };
            assert_eq!(LightpushResponse::decode(bytes), Ok(expected));
            expected.encode(&mut encoded);
        }
        assert_eq!(&encoded, bytes);
    }
}

#[test]
fn lightpush_of_version_2() {
    let vectors = vectors(lightpush::PROTOCOL_V2);
    assert!(vectors.len() >= 6, "{}", vectors.len());
    for Vector { bytes, decoded, is_request } in &vectors {
        let mut encoded = Vec::new();
        if *is_request {
            let request = PushRequest::decode(bytes, bytes.len()).expect("a request");
            let (pubsub_topic, message) = request.push.expect("a message");
            assert_eq!(request.request_id, request_id(decoded));
            assert_eq!(Some(pubsub_topic), text(&decoded["request"]["pubsubTopic"]));
            same_message(message, &decoded["request"]["message"]);
            request.put_before_message(&mut encoded);
            encoded.extend_from_slice(message);
            assert_eq!(&encoded, bytes);
        } else {
            let result = &decoded["response"];
            let result =
                PushResult { is_success: result["isSuccess"].as_bool().expect("a flag"), info: text(&result["info"]) };
            let expected = PushResponse { request_id: request_id(decoded), result: Some(result) };
            assert_eq!(PushResponse::decode(bytes), Ok(expected));
            expected.encode(&mut encoded);
            // js-waku leaves a false out, nwaku writes it.
            assert_eq!(PushResponse::decode(&encoded), Ok(expected));
            assert_eq!(encoded == *bytes, result.is_success);
        }
    }
}

#[test]
fn peer_exchange_queries() {
    let vectors = vectors(peer_exchange::PROTOCOL);
    assert!(!vectors.is_empty());
    for Vector { bytes, decoded, .. } in &vectors {
        let expected = PeerExchangeQuery { peers: number(&decoded["query"]["numPeers"]).expect("a number") };
        assert_eq!(PeerExchangeQuery::decode(bytes), Ok(expected));
        let mut encoded = Vec::new();
        expected.encode(&mut encoded);
        assert_eq!(&encoded, bytes);
    }
    assert_eq!(PeerExchangeQuery::decode(&[0x0a, 2, 0x08, 0x3c]), Ok(PeerExchangeQuery { peers: 60 }));
}
