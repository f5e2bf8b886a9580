//! An index and segments that disagree: either of them lost, or left from another moment.

use std::fs;

use levada_archive::Archive;
use rusqlite::Connection;

use crate::sample::{Place, contents, insert, keep};

/// An archive of several segments, with 60 messages.
fn filled() -> Place {
    let place = Place::new();
    let mut archive = place.open();
    for first in (0..60).step_by(6) {
        insert(&mut archive, first..first + 6);
    }
    assert!(place.files().len() >= 5);
    // Every hash has entered the index.
    Box::new(archive).close().unwrap();
    place
}

#[test]
fn a_lost_index_is_made_anew() {
    let place = filled();
    place.lose_index();
    let mut archive = place.open();
    assert!(contents(&archive).into_iter().eq(0..60));
    let outcome = insert(&mut archive, 55..65);
    assert_eq!((outcome.stored, outcome.duplicates), (5, 5));
    drop(archive);
    assert!(contents(&place.open()).into_iter().eq(0..65));
}

/// What a power failure leaves of commits that were not synced.
#[test]
fn an_older_index_catches_up() {
    let place = Place::new();
    let mut archive = place.open();
    insert(&mut archive, 0..6);
    let older = place.copy();
    for first in (6..60).step_by(6) {
        insert(&mut archive, first..first + 6);
    }
    for file in place.files() {
        fs::copy(&file, older.segments().join(file.file_name().unwrap())).unwrap();
    }
    let mut archive = older.open();
    assert!(contents(&archive).into_iter().eq(0..60));
    let dropped = keep(&mut archive, 20);
    assert!(contents(&archive).into_iter().eq(dropped.messages..60));
}

#[test]
fn a_missing_segment_costs_its_messages_and_can_come_back() {
    let place = filled();
    let files = place.files();
    let (missing, aside) = (&files[1], place.folder().join("aside"));
    fs::rename(missing, &aside).unwrap();
    let archive = place.open();
    let left = contents(&archive);
    assert!(left.len() < 60 && left.len() >= 40, "{left:?}");
    assert_eq!(archive.message_count().unwrap(), left.len() as u64);
    drop(archive);
    fs::rename(&aside, missing).unwrap();
    assert!(contents(&place.open()).into_iter().eq(0..60));
}

/// A database can be damaged without an error of its own.
#[test]
fn a_row_that_is_wrong_costs_its_message() {
    for (wrong, column) in [
        ("1 << 60", "bytes"),
        ("-8", "bytes"),
        ("90", "bytes"),
        ("bytes - 8", "bytes"),
        ("zeroblob(32)", "hash"),
        ("id + 1", "id"),
        ("id + (1 << 40)", "id"),
    ] {
        let place = filled();
        let conn = Connection::open(place.index()).unwrap();
        let id = "(SELECT id FROM message WHERE timestamp = 7)";
        conn.execute_batch(&format!("UPDATE message SET {column} = {wrong} WHERE id = {id}")).unwrap();
        drop(conn);
        let found = contents(&place.open());
        assert!(found.len() == 59 && !found.contains(&7), "{column} = {wrong}: {found:?}");
    }
}

/// A crash between the commit that takes the rows away and the removal of the file.
#[test]
fn a_segment_that_retention_had_marked_is_removed() {
    let place = filled();
    let first = place.files()[0].clone();
    let conn = Connection::open(place.index()).unwrap();
    conn.execute_batch(
        "UPDATE segment SET dropped = 1, messages = 0 WHERE id = 0; DELETE FROM message WHERE id < 1 << 32",
    )
    .unwrap();
    drop(conn);
    let left = contents(&place.open());
    assert!(!first.exists());
    let oldest = *left.first().unwrap();
    assert!(oldest > 0 && left.into_iter().eq(oldest..60));
}

/// A crash while a segment was created leaves nothing of it, or its header, or part of that.
#[test]
fn an_unfinished_segment_is_removed() {
    for bytes in [0, 1, 100, 4_096] {
        let place = filled();
        let block = fs::read(&place.files()[0]).unwrap();
        let last = place.segments().join("0000000999.segment");
        fs::write(&last, vec![0; bytes]).unwrap();
        let mut archive = place.open();
        assert!(!last.exists(), "{bytes} bytes");
        assert!(contents(&archive).into_iter().eq(0..60));
        insert(&mut archive, 60..61);
        assert!(place.segments().join("0000001000.segment").exists(), "a number is used once");
        assert!(block == fs::read(&place.files()[0]).unwrap());
    }
}

#[test]
fn other_files_in_the_folder_are_left_alone() {
    let place = filled();
    for name in ["notes.txt", "1.segment", "0000000001.segment~", "99999999999999.segment"] {
        fs::write(place.segments().join(name), b"mine").unwrap();
    }
    drop(place.open());
    assert_eq!(fs::read(place.segments().join("1.segment")).unwrap(), b"mine");
    assert!(contents(&place.open()).into_iter().eq(0..60));
}

#[test]
fn duplicates_and_empty_batches_write_nothing() {
    let place = filled();
    let before: Vec<u64> = place.files().iter().map(|file| fs::metadata(file).unwrap().len()).collect();
    let mut archive = place.open();
    assert_eq!(insert(&mut archive, 0..60).duplicates, 60);
    assert_eq!(insert(&mut archive, 0..0).stored, 0);
    let after: Vec<u64> = place.files().iter().map(|file| fs::metadata(file).unwrap().len()).collect();
    assert_eq!(before, after);
}
