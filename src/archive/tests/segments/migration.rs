//! An archive of the first format moves into segments when it is opened.

use levada_archive::{ArchiveError, SegmentArchive, SegmentOptions, SqliteArchive};

use crate::sample::{Place, contents, insert};

fn first_format(place: &Place) -> SqliteArchive {
    let mut first = SqliteArchive::open(&place.index()).unwrap();
    insert(&mut first, (0..400).rev());
    insert(&mut first, 400..500);
    first
}

#[test]
fn every_message_moves_once_in_its_order() {
    let place = Place::new();
    drop(first_format(&place));
    let mut archive = place.open();
    assert!(contents(&archive).into_iter().eq(0..500));
    assert_eq!(insert(&mut archive, 490..510).stored, 10);
    drop(archive);
    assert!(contents(&place.open()).into_iter().eq(0..510));
    let error = SqliteArchive::open(&place.index()).unwrap_err();
    assert!(matches!(error, ArchiveError::NotAnArchive { .. }), "{error}");
}

#[test]
fn an_archive_that_is_in_use_stays_where_it_is() {
    let place = Place::new();
    let first = first_format(&place);
    let opened = SegmentArchive::open(&place.index(), &SegmentOptions::default());
    assert!(matches!(opened.map(|_| ()), Err(ArchiveError::Locked { .. })));
    assert_eq!(contents(&first).len(), 500);
    assert!(!place.segments().exists());
}

/// Segments that a move had filled before its index was lost are not written again.
#[test]
fn what_has_moved_already_is_recognised() {
    let place = Place::new();
    drop(first_format(&place));
    let moved = Place::new();
    drop(first_format(&moved));
    drop(moved.open());
    std::fs::create_dir(place.segments()).unwrap();
    for file in moved.files() {
        std::fs::copy(&file, place.segments().join(file.file_name().unwrap())).unwrap();
    }
    let archive = place.open();
    assert!(contents(&archive).into_iter().eq(0..500));
    assert_eq!(place.files().len(), moved.files().len());
}
