//! Several nodes on one database.

use std::collections::HashMap;
use std::sync::Barrier;
use std::sync::atomic::Ordering::Relaxed;

use levada_archive::counters::{LAST_DATABASE_PAYLOAD_BYTES, database_tasks};
use levada_archive::{Archive, PostgresSchema, Retention};

use crate::sample::{Node, PARTITION_NS};
use crate::server::{name_of, shared};

const NODES: u64 = 4;
const BATCHES: u64 = 25;
const BATCH: u64 = 8;

/// Each node brings all messages, at the same moments, in an order of its own within a batch; a batch in four crosses into the next
/// partition, for which all are early.
#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn four_writers_store_every_message_once() {
    four_writers(PostgresSchema::Levada);
}

#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn four_writers_store_every_message_once_in_nwakus_tables() {
    four_writers(PostgresSchema::Nwaku);
}

fn four_writers(schema: PostgresSchema) {
    let url = shared().create_database();
    let barrier = Barrier::new(NODES as usize);
    let outcomes: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..NODES)
            .map(|index| {
                let (url, barrier) = (&url, &barrier);
                scope.spawn(move || {
                    let mut node = Node::of_schema(url, schema).unwrap();
                    let (mut stored, mut duplicates) = (0, 0);
                    for batch in 0..BATCHES {
                        barrier.wait();
                        let numbers = (0..BATCH).map(|place| batch * BATCH + (place * (2 * index + 1) + index) % BATCH);
                        let outcome = node.insert(numbers).unwrap();
                        stored += outcome.stored;
                        duplicates += outcome.duplicates;
                        assert_eq!(node.waiting(), 0, "nothing failed");
                    }
                    (stored, duplicates)
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let stored: u64 = outcomes.iter().map(|outcome| outcome.0).sum();
    let duplicates: u64 = outcomes.iter().map(|outcome| outcome.1).sum();
    assert_eq!((stored, duplicates), (BATCHES * BATCH, (NODES - 1) * BATCHES * BATCH));
    assert!(Node::of_schema(&url, schema).unwrap().contents().into_iter().eq(0..BATCHES * BATCH));
}

#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn a_partition_dropped_by_one_node_is_made_again_by_another() {
    let url = shared().create_database();
    let (mut first, mut second) = (Node::new(&url), Node::new(&url));
    assert_eq!(first.insert(0..30).unwrap().stored, 30);
    assert_eq!(second.insert([5, 31]).unwrap().duplicates, 1);
    let retention = Retention { timestamp_min_ns: Some(20), ..Retention::default() };
    let mut dropped = 0;
    loop {
        let step = first.archive().retain(&retention).unwrap();
        assert_eq!((step.segments, step.messages), (1, 10));
        assert!(step.bytes > 0);
        dropped += step.messages;
        if !step.unfinished {
            break;
        }
    }
    assert_eq!(dropped, 20);
    assert_eq!(first.archive().retain(&retention).unwrap().segments, 0);
    assert!(second.contents().into_iter().eq((20..30).chain([31])));
    // The second node knows nothing of it.
    assert_eq!(second.insert([5]).unwrap().stored, 1);
    assert_eq!(second.waiting(), 0);
    assert!(first.contents().into_iter().eq([5].into_iter().chain(20..30).chain([31])));
}

/// The next partition is there before the first message of it.
#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn partitions_are_made_ahead_and_hold_payloads_uncompressed() {
    let url = shared().create_database();
    Node::new(&url).insert(0..3).unwrap();
    let name = name_of(&url);
    let starts = shared().sql(&name, "SELECT start_ns FROM levada_partition ORDER BY 1");
    assert_eq!(starts, format!("0\n{PARTITION_NS}\n"));
    let storage = "SELECT DISTINCT attstorage FROM pg_attribute WHERE attname = 'payload' AND attrelid::regclass::text \
                   LIKE 'levada_message%'";
    assert_eq!(shared().sql(&name, storage), "e\n");
}

#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn sizes_are_kept_but_for_the_newest_partitions() {
    let url = shared().create_database();
    let mut node = Node::new(&url);
    node.insert(0..100).unwrap();
    let on_disk = || shared().sql(&name_of(&url), "SELECT pg_database_size(current_database())");
    let before: u64 = on_disk().trim().parse().unwrap();
    let retention = Retention { bytes_max: Some(400_000), ..Retention::default() };
    let mut dropped = 0;
    loop {
        let step = node.archive().retain(&retention).unwrap();
        dropped += step.bytes;
        if !step.unfinished {
            break;
        }
    }
    let after: u64 = on_disk().trim().parse().unwrap();
    assert!(dropped > 0 && after + dropped / 2 < before, "the files are gone: {before} bytes, then {after}");
    let size = "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent IN \
                ('levada_message'::regclass, 'levada_key'::regclass)";
    let bytes: u64 = shared().sql(&name_of(&url), size).trim().parse().unwrap();
    assert!(bytes <= 400_000, "{bytes} bytes");
    let least = Retention { bytes_max: Some(1), ..Retention::default() };
    while node.archive().retain(&least).unwrap().unfinished {}
    assert!(node.contents().into_iter().eq(90..100), "the partition being filled, and the empty one behind it");
}

#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn what_the_database_was_asked_is_counted_and_timed() {
    for schema in [PostgresSchema::Levada, PostgresSchema::Nwaku] {
        let mut node = Node::of_schema(&shared().create_database(), schema).unwrap();
        let counts = || database_tasks().map(|task| (task.query, task.count)).collect::<HashMap<_, _>>();
        let before = counts();
        node.insert(0..10).unwrap();
        assert_eq!(node.contents().len(), 10);
        let after = counts();
        for query in ["keys", "insert", "select"] {
            assert!(after[query] > before[query], "{query} into the tables of {schema}");
        }
        for task in database_tasks().filter(|task| task.count > 0) {
            assert!(task.sending_s > 0.0 && task.waiting_s > 0.0, "{task:?}");
        }
        assert!(LAST_DATABASE_PAYLOAD_BYTES.load(Relaxed) > 0);
    }
}
