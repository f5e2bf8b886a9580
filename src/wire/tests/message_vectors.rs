//! Published and recorded WakuMessage vectors: the 14/WAKU2-MESSAGE hashes, the encoders' byte strings, js-waku's output.

use levada_wire::error::DecodeError;
use levada_wire::hash::{Hex, message_hash, message_id, sha256};
use levada_wire::waku::message::{Message, decode};
use levada_wire::waku::sharding::shard_of;
use serde_json::Value;

const PAYLOAD: &str = "010203045445535405060708";
const CONTENT_TOPIC: &str = "/waku/2/default-content/proto";
const TIMESTAMP: i64 = 0x1757_89bf_a23f_8400;
const META_12: &str = "73757065722d736563726574";

fn unhex(text: &str) -> Vec<u8> {
    hex::decode(text).expect("a vector is hex")
}

fn hex_of(bytes: &[u8]) -> String {
    Hex(bytes).to_string()
}

#[test]
fn published_hashes() {
    let meta_64 = hex_of(&(0..64).collect::<Vec<u8>>());
    let named = "/waku/2/default-waku/proto";
    let sharded = "/waku/2/rs/0/0";
    let vectors = [
        (named, PAYLOAD, META_12, "64cce733fed134e83da02b02c6f689814872b1a0ac97ea56b76095c3c72bfe05"),
        (named, PAYLOAD, &meta_64, "7158b6498753313368b9af8f6e0a0a05104f68f972981da42a43bc53fb0c1b27"),
        (named, PAYLOAD, "", "a2554498b31f5bcdfcbf7fa58ad1c2d45f0254f3f8110a85588ec3cf10720fd8"),
        (named, "", META_12, "483ea950cb63f9b9d6926b262bb36194d3f40a0463ce8446228350bd44e96de4"),
        (sharded, PAYLOAD, "", "cccab07fed94181c83937c8ca8340c9108492b7ede354a6d95421ad34141fd37"),
        (sharded, PAYLOAD, META_12, "b9b4852f9d8c489846e8bfc6c5ca6a1a8d460a40d28832a966e029eb39619199"),
        (sharded, PAYLOAD, &meta_64, "653460d04f66c5b11814d235152f4f246e6f03ef80a305a825913636fbafd0ba"),
        (sharded, "", META_12, "0f6448cc23b2db6c696aa6ab4b693eff4cf3549ff346fe1dbeb281697396a09f"),
    ];
    for (pubsub_topic, payload, meta, expected) in vectors {
        let hash = message_hash(pubsub_topic, &unhex(payload), CONTENT_TOPIC, &unhex(meta), TIMESTAMP);
        assert_eq!(hex_of(&hash), expected, "{pubsub_topic} {payload} {meta}");
    }
}

/// nwaku, js-waku and go-waku encode the same message in three ways; all three decode alike.
#[test]
fn three_encoders_one_message() {
    let head = format!("0a0c{PAYLOAD}121d2f77616b752f322f64656661756c742d636f6e74656e742f70726f746f");
    let timestamp = "508090fca3f4efc4d72e";
    let vectors = [
        ("5a00aa0100", "f80100", "8b26f2043c45235217e611de98699e1fe436b288e0278c2762707b1aaa983c51"),
        ("", "f80100", "c0944e30887d61b465d6c6389123fbe08f0bf8ac869f98d592f6205d47c43776"),
        ("", "", "36307ae650c3e5acc9ae7ae6197518d41efb9d59379fd57d7bbbaf98238ac260"),
    ];
    let payload = unhex(PAYLOAD);
    let message =
        Message { payload: &payload, content_topic: CONTENT_TOPIC, timestamp: TIMESTAMP, ..Message::default() };
    for (meta_and_proof, ephemeral, id) in vectors {
        let version = if ephemeral.is_empty() { "" } else { "1800" };
        let data = unhex(&format!("{head}{version}{timestamp}{meta_and_proof}{ephemeral}"));
        assert_eq!(hex_of(&message_id(&data)), id);
        let spans = decode(&data).expect("a well-formed message");
        assert_eq!(spans.view(&data), message);
        let present = spans.present;
        assert_eq!((present.version, present.ephemeral), (!version.is_empty(), !ephemeral.is_empty()));
        assert_eq!((present.meta, present.proof), (!meta_and_proof.is_empty(), !meta_and_proof.is_empty()));
        assert!(present.timestamp);
        if present.proof {
            let mut out = vec![0; message.encoded_len()];
            assert_eq!(message.encode_into(&mut out), Ok(65));
            assert_eq!(hex_of(&out), hex_of(&data));
        }
    }
}

fn js_vectors() -> Value {
    serde_json::from_str(include_str!("vectors/jswaku-message-hash.json")).expect("the vectors are JSON")
}

fn text<'a>(vector: &'a Value, key: &str) -> &'a str {
    vector[key].as_str().unwrap_or_default()
}

/// The payload, spelt out or generated: SHA-256 of `seed:0`, `seed:1` and so on, cut to length.
fn payload_of(vector: &Value) -> Vec<u8> {
    let Some(seed) = vector["payload_stream"].as_str() else { return unhex(text(vector, "payload")) };
    let bytes = vector["payload_len"].as_u64().expect("a length") as usize;
    let digests = (0..bytes.div_ceil(32)).flat_map(|index| sha256(format!("{seed}:{index}").as_bytes()));
    let payload: Vec<u8> = digests.take(bytes).collect();
    assert_eq!(hex_of(&sha256(&payload)), text(vector, "payload_sha256"));
    payload
}

#[test]
fn js_waku_hashes() {
    let vectors = js_vectors();
    let vectors = vectors["vectors"].as_array().expect("a list");
    assert_eq!(vectors.len(), 14);
    for vector in vectors {
        let timestamp = text(vector, "timestamp").parse().unwrap_or(0);
        let meta = unhex(text(vector, "meta"));
        let (pubsub_topic, content_topic) = (text(vector, "pubsubTopic"), text(vector, "contentTopic"));
        let hash = hex_of(&message_hash(pubsub_topic, &payload_of(vector), content_topic, &meta, timestamp));
        assert_eq!(hash, text(vector, "hash_with_timestamp_always"), "{}", text(vector, "name"));
        // js-waku leaves a timestamp of 0 out of its hash; nwaku, go-waku and this node do not.
        assert_eq!(hash == text(vector, "js_message_hash"), timestamp != 0, "{}", text(vector, "name"));
    }
}

#[test]
fn js_waku_messages_and_ids() {
    let (mut decoded, mut without_payload) = (0, 0);
    for vector in js_vectors()["vectors"].as_array().expect("a list") {
        let Some(data) = vector["waku_message"].as_str().map(unhex) else { continue };
        assert_eq!(Some(data.len() as u64), vector["waku_message_len"].as_u64());
        assert_eq!(hex_of(&message_id(&data)), text(vector, "gossipsub_msg_id_sha256"));
        let payload = payload_of(vector);
        let spans = match decode(&data) {
            // js-waku omits an empty payload, and nwaku takes the field for required.
            Err(error) => {
                assert_eq!((error, payload.len()), (DecodeError::Missing { field: "payload" }, 0));
                without_payload += 1;
                continue;
            }
            Ok(spans) => spans,
        };
        let message = spans.view(&data);
        assert_eq!((message.payload, message.content_topic), (&payload[..], text(vector, "contentTopic")));
        assert_eq!(message.timestamp, text(vector, "timestamp").parse().unwrap_or(0));
        assert_eq!(u64::from(message.version), vector["version"].as_u64().unwrap_or(0));
        assert_eq!(message.ephemeral, vector["ephemeral"].as_bool().unwrap_or(false));
        assert_eq!(hex_of(message.meta), text(vector, "meta"));
        assert_eq!(spans.present.meta, vector["redecoded_has_meta"] == true);
        assert_eq!(spans.present.timestamp, vector["redecoded_has_timestamp"] == true);
        assert_eq!(!message.proof.is_empty(), vector["has_rate_limit_proof"] == true);
        decoded += 1;
    }
    assert_eq!((decoded, without_payload), (12, 1));
}

#[test]
fn js_waku_shards() {
    let vectors = js_vectors();
    let vectors = vectors["autoshard"].as_array().expect("a list");
    assert_eq!(vectors.len(), 7);
    for vector in vectors {
        let topic = text(vector, "contentTopic");
        let shard = |count| shard_of(topic, count).ok().map(u64::from);
        assert_eq!(shard(8), vector["shard_of_8"].as_u64(), "{topic}");
        assert_eq!(shard(1), vector["shard_of_1"].as_u64(), "{topic}");
    }
}
