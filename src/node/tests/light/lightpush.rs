//! Lightpush: a client has a node publish, and finds the message in the archive of the node's peer.

use levada_net::lightpush::{LightpushClientError, push, push_v2};
use levada_net::store::query;
use levada_wire::waku::lightpush::LightpushRequest;
use levada_wire::waku::message::Message;
use levada_wire::waku::store::StoreRequest;

use super::client::{Client, encoded, until};
use crate::support::message::{TOPIC, unix_ns};
use crate::support::node::Node;

fn message(payload: &str) -> Vec<u8> {
    let content_topic = "/levada/1/light/proto";
    encoded(&Message { payload: payload.as_bytes(), content_topic, timestamp: unix_ns(), ..Message::default() })
}

async fn push_to(client: &Client, pubsub_topic: Option<&str>, message: &[u8]) -> Result<u32, LightpushClientError> {
    let request = LightpushRequest { request_id: "1", pubsub_topic, message };
    push(client.exchange(), &client.peer, &request).await
}

/// Code and text of a refusal.
fn refused(outcome: Result<u32, LightpushClientError>) -> (u32, String) {
    match outcome {
        Err(LightpushClientError::Refused { code, text }) => (code, text),
        other => panic!("a refusal was due, not {other:?}"),
    }
}

/// Payloads in the archive of the client's node.
async fn stored(client: &Client) -> Vec<Vec<u8>> {
    let request = StoreRequest { include_data: true, ..StoreRequest::default() };
    let page = query(client.exchange(), &client.peer, &request).await.unwrap();
    let bodies = page.messages.iter().filter_map(|message| message.body.as_ref());
    bodies.map(|(data, spans, _)| spans.payload.of(data).to_vec()).collect()
}

#[tokio::test]
async fn without_a_relay_peer_it_is_505_or_not_published_to_any_peer() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let client = Client::of(&node).await;
    let alone = refused(push_to(&client, Some(TOPIC), &message("alone")).await);
    assert_eq!(alone, (505, "No peers for topic, skipping publish".to_owned()));
    let alone = push_v2(client.exchange(), &client.peer, "1", TOPIC, &message("alone")).await;
    assert!(matches!(alone, Err(LightpushClientError::RefusedV2(text)) if text == "not_published_to_any_peer"));
    assert!(stored(&client).await.is_empty(), "what went nowhere is not archived either");
}

#[tokio::test]
async fn both_versions_reach_the_peer_of_the_node() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let node = Node::start(folders[0].path(), &[]);
    let dialled = format!("--staticnode={}", node.after("listening on ")[0]);
    let peer = Node::start(folders[1].path(), &[&dialled]);
    let (at_node, at_peer) = (Client::of(&node).await, Client::of(&peer).await);
    let mut probe = 0;
    until(async || {
        probe += 1;
        push_to(&at_node, Some(TOPIC), &message(&format!("probe {probe}"))).await.is_ok()
    })
    .await;

    let (three, two) = (message("by version 3"), message("by version 2"));
    assert_eq!(push_to(&at_node, Some(TOPIC), &three).await.unwrap(), 1, "one relay peer");
    push_v2(at_node.exchange(), &at_node.peer, "1", TOPIC, &two).await.unwrap();
    let without_time =
        encoded(&Message { payload: b"without a time", content_topic: "/levada/1/light/proto", ..Message::default() });
    assert_eq!(push_to(&at_node, Some(TOPIC), &without_time).await.unwrap(), 1);
    until(async || {
        let stored = stored(&at_peer).await;
        [&b"by version 3"[..], b"by version 2", b"without a time"]
            .iter()
            .all(|payload| stored.iter().any(|stored| stored == payload))
    })
    .await;

    let again = refused(push_to(&at_node, Some(TOPIC), &three).await);
    assert_eq!(again, (420, "Dropping already-seen message".to_owned()));
    let again = push_v2(at_node.exchange(), &at_node.peer, "1", TOPIC, &two).await;
    assert!(matches!(again, Err(LightpushClientError::RefusedV2(text)) if text == "not_published_to_any_peer"));
}

#[tokio::test]
async fn messages_that_are_refused_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let client = Client::of(&node).await;
    let good = message("good");
    let large = encoded(&Message { payload: &[7; 153_600], content_topic: "/a/1/b/c", ..Message::default() });
    let large_meta = [&good[..], &[0x5a, 65], &[1; 65]].concat();
    for (topic, message, code, text) in [
        (Some(""), &good[..], 400, "topic must not be empty"),
        (None, &good, 420, "Pubsub topic must be specified when static sharding is enabled"),
        (Some("/waku/2/rs/0/1"), &good, 421, "this node does not relay the pubsub topic"),
        (Some("/waku/2/default-waku/proto"), &good, 421, "this node does not relay the pubsub topic"),
        (Some(TOPIC), &large, 420, "Message size exceeded maximum of 153600 bytes"),
        (Some(TOPIC), &[0x0a, 9], 420, "cut off"),
        (Some(TOPIC), &[0x12, 0], 420, "payload"),
        (Some(TOPIC), &large_meta, 420, "meta"),
    ] {
        let (told, why) = refused(push_to(&client, topic, message).await);
        assert!(told == code && why.contains(text), "{topic:?}: {told} {why}, not {code} {text}");
    }
}

#[tokio::test]
async fn without_a_topic_the_content_topic_decides_under_autosharding() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let shards = "--num-shards-in-network=8";
    let node = Node::start(folders[0].path(), &[shards]);
    let dialled = format!("--staticnode={}", node.after("listening on ")[0]);
    let _peer = Node::start(folders[1].path(), &[shards, &dialled]);
    let client = Client::of(&node).await;
    let mut probe = 0;
    until(async || {
        probe += 1;
        push_to(&client, None, &message(&format!("probe {probe}"))).await.is_ok()
    })
    .await;
    let request = StoreRequest { include_data: true, ..StoreRequest::default() };
    let page = query(client.exchange(), &client.peer, &request).await.unwrap();
    let expected = levada_wire::waku::sharding::pubsub_topic_of("/levada/1/light/proto", 0, 8).unwrap().to_string();
    assert_eq!(page.messages[0].body.as_ref().unwrap().2, expected);
    let nowhere =
        encoded(&Message { payload: b"x", content_topic: "no content topic", timestamp: 1, ..Message::default() });
    let (code, text) = refused(push_to(&client, None, &nowhere).await);
    assert!(code == 420 && text.starts_with("Invalid content-topic: "), "{code} {text}");
}

#[tokio::test]
async fn lightpush_needs_relay_and_can_be_off() {
    for flag in ["--lightpush=false", "--relay=false"] {
        let folder = tempfile::tempdir().unwrap();
        let node = Node::start(folder.path(), &[flag]);
        let client = Client::of(&node).await;
        let refused = push_to(&client, Some(TOPIC), &message("x")).await;
        assert!(refused.unwrap_err().to_string().contains("does not serve"), "{flag}");
    }
}
