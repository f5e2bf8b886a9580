//! 66/WAKU2-METADATA as js-waku writes it, recorded from its client and its service node.

use levada_wire::waku::metadata::Metadata;
use serde_json::Value;

/// Every metadata message of the recording.
fn vectors() -> Vec<(Vec<u8>, Metadata)> {
    let recording: Value =
        serde_json::from_str(include_str!("vectors/jswaku-wire.json")).expect("the vectors are JSON");
    let lists = [&recording["fixed_request_id"], &recording["recorded"]];
    let all = lists.into_iter().flat_map(|list| list.as_array().expect("a list"));
    all.filter(|vector| vector["protocol"] == "/vac/waku/metadata/1.0.0").map(vector).collect()
}

fn vector(vector: &Value) -> (Vec<u8>, Metadata) {
    let bytes = hex::decode(vector["hex"].as_str().expect("hex text")).expect("hex");
    let number = |value: &Value| u32::try_from(value.as_u64().expect("a number")).expect("32 bits");
    let decoded = &vector["decoded"];
    let shards = decoded["shards"].as_array().expect("a list").iter().map(number).collect();
    (bytes, Metadata { cluster_id: Some(number(&decoded["clusterId"])), shards })
}

#[test]
fn js_waku_metadata() {
    let vectors = vectors();
    assert!(vectors.len() >= 20, "{} vectors", vectors.len());
    for (bytes, metadata) in vectors {
        assert_eq!(Metadata::decode(&bytes).as_ref(), Ok(&metadata));
        // What js-waku reads is all there and first; behind it comes nwaku's packed field.
        let encoded = metadata.encode();
        assert_eq!(encoded[..bytes.len()], bytes);
        assert_eq!(encoded.len() > bytes.len(), !metadata.shards.is_empty());
        assert_eq!(Metadata::decode(&encoded).as_ref(), Ok(&metadata));
    }
}
