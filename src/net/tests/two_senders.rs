//! Two peers on two workers deliver the same messages at once. Alone in its process, because it compares counters.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::HashSet;

use bytes::Bytes;
use levada_net::{NetConfig, TransportKind, Verdict, counters};
use support::{Node, TOPIC, config, dialling, until, within};

/// Messages that wait for their verdicts until both copies have come.
const BATCH: u32 = 100;

fn numbered(number: u32) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

async fn publish(from: &Node, numbers: std::ops::Range<u32>) {
    for number in numbers {
        assert_eq!(from.handle.publish(TOPIC, numbered(number), None).await, Ok(1));
    }
}

/// Takes `count` messages and judges them; gives their numbers.
async fn take(node: &mut Node, count: u32, verdict: Verdict) -> HashSet<u32> {
    let mut numbers = HashSet::new();
    for _ in 0..count {
        let message = within(node.inbox.recv()).await.unwrap();
        numbers.insert(u32::from_be_bytes(message.payload().try_into().unwrap()));
        node.handle.report(message, verdict).await.unwrap();
    }
    numbers
}

#[tokio::test(flavor = "multi_thread")]
async fn each_message_is_new_once_goes_on_once_and_never_back() {
    let messages: u32 = if std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1") { 100_000 } else { 3_000 };
    // So many small messages end up in large slots, which a queue is charged for; what it drops comes again by gossip.
    let ours =
        |config| NetConfig { workers: 2, send_queue_bytes: 64 << 20, transport: TransportKind::Levada, ..config };
    let mut middle = Node::start_with_room(ours(config()), usize::MAX).await;
    let dialling = || ours(dialling(&middle.tcp()));
    let (mut left, mut right) = (Node::start(dialling()).await, Node::start(dialling()).await);
    let mut onward = Node::start_with_room(dialling(), usize::MAX).await;
    middle.meshed(3).await;
    for node in [&left, &right, &onward] {
        node.meshed(1).await;
    }
    let (news, duplicates) = (counters::MESSAGES_IN.value(), counters::MESSAGES_DUPLICATE.value());
    for first in (0..messages).step_by(BATCH as usize) {
        let numbers = || first..first + BATCH;
        tokio::join!(publish(&left, numbers()), publish(&right, numbers()));
        let mut taken = Vec::new();
        for _ in numbers() {
            taken.push(within(middle.inbox.recv()).await.unwrap());
        }
        until(async || counters::MESSAGES_DUPLICATE.value() == duplicates + u64::from(first + BATCH)).await;
        for message in taken {
            middle.handle.report(message, Verdict::Accept).await.unwrap();
        }
        assert_eq!(take(&mut onward, BATCH, Verdict::Ignore).await, numbers().collect());
    }
    // What was queued for a peer before this has come when this has.
    assert_eq!(middle.handle.publish(TOPIC, numbered(messages), None).await, Ok(3));
    for node in [&mut left, &mut right, &mut onward] {
        assert_eq!(take(node, 1, Verdict::Ignore).await, HashSet::from([messages]));
    }
    assert!(middle.inbox.try_recv().is_err(), "the path has had each once");
    // Once at the middle and once onward, and the last one at three; the second copies at the middle, and no other anywhere.
    assert_eq!(counters::MESSAGES_IN.value() - news, u64::from(messages) * 2 + 3);
    assert_eq!(counters::MESSAGES_DUPLICATE.value() - duplicates, u64::from(messages));
}
