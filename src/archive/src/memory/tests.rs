//! What only the memory archive promises: the bound, the order of eviction, and the reuse of buffers.

use std::ops::Bound;
use std::sync::Arc;

use super::{MemoryArchive, Store};
use crate::counters::InsertTally;
use crate::{Archive, ArchiveMessage, InsertOutcome, Query, StoredBody};

fn message(number: u8, timestamp: i64, payload: &[u8]) -> ArchiveMessage<'_> {
    let (pubsub_topic, content_topic) = ("/waku/2/rs/0/0", "/test/1/memory/proto");
    ArchiveMessage { hash: [number; 32], pubsub_topic, content_topic, payload, version: 0, timestamp, meta: &[] }
}

/// What is stored, the oldest first.
fn bodies(store: &Store) -> impl DoubleEndedIterator<Item = &Arc<StoredBody>> {
    store.by_key.range((Bound::Unbounded, Bound::Unbounded)).map(|(_, body)| body)
}

#[test]
fn oldest_leave_first_and_the_bound_holds() {
    let mut archive = MemoryArchive::new(50_000);
    let payload = [7; 10_000];
    // The timestamps run backwards: what was inserted last is the oldest, and leaves at once when the archive is full.
    for number in 1..=9 {
        let outcome = archive.insert_batch(&mut [message(number, 100 - i64::from(number), &payload)].into_iter());
        assert_eq!(outcome.unwrap().stored, 1);
        assert!(archive.bytes() <= 50_000);
    }
    let page = archive.reader().unwrap().query(&Query::default()).unwrap();
    let numbers: Vec<u8> = page.messages.iter().map(|message| message.hash[0]).collect();
    assert_eq!(
        numbers,
        [9, 3, 2, 1],
        "the newest message of all, and the one inserted last in the place of the oldest"
    );
}

#[test]
fn message_larger_than_the_archive_is_dropped() {
    let mut archive = MemoryArchive::new(5_000);
    let (small, large) = ([1; 100], [2; 6_000]);
    assert_eq!([&small[..], &large].map(|payload| archive.takes(&message(1, 1, payload))), [true, false]);
    let outcome = archive.insert_batch(&mut [message(1, 1, &small), message(2, 2, &large)].into_iter()).unwrap();
    assert_eq!(outcome, InsertOutcome { stored: 1, duplicates: 0, dropped: 1 });
    assert_eq!(archive.message_count().unwrap(), 1);
}

#[test]
fn buffers_are_reused_after_clear() {
    let mut store = Store::new(1 << 20);
    let mut tally = InsertTally::default();
    let payloads = [vec![1; 10_000], vec![2; 50_000], vec![3; 150_000]];
    let insert_all = |store: &mut Store, tally: &mut InsertTally| {
        for (number, payload) in payloads.iter().enumerate() {
            store.insert(&message(number as u8, number as i64, payload), tally);
        }
        let mut buffers: Vec<*const u8> = bodies(store).map(|body| body.payload.as_ptr()).collect();
        buffers.sort_unstable();
        buffers
    };
    let first = insert_all(&mut store, &mut tally);
    let bytes = store.bytes();
    for _ in 0..3 {
        store.clear();
        assert_eq!(store.bytes(), bytes, "clear keeps what it emptied");
        assert_eq!(insert_all(&mut store, &mut tally), first);
        assert_eq!(store.bytes(), bytes);
    }
    assert_eq!((tally.copies, tally.copied_bytes), (12, 4 * 210_000));
}

#[test]
fn full_archive_reuses_the_buffer_of_the_evicted() {
    let mut store = Store::new(60_000);
    let mut tally = InsertTally::default();
    for number in 0..5 {
        store.insert(&message(number, i64::from(number), &[number; 10_000]), &mut tally);
    }
    let oldest = bodies(&store).next().unwrap().payload.as_ptr();
    store.insert(&message(9, 9, &[9; 10_000]), &mut tally);
    assert_eq!(tally.evicted, 1);
    assert_eq!(bodies(&store).next_back().unwrap().payload.as_ptr(), oldest);
}

#[test]
fn kept_buffers_make_way_for_other_sizes() {
    let mut store = Store::new(60_000);
    let mut tally = InsertTally::default();
    for number in 0..5 {
        store.insert(&message(number, 0, &[1; 10_000]), &mut tally);
    }
    store.clear();
    store.insert(&message(8, 8, &[8; 40_000]), &mut tally);
    assert!(store.bytes() <= 60_000);
    assert_eq!((store.by_key.len(), tally.evicted), (1, 0));
}

#[test]
fn body_held_by_a_reader_is_not_written_to() {
    let mut store = Store::new(15_000);
    let mut tally = InsertTally::default();
    store.insert(&message(1, 1, &[1; 10_000]), &mut tally);
    let held = Arc::clone(bodies(&store).next().unwrap());
    store.insert(&message(2, 2, &[2; 10_000]), &mut tally);
    assert_eq!(held.payload, [1; 10_000]);
    assert_eq!(bodies(&store).next().unwrap().payload, [2; 10_000]);
}
