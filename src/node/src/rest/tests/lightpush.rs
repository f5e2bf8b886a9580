//! Lightpush over HTTP: both versions, every status, and bodies that are no request.

use std::sync::Arc;

use serde_json::json;

use super::{MemoryNode, post};
use crate::rest::{LightpushVersion, PushError};

pub(super) const V1: &str = "/lightpush/v1/message";
pub(super) const V3: &str = "/lightpush/v3/message";
pub(super) const BODY: &str = r#"{"pubsubTopic":"/waku/2/rs/0/0","message":{"payload":"AQ==","contentTopic":"t"}}"#;

fn refusing(code: u32) -> Arc<MemoryNode> {
    let push_error = Some(PushError::Refused { code, text: format!("it says {code}") });
    Arc::new(MemoryNode { push_error, ..MemoryNode::default() })
}

#[tokio::test]
async fn version_1_answers_in_text_and_version_3_with_the_number_of_peers() {
    let node = Arc::new(MemoryNode::default());
    post(&node, V1, BODY).await.is_ok();
    assert_eq!(post(&node, V3, BODY).await.json(), json!({"relayPeerCount": 3}));
    let without_topic = r#"{"message":{"payload":"AQ==","contentTopic":"t","timestamp":7,"ephemeral":true}}"#;
    assert_eq!(post(&node, V3, without_topic).await.json(), json!({"relayPeerCount": 3}));
    let pushed = node.pushed.lock().expect("no test panics here");
    let topic = Some("/waku/2/rs/0/0".to_owned());
    let told: Vec<_> = pushed.iter().map(|(version, topic, _)| (*version, topic.clone())).collect();
    assert_eq!(
        told,
        [(LightpushVersion::V2, topic.clone()), (LightpushVersion::V3, topic), (LightpushVersion::V3, None)]
    );
    assert_eq!(
        (pushed[2].2.timestamp_ns, pushed[2].2.ephemeral, pushed[2].2.payload.as_slice()),
        (Some(7), true, &[1][..])
    );
}

#[tokio::test]
async fn each_refusal_has_its_status() {
    for (code, status) in
        [(400, 400), (413, 413), (420, 400), (421, 421), (429, 429), (500, 500), (503, 503), (504, 504), (505, 505)]
    {
        let answer = post(&refusing(code), V3, BODY).await;
        assert_eq!((answer.status, answer.content_type.as_str()), (status, "application/json"), "{}", answer.text);
        assert_eq!(answer.text, json!({"statusDesc": format!("it says {code}")}).to_string());
    }
    // What is no status of HTTP, or no refusal.
    for code in [0, 99, 200, 302, 1_000, u32::MAX] {
        assert_eq!(post(&refusing(code), V3, BODY).await.status, 500, "{code}");
    }
    post(&refusing(429), V1, BODY).await.refuses(429, &["Request rate limit reached"]);
    post(&refusing(505), V1, BODY).await.refuses(503, &["Failed to request a message push: it says 505"]);
}

#[tokio::test]
async fn without_a_service_and_without_an_answer_it_is_503() {
    for (error, parts) in [
        (PushError::NoService, &["No suitable service peer & none discovered", "--lightpushnode"][..]),
        (PushError::TimedOut, &["Push request timed out"]),
        (PushError::Failed("the peer is away".into()), &["the peer is away"]),
    ] {
        let node = Arc::new(MemoryNode { push_error: Some(error), ..MemoryNode::default() });
        post(&node, V1, BODY).await.refuses(503, parts);
        let answer = post(&node, V3, BODY).await;
        assert_eq!(answer.status, 503);
        assert!(parts.iter().all(|part| answer.text.contains(part)), "{}", answer.text);
    }
}

#[tokio::test]
async fn a_body_that_is_no_request_is_refused_by_its_field() {
    let node = Arc::new(MemoryNode::default());
    let large = format!(r#"{{"message":{{"payload":"{}","contentTopic":"t"}}}}"#, "A".repeat(400_000));
    for (body, status, part) in [
        ("", 400, "a JSON object is wanted, nothing is given"),
        ("[]", 400, "a JSON object is wanted, an array is given"),
        ("{", 400, "EOF"),
        ("{}", 400, "message"),
        (r#"{"message":{"payload":"AQ=="}}"#, 400, "contentTopic"),
        (r#"{"message":{"payload":"","contentTopic":"t"}}"#, 400, "payload"),
        (r#"{"message":{"payload":"AQ==","contentTopic":"t","x":1}}"#, 400, "unknown field `x`"),
        (r#"{"message":{"payload":"AQ==","contentTopic":"t"},"pubsubtopic":"x"}"#, 400, "pubsubtopic"),
        (r#"{"pubsubTopic":1,"message":{"payload":"AQ==","contentTopic":"t"}}"#, 400, "string"),
        (r#"{"pubsubTopic":"a","pubsubTopic":"b","message":{"payload":"AQ==","contentTopic":"t"}}"#, 400, "duplicate"),
        (&large, 413, "Message size exceeded maximum of 153600 bytes"),
    ] {
        let answer = post(&node, V1, body.to_owned()).await;
        answer.refuses(status, &[part]);
        let answer = post(&node, V3, body.to_owned()).await;
        assert_eq!(answer.status, status, "{body}");
        let told: serde_json::Value = serde_json::from_str(&answer.text).expect("version 3 answers in JSON");
        assert!(told["statusDesc"].as_str().expect("a sentence").contains(part), "{told}");
    }
    assert!(node.pushed.lock().expect("no test panics here").is_empty());
}
