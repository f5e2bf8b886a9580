//! What a file keeps: over a close, over a drop, and over the death of the process.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use levada_archive::{Archive, ArchiveMessage, Direction, Hash, Query, SqliteArchive};

const CHILD_PATH: &str = "LEVADA_ARCHIVE_TEST_PATH";
const BATCH: u64 = 40;

fn hash_of(number: u64) -> Hash {
    let mut hash = [1; 32];
    hash[24..].copy_from_slice(&number.to_be_bytes());
    hash
}

fn message(number: u64, payload: &[u8]) -> ArchiveMessage<'_> {
    let (pubsub_topic, content_topic) = ("/waku/2/rs/0/0", "/test/1/reopen/proto");
    let (hash, timestamp) = (hash_of(number), number as i64);
    ArchiveMessage { hash, pubsub_topic, content_topic, payload, version: 0, timestamp, meta: &[] }
}

fn payload_of(number: u64) -> Vec<u8> {
    vec![number as u8; 20_000]
}

fn insert(archive: &mut dyn Archive, numbers: std::ops::Range<u64>) {
    let payloads: Vec<(u64, Vec<u8>)> = numbers.map(|number| (number, payload_of(number))).collect();
    archive.insert_batch(&mut payloads.iter().map(|(number, payload)| message(*number, payload))).unwrap();
}

/// The archive at `path` holds the messages `0..count`, each once and whole.
fn assert_holds(path: &Path, count: u64) {
    let archive = SqliteArchive::open(path).unwrap();
    let query = Query { include_data: true, direction: Direction::Forward, page_size: Some(100), ..Query::default() };
    let page = archive.reader().unwrap().query(&query).unwrap();
    assert_eq!(page.messages.len() as u64, count);
    for (number, message) in (0..).zip(page.messages) {
        assert_eq!(message.hash, hash_of(number));
        assert!(message.body.unwrap().payload == payload_of(number), "payload {number}");
    }
}

#[test]
fn closed_and_dropped_archives_keep_everything() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("levada.sqlite3");
    let mut archive = SqliteArchive::open(&path).unwrap();
    insert(&mut archive, 0..BATCH);
    Box::new(archive).close().unwrap();
    assert!(!folder.path().join("levada.sqlite3-wal").exists(), "the log was written into the database");
    assert_holds(&path, BATCH);
    let mut archive = SqliteArchive::open(&path).unwrap();
    insert(&mut archive, BATCH..2 * BATCH);
    drop(archive);
    assert_holds(&path, 2 * BATCH);
}

/// Runs itself as a child that inserts two batches and dies in the middle of the third.
#[test]
fn killed_process_keeps_what_was_acknowledged() {
    if let Some(path) = std::env::var_os(CHILD_PATH) {
        die_in_the_third_batch(Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("levada.sqlite3");
    let test = "killed_process_keeps_what_was_acknowledged";
    let child = Command::new(std::env::current_exe().unwrap()).args(["--exact", test]).env(CHILD_PATH, &path).output();
    let output = child.unwrap();
    assert_eq!(output.status.code(), None, "ended by a signal: {output:?}");
    assert!(folder.path().join("levada.sqlite3-wal").exists(), "nobody cleaned up");
    assert_holds(&path, 2 * BATCH);
    let mut archive = SqliteArchive::open(&path).unwrap();
    insert(&mut archive, BATCH..2 * BATCH + 5);
    drop(archive);
    assert_holds(&path, 2 * BATCH + 5);
}

fn die_in_the_third_batch(path: &Path) -> ! {
    let mut archive = SqliteArchive::open(path).unwrap();
    insert(&mut archive, 0..BATCH);
    insert(&mut archive, BATCH..2 * BATCH);
    let payload = vec![9; 1 << 20];
    let mut number = 2 * BATCH;
    let endless = std::iter::from_fn(|| {
        // By then more than the page cache holds has gone into the log, uncommitted.
        if number == 3 * BATCH {
            std::process::abort();
        }
        number += 1;
        Some(message(number, &payload))
    });
    let outcome = archive.insert_batch(&mut { endless });
    panic!("the batch ended: {outcome:?}");
}
