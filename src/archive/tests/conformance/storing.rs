//! What goes in comes out, once.

use std::sync::atomic::{AtomicBool, Ordering};

use levada_archive::{Archive, ArchiveMessage, Direction, InsertOutcome, PAYLOAD_BYTES_MAX, Query, counters};

use crate::sample::{Sample, ask, hash_of, hashes, insert, samples, sorted};

fn everything() -> Query {
    Query { include_data: true, direction: Direction::Forward, page_size: Some(100), ..Query::default() }
}

pub fn fields_come_back(mut archive: Box<dyn Archive>) {
    let mut odd = Sample::new(1, i64::MIN);
    odd.body.version = u32::MAX;
    odd.body.meta = (0..64).collect();
    odd.body.payload = (0..=255).collect();
    odd.body.content_topic = "/test/1/naïve\0 'topic'/proto".to_owned();
    let mut empty = Sample::new(2, i64::MAX);
    empty.body.payload.clear();
    empty.body.meta.clear();
    empty.body.content_topic.clear();
    insert(&mut *archive, &[empty.clone(), odd.clone()]);
    let page = ask(&mut *archive.reader().unwrap(), &everything());
    assert_eq!(page.messages, [odd.stored(true), empty.stored(true)]);
    assert_eq!(page.cursor, None);
}

/// Where topics are text, times begin at 0, and the version has 31 bits, other messages are counted as dropped.
pub fn plain_fields_come_back(mut archive: Box<dyn Archive>) {
    let mut odd = Sample::new(1, 7);
    odd.body.version = i32::MAX as u32;
    odd.body.meta = (0..64).collect();
    odd.body.payload = (0..=255).collect();
    odd.body.content_topic = "/test/1/naïve 'topic'\\\"{},NULL/proto".to_owned();
    let mut empty = Sample::new(2, 8_000);
    empty.body.payload.clear();
    empty.body.meta.clear();
    empty.body.content_topic.clear();
    let mut refused = [odd.clone(), odd.clone(), odd.clone(), odd.clone(), odd.clone()];
    (0..).zip(&mut refused).for_each(|(number, sample)| sample.hash = hash_of(100 + number));
    refused[0].body.version = u32::MAX;
    refused[1].body.content_topic = "a\0b".to_owned();
    refused[2].body.pubsub_topic = "\0".to_owned();
    refused[3].body.timestamp = -1;
    refused[4].body.timestamp = i64::MAX;
    let outcome = insert(&mut *archive, &[&[empty.clone(), odd.clone()][..], &refused].concat());
    assert_eq!(outcome, InsertOutcome { stored: 2, duplicates: 0, dropped: 5 });
    let mut reader = archive.reader().unwrap();
    assert_eq!(ask(&mut *reader, &everything()).messages, [odd.stored(true), empty.stored(true)]);
    // Nothing has such a topic, which is no fault of the query.
    for query in [
        Query { pubsub_topic: Some("\0".to_owned()), ..everything() },
        Query { content_topics: vec!["a\0b".to_owned()], ..everything() },
    ] {
        assert_eq!(ask(&mut *reader, &query).messages, []);
    }
    let either = vec!["a\0b".to_owned(), odd.body.content_topic.clone()];
    let page = ask(&mut *reader, &Query { content_topics: either, ..everything() });
    assert_eq!(page.messages, [odd.stored(true)]);
}

pub fn duplicates_are_ignored(mut archive: Box<dyn Archive>) {
    let first = Sample::new(1, 1_000);
    // The same hash with other fields: the first one stays. The time is the same, because a hash covers it, and an archive may look for a
    // duplicate where its time belongs.
    let mut second = Sample::new(2, 1_000);
    second.hash = first.hash;
    let outcome = insert(&mut *archive, &[first.clone(), second.clone(), Sample::new(3, 1), first.clone()]);
    assert_eq!(outcome, InsertOutcome { stored: 2, duplicates: 2, dropped: 0 });
    assert_eq!(insert(&mut *archive, &[second]), InsertOutcome { stored: 0, duplicates: 1, dropped: 0 });
    let page = ask(&mut *archive.reader().unwrap(), &everything());
    assert_eq!(page.messages, [Sample::new(3, 1).stored(true), first.stored(true)]);
    assert_eq!(archive.message_count().unwrap(), 2);
}

pub fn empty_batch(mut archive: Box<dyn Archive>) {
    assert_eq!(insert(&mut *archive, &[]), InsertOutcome::default());
    assert_eq!(ask(&mut *archive.reader().unwrap(), &everything()).messages, []);
}

pub fn payload_of_one_mebibyte(mut archive: Box<dyn Archive>) {
    // Around it, lengths that end just before, at and just behind the ends of pages.
    let lengths = [1, 4_000, 8_100, 8_150, 8_191, 8_192, 8_193, 16_384, 150_000, 1 << 20];
    let samples: Vec<Sample> = (0_u64..)
        .zip(lengths)
        .map(|(number, length)| {
            let mut sample = Sample::new(number, number as i64);
            sample.body.payload = (0..length).map(|index| (index * 31 + length / 7) as u8).collect();
            sample
        })
        .collect();
    insert(&mut *archive, &samples);
    let page = ask(&mut *archive.reader().unwrap(), &everything());
    for (message, sample) in page.messages.iter().zip(&samples) {
        assert!(*message == sample.stored(true), "payload of {} bytes", sample.body.payload.len());
    }
    assert_eq!(page.messages.len(), samples.len());
}

pub fn clear_empties(mut archive: Box<dyn Archive>) {
    let mut reader = archive.reader().unwrap();
    for _ in 0..3 {
        assert_eq!(insert(&mut *archive, &samples(45)).stored, 45);
        assert_eq!(archive.message_count().unwrap(), 45);
        archive.clear().unwrap();
        assert_eq!(archive.message_count().unwrap(), 0);
        assert_eq!(ask(&mut *reader, &everything()).messages, []);
    }
}

/// Batches of ten that share a timestamp: a reader on another thread sees each of them whole or not at all, in order.
pub fn reader_sees_whole_batches(mut archive: Box<dyn Archive>) {
    let mut reader = archive.reader().unwrap();
    let done = AtomicBool::new(false);
    let (first_query, wait) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let query = Query { page_size: Some(100), direction: Direction::Forward, ..Query::default() };
            let mut seen = 0;
            loop {
                let last = done.load(Ordering::SeqCst);
                let count = ask(&mut *reader, &query).messages.len();
                first_query.send(()).unwrap();
                assert!(count.is_multiple_of(10) && count >= seen, "{count} after {seen}");
                seen = count;
                if last {
                    return seen;
                }
            }
        });
        wait.recv().unwrap();
        for batch in 0..10 {
            let samples: Vec<Sample> = (0..10).map(|index| Sample::new(batch * 10 + index, batch as i64)).collect();
            insert(&mut *archive, &samples);
        }
        done.store(true, Ordering::SeqCst);
        assert_eq!(reading.join().unwrap(), 100);
    });
}

pub fn reader_outlives_archive(mut archive: Box<dyn Archive>) {
    insert(&mut *archive, &samples(10));
    let mut reader = archive.reader().unwrap();
    archive.close().unwrap();
    let expected: Vec<_> = sorted(samples(10)).iter().map(|sample| sample.hash).collect();
    assert_eq!(hashes(&ask(&mut *reader, &everything())), expected);
}

pub fn oversized_payload_is_dropped(mut archive: Box<dyn Archive>) {
    let payload = vec![0; PAYLOAD_BYTES_MAX + 1];
    let small = Sample::new(1, 1);
    let large = ArchiveMessage { hash: hash_of(2), payload: &payload, ..small.borrow() };
    let outcome = archive.insert_batch(&mut [large, small.borrow()].into_iter()).unwrap();
    assert_eq!(outcome, InsertOutcome { stored: 1, duplicates: 0, dropped: 1 });
}

/// Other tests count at the same time, so that only lower bounds hold.
pub fn counters_count(mut archive: Box<dyn Archive>) {
    let all = [
        (&counters::STORED_MESSAGES, 1),
        (&counters::DUPLICATE_MESSAGES, 1),
        (&counters::INSERTED_PAYLOAD_BYTES, 5_000),
        (&counters::ARCHIVE_COPIES, 1),
        (&counters::ARCHIVE_COPIED_BYTES, 5_000),
        (&counters::QUERIES, 1),
        (&counters::QUERIED_PAYLOAD_BYTES, 5_000),
        (&counters::QUERY_FAILURES, 1),
    ];
    let before = all.map(|(counter, _)| counter.value());
    let mut sample = Sample::new(1, 1);
    sample.body.payload = vec![1; 5_000];
    insert(&mut *archive, &[sample.clone(), sample]);
    let mut reader = archive.reader().unwrap();
    ask(&mut *reader, &everything());
    reader.query(&Query { cursor: Some([9; 32]), ..Query::default() }).unwrap_err();
    for ((counter, least), before) in all.into_iter().zip(before) {
        assert!(counter.value() >= before + least);
    }
}
