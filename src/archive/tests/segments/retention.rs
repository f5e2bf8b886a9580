//! Dropping the oldest messages step by step, and what a start finds of it half done.

use std::fs;

use levada_archive::{Archive, ArchiveMessage, Retention, RetentionPolicy, SegmentArchive, SegmentOptions};
use rusqlite::Connection;

use crate::sample::{Place, contents, hash_of, insert, keep};

/// Messages so small that a segment has more of them than a step drops.
fn insert_small(archive: &mut dyn Archive, numbers: std::ops::Range<u64>) {
    let (pubsub_topic, content_topic) = ("/waku/2/rs/0/0", "/test/1/small/proto");
    let mut batch = numbers.map(|number| {
        let (hash, timestamp) = (hash_of(number), number as i64);
        ArchiveMessage { hash, pubsub_topic, content_topic, payload: &[5; 20], version: 0, timestamp, meta: &[] }
    });
    archive.insert_batch(&mut batch).unwrap();
}

fn open_large(place: &Place) -> SegmentArchive {
    let options = SegmentOptions { segment_bytes: 4 << 20, io: crate::sample::way(), ..SegmentOptions::default() };
    SegmentArchive::open(&place.index(), &options).unwrap()
}

fn oldest(archive: &dyn Archive) -> i64 {
    let query = levada_archive::Query {
        include_data: true,
        direction: levada_archive::Direction::Forward,
        page_size: Some(1),
        ..Default::default()
    };
    archive.reader().unwrap().query(&query).unwrap().messages[0].body.as_ref().unwrap().timestamp
}

/// A segment with many messages goes in steps, the oldest rows first, and a start in between goes on with the rest.
#[test]
fn a_segment_goes_in_steps_and_over_a_start() {
    let place = Place::new();
    let mut archive = open_large(&place);
    insert_small(&mut archive, 0..2_000);
    let nothing = Retention { timestamp_min_ns: Some(0), ..Retention::default() };
    assert_eq!(archive.retain(&nothing).unwrap().messages, 0);
    let retention =
        Retention { timestamp_min_ns: Some(2_000), segment_timestamp_min_ns: Some(1), ..Retention::default() };
    let first = archive.retain(&retention).unwrap();
    assert!(first.messages > 0 && first.messages < 2_000 && first.segments == 0 && first.unfinished, "{first:?}");
    assert_eq!((archive.message_count().unwrap(), oldest(&archive)), (2_000 - first.messages, first.messages as i64));
    drop(archive);
    let mut archive = open_large(&place);
    assert_eq!(archive.message_count().unwrap(), 2_000 - first.messages, "what is half dropped does not come back");
    insert_small(&mut archive, 2_000..2_010);
    let mut segments = 0;
    loop {
        let step = archive.retain(&retention).unwrap();
        segments += step.segments;
        if !step.unfinished {
            break;
        }
    }
    assert_eq!((segments, archive.message_count().unwrap(), oldest(&archive)), (1, 10, 2_000));
    assert_eq!(place.files().len(), 1, "the disk has its room back");
    drop(archive);
    assert_eq!(open_large(&place).message_count().unwrap(), 10);
}

/// The segment that is being written would keep its oldest message for ever on a quiet node.
#[test]
fn a_segment_ends_before_it_spans_too_much() {
    let place = Place::new();
    let mut archive = open_large(&place);
    let second = 1_000_000_000;
    let policy: RetentionPolicy = "time:80".parse().unwrap();
    for now in 0..200_i64 {
        let message = |payload| ArchiveMessage {
            hash: hash_of(now as u64),
            pubsub_topic: "/waku/2/rs/0/0",
            content_topic: "/test/1/quiet/proto",
            payload,
            version: 0,
            timestamp: now * second,
            meta: &[],
        };
        archive.insert_batch(&mut [message(&[1; 10][..])].into_iter()).unwrap();
        while archive.retain(&policy.at(now * second)).unwrap().unfinished {}
        let age = now - oldest(&archive) / second;
        assert!(age <= 80 + 10 + 2 && (now < 80 || age >= 80), "at {now}, the oldest is {age} s old");
    }
}

#[test]
fn sizes_count_the_index_and_the_index_shrinks() {
    let place = Place::new();
    let mut archive = open_large(&place);
    for first in (0..40_000).step_by(500) {
        insert_small(&mut archive, first..first + 500);
        archive.retain(&Retention { bytes_max: Some(100 << 20), ..Retention::default() }).unwrap();
    }
    let pages = || {
        let conn = Connection::open(place.index()).unwrap();
        let number = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        (number("PRAGMA page_count"), number("PRAGMA freelist_count"))
    };
    let size = || {
        let files = place.files().into_iter().chain([place.index()]);
        files.map(|file| fs::metadata(file).unwrap().len()).sum::<u64>()
    };
    let (full, _) = pages();
    let bytes_max = 6 << 20;
    let retention = Retention { bytes_max: Some(bytes_max), ..Retention::default() };
    while archive.retain(&retention).unwrap().unfinished {}
    let (left, free) = pages();
    assert!(left < full * 3 / 4 && free <= 1_024, "{full} pages, now {left}, {free} of them free");
    let count = archive.message_count().unwrap();
    assert!(count > 1_000, "{count} messages are left");
    Box::new(archive).close().unwrap();
    // Room for rows to come may stay free.
    assert!(size() <= bytes_max + (1_024 << 12), "{} bytes", size());
}

#[test]
fn what_is_dropped_is_counted() {
    use levada_archive::counters::{RETENTION_BYTES, RETENTION_MESSAGES, RETENTION_SEGMENTS};
    let place = Place::new();
    let mut archive = place.open();
    for first in (0..60).step_by(6) {
        insert(&mut archive, first..first + 6);
    }
    let before = [&RETENTION_MESSAGES, &RETENTION_SEGMENTS, &RETENTION_BYTES].map(levada_engine::Counter::value);
    let dropped = keep(&mut archive, 20);
    assert!(contents(&archive).into_iter().eq(dropped.messages..60));
    // Other tests of this process count as well.
    for (counter, (before, least)) in [&RETENTION_MESSAGES, &RETENTION_SEGMENTS, &RETENTION_BYTES]
        .into_iter()
        .zip(before.into_iter().zip([dropped.messages, dropped.segments, dropped.bytes]))
    {
        assert!(least > 0 && counter.value() >= before + least);
    }
}

/// A removed file could come back after a power failure, so its mark stays until the folder is synced: for the next segment, or at the end.
#[test]
fn marks_outlive_their_files_until_the_folder_is_synced() {
    let place = Place::new();
    let marked = || {
        let conn = Connection::open(place.index()).unwrap();
        conn.query_row("SELECT count(*) FROM segment WHERE dropped", [], |row| row.get::<_, i64>(0)).unwrap() as u64
    };
    let mut archive = place.open();
    let mut next = 0;
    for is_closed in [false, true] {
        for _ in 0..10 {
            insert(&mut archive, next..next + 6);
            next += 6;
        }
        let dropped = keep(&mut archive, 20);
        assert!(dropped.segments > 1);
        assert_eq!(marked(), dropped.segments);
        if is_closed {
            break;
        }
        let files = place.files().len();
        while place.files().len() == files {
            insert(&mut archive, next..next + 6);
            next += 6;
        }
        assert_eq!(keep(&mut archive, 1_000).messages, 0);
        assert_eq!(marked(), 0);
    }
    Box::new(archive).close().unwrap();
    assert_eq!(marked(), 0);
}
