//! Publications that nobody waits for. One test, alone in its process, so that the counters are its own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use bytes::Bytes;
use levada_net::{NetConfig, PublishError, counters};
use support::{LARGEST_BYTES, Node, TOPIC, config, dialling, until, within};

/// The publications that the task finds when it is told to stop.
const LAST: u8 = 64;

async fn queue(node: &Node, topic: &str, data: &'static [u8]) {
    node.handle.queue_publish(topic, Bytes::from_static(data), None).await.unwrap();
}

// On one thread nothing runs between the last publications and the shutdown.
#[tokio::test]
async fn every_outcome_is_counted_also_of_what_waits_at_the_end() {
    let [published, published_bytes] = [counters::PUBLISHED.value(), counters::PUBLISHED_BYTES.value()];
    let [no_peers, duplicates] = [counters::PUBLISH_NO_PEERS.value(), counters::PUBLISH_DUPLICATE.value()];
    let too_large_before = counters::PUBLISH_TOO_LARGE.value();
    let a = Node::start(config()).await;
    let mut b = Node::start(dialling(&a.tcp())).await;
    a.meshed(1).await;
    queue(&a, TOPIC, b"one").await;
    assert_eq!(b.receive().await.data, b"one");
    queue(&a, TOPIC, b"one").await;
    queue(&a, "/waku/2/rs/1/9", b"nobody is there").await;
    until(async || counters::PUBLISH_NO_PEERS.value() == no_peers + 1).await;
    assert_eq!((counters::PUBLISHED.value(), counters::PUBLISHED_BYTES.value()), (published + 1, published_bytes + 3));
    assert_eq!(counters::PUBLISH_DUPLICATE.value(), duplicates + 1);
    let bytes_max = LARGEST_BYTES;
    let too_large = PublishError::TooLarge { bytes: bytes_max + 1, bytes_max };
    assert_eq!(a.handle.queue_publish(TOPIC, vec![0; bytes_max + 1].into(), None).await, Err(too_large));
    assert_eq!(counters::PUBLISH_TOO_LARGE.value(), too_large_before + 1);

    for number in 0..LAST {
        a.handle.queue_publish(TOPIC, vec![number].into(), None).await.unwrap();
    }
    a.handle.shutdown();
    within(a.task).await.unwrap();
    assert_eq!(counters::PUBLISHED.value(), published + 1 + u64::from(LAST));
    assert_eq!(a.handle.queue_publish(TOPIC, Bytes::new(), None).await, Err(PublishError::Stopped));

    let off = Node::start(NetConfig { relay: false, ..config() }).await;
    assert_eq!(off.handle.queue_publish(TOPIC, Bytes::new(), None).await, Err(PublishError::RelayOff));
}
