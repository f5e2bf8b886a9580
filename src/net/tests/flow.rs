//! Large messages in a row, a receiver without room, and the end.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;

use bytes::Bytes;
use levada_net::{PublishError, ReportError, SubscribeError, Verdict, counters};
use support::{LARGEST_BYTES, Node, TOPIC, config, dialling, until, within};
use tokio::sync::Semaphore;

/// A message of `bytes` bytes that begins with its number.
fn numbered(number: u32, bytes: usize) -> Bytes {
    let mut data = vec![0x5a; bytes];
    data[..4].copy_from_slice(&number.to_be_bytes());
    data.into()
}

fn number_of(data: &[u8]) -> u32 {
    u32::from_be_bytes(data[..4].try_into().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_messages_arrive_with_32_in_flight() {
    const MESSAGES: u32 = 200;
    let a = Node::start(config()).await;
    let mut b = Node::start(dialling(&a.tcp())).await;
    a.meshed(1).await;
    let window = Arc::new(Semaphore::new(32));
    let opened = window.clone();
    let publisher = tokio::spawn(async move {
        for number in 0..MESSAGES {
            opened.acquire().await.unwrap().forget();
            assert_eq!(a.handle.publish(TOPIC, numbered(number, LARGEST_BYTES), None).await, Ok(1));
        }
        a
    });
    for number in 0..MESSAGES {
        let message = b.receive().await;
        assert_eq!((number_of(&message.data), message.data.len()), (number, LARGEST_BYTES));
        b.judge(message, Verdict::Accept).await;
        window.add_permits(1);
    }
    publisher.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_receiver_stops_the_reading_and_loses_nothing() {
    const MESSAGES: u32 = 64;
    let mut full = Node::start_with_room(config(), 2).await;
    let from = Node::start(dialling(&full.tcp())).await;
    from.meshed(1).await;
    full.meshed(1).await;
    for number in 0..MESSAGES {
        assert_eq!(from.handle.publish(TOPIC, numbered(number, 1_024), None).await, Ok(1));
    }
    full.stalled().await;
    until(async || full.handle.stalled_for().is_some()).await;
    assert_eq!(full.handle.connected_count(), 1);
    assert_eq!(full.handle.peers().await.len(), 1, "commands are served meanwhile");
    for number in 0..MESSAGES {
        let message = full.receive().await;
        assert_eq!(number_of(&message.data), number);
        full.judge(message, Verdict::Accept).await;
    }
    // The last message arrives a moment before the task notes that there was room for it.
    until(async || full.handle.stalled_for().is_none()).await;
    until(async || counters::INBOUND_STALLED_NS.value() > 0).await;
    assert!(counters::INBOUND_STALLS.value() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn verdicts_and_publications_move_while_reading_is_stopped() {
    let mut full = Node::start_with_room(config(), 1).await;
    let from = Node::start(dialling(&full.tcp())).await;
    let mut to = Node::start(dialling(&full.tcp())).await;
    full.meshed(2).await;
    from.meshed(1).await;
    to.meshed(1).await;
    assert_eq!(full.handle.stalled_for(), None);
    assert_eq!(from.publish(b"taken").await, Ok(1));
    assert_eq!(from.publish(b"no room").await, Ok(1));
    full.stalled().await;
    until(async || full.handle.stalled_for().is_some()).await;
    let before = full.handle.stalled_for().unwrap();
    // The place of the first message stays taken, so there is no room all the time.
    let taken = full.take().await;
    full.judge(taken, Verdict::Accept).await;
    assert_eq!(to.receive().await.data, b"taken", "an accepted message is forwarded");
    assert_eq!(full.publish(b"own").await, Ok(2));
    assert_eq!(to.receive().await.data, b"own", "a publication is sent");
    assert!(full.handle.stalled_for().unwrap() > before, "it is the same stall");
    full.handle.shutdown();
    within(full.task).await.unwrap();
    assert_eq!(full.handle.stalled_for(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_verdicts_in_one_call_are_all_applied() {
    const MESSAGES: u32 = 150;
    let mut middle = Node::start(config()).await;
    let from = Node::start(dialling(&middle.tcp())).await;
    let mut to = Node::start(dialling(&middle.tcp())).await;
    middle.meshed(2).await;
    from.meshed(1).await;
    to.meshed(1).await;
    let mut verdicts = Vec::new();
    for number in 0..MESSAGES {
        assert_eq!(from.handle.publish(TOPIC, numbered(number, 16), None).await, Ok(1));
        let message = middle.receive().await;
        verdicts.push((message.slot, Verdict::Accept));
    }
    let last = verdicts.split_off(149);
    while !verdicts.is_empty() {
        // What is in the send queue of a peer is bounded, so it is emptied between.
        let some = verdicts.drain(..verdicts.len().min(100)).collect::<Vec<_>>();
        let ids: Vec<_> = some.iter().map(|(message, _)| message.record().id).collect();
        middle.handle.report_many(some.into_iter()).await.unwrap();
        for id in ids {
            assert_eq!(to.receive().await.id, id);
        }
    }
    middle.handle.shutdown();
    within(middle.task).await.unwrap();
    assert_eq!(middle.handle.report_many(last.into_iter()).await, Err(ReportError::Stopped));
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_ends_the_task_and_tells_the_peers() {
    let a = Node::start(config()).await;
    let b = Node::start(dialling(&a.tcp())).await;
    until(async || a.handle.connected_count() == 1 && b.handle.connected_count() == 1).await;
    let mut changes = a.handle.changes();
    b.handle.shutdown();
    within(b.task).await.unwrap();
    while a.handle.connected_count() > 0 {
        within(changes.changed()).await.unwrap();
    }
    assert_eq!(b.handle.publish(TOPIC, Bytes::from_static(b"late"), None).await, Err(PublishError::Stopped));
    assert_eq!(b.handle.subscribe(TOPIC).await, Err(SubscribeError::Stopped));
    assert!(b.handle.peers().await.is_empty());
    drop(a.handle);
    within(a.task).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_during_a_stall_ends_too() {
    let full = Node::start_with_room(config(), 1).await;
    let from = Node::start(dialling(&full.tcp())).await;
    from.meshed(1).await;
    for number in 0..8 {
        assert_eq!(from.handle.publish(TOPIC, numbered(number, 16), None).await, Ok(1));
    }
    full.stalled().await;
    full.handle.shutdown();
    within(full.task).await.unwrap();
}
