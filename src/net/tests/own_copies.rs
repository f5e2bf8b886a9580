//! What a message costs on its way through nodes with the own router. One test, alone in its process, so that what it counts is its own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::alloc::System;

use bytes::Bytes;
use levada_engine::PAYLOAD_COPIES;
use levada_engine::heap::{CountingAllocator, allocations_total};
use levada_net::{TransportKind, Verdict, counters};
use levada_wire::hash::MESSAGE_IDS;
use support::{Node, TOPIC, config, dialling, until, within};

#[global_allocator]
static HEAP: CountingAllocator<System> = CountingAllocator(System);

const WARM_UP: u32 = 200;
const MEASURED: u32 = 1_000;

/// A message of 400 bytes to 100 kB that begins with its number.
fn numbered(number: u32) -> Bytes {
    let mut data = vec![0x5a; if number.is_multiple_of(2) { 400 } else { 100_000 }];
    data[..4].copy_from_slice(&number.to_be_bytes());
    data.into()
}

/// Publishes at one end and accepts in the middle and at the other end; gives the allocations of all three.
async fn relay(from: &Node, middle: &mut Node, to: &mut Node, numbers: std::ops::Range<u32>) -> u64 {
    let messages: Vec<_> = numbers.map(numbered).collect();
    let before = allocations_total();
    for data in messages {
        assert_eq!(from.handle.publish(TOPIC, data, None).await, Ok(1));
        for node in [&mut *middle, &mut *to] {
            let message = within(node.inbox.recv()).await.unwrap();
            node.handle.report(message, Verdict::Accept).await.unwrap();
        }
    }
    allocations_total() - before
}

#[tokio::test(flavor = "multi_thread")]
async fn no_payload_is_copied_and_each_copy_that_comes_is_hashed_once() {
    let with_transport = |mut config: levada_net::NetConfig| {
        config.transport = TransportKind::Levada;
        config
    };
    let mut middle = Node::start_with_room(with_transport(config()), usize::MAX).await;
    let from = Node::start(with_transport(dialling(&middle.tcp()))).await;
    let mut to = Node::start_with_room(with_transport(dialling(&middle.tcp())), usize::MAX).await;
    middle.meshed(2).await;
    from.meshed(1).await;
    to.meshed(1).await;
    relay(&from, &mut middle, &mut to, 0..WARM_UP).await;
    let [copies, hashes] = [PAYLOAD_COPIES.value(), MESSAGE_IDS.value()];
    let allocated = relay(&from, &mut middle, &mut to, WARM_UP..WARM_UP + MEASURED).await;
    // The publisher: the topic's name, the way back for the answer, and the count of a vector that is shared as `Bytes`. The others
    // nothing, beside a block of a channel now and then.
    assert!(allocated < u64::from(MEASURED) * 7 / 2, "{allocated} allocations for {MEASURED} messages in three nodes");
    assert_eq!(PAYLOAD_COPIES.value() - copies, 0, "above the stream");
    // Once by the publisher, which was not given the id, and once by each of the two receivers.
    assert_eq!(MESSAGE_IDS.value() - hashes, u64::from(MEASURED) * 3);

    a_duplicate_costs_one_hash(&from, &mut middle, &mut to).await;
}

/// The middle gets the same message from both sides.
async fn a_duplicate_costs_one_hash(from: &Node, middle: &mut Node, to: &mut Node) {
    let [duplicates, hashes, copies] =
        [counters::MESSAGES_DUPLICATE.value(), MESSAGE_IDS.value(), PAYLOAD_COPIES.value()];
    let id = Some(levada_wire::hash::sha256(b"twice"));
    for node in [from, &*to] {
        assert_eq!(node.handle.publish(TOPIC, Bytes::from_static(b"twice"), id).await, Ok(1));
    }
    let first = within(middle.inbox.recv()).await.unwrap();
    until(async || counters::MESSAGES_DUPLICATE.value() == duplicates + 1).await;
    assert_eq!((MESSAGE_IDS.value() - hashes, PAYLOAD_COPIES.value() - copies), (2, 0));
    middle.handle.report(first, Verdict::Ignore).await.unwrap();
    assert!(middle.inbox.try_recv().is_err(), "nobody sees the second one");
}
