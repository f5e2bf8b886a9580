//! A file of every format that was ever written, kept as it was: each must open.

use std::fs;
use std::path::Path;

use crate::sample::{Place, contents, insert};

/// Messages 0, 4 and 8 of the samples; their payloads are short.
const KEPT: [u64; 3] = [0, 4, 8];
/// What the files of version 2 have: the payload of the second was written from where it lay.
const KEPT_2: [u64; 3] = [0, 3, 4];

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/segments/fixtures").join(name)
}

/// A place with a segment, and the index over it if one is named.
fn place_with(segment: &str, index: Option<&str>) -> Place {
    let place = Place::new();
    fs::create_dir(place.segments()).unwrap();
    fs::copy(fixture(segment), place.segments().join("0000000000.segment")).unwrap();
    if let Some(index) = index {
        fs::copy(fixture(index), place.index()).unwrap();
    }
    place
}

#[test]
fn database_of_the_first_format() {
    let place = Place::new();
    fs::copy(fixture("database_1.sqlite3"), place.index()).unwrap();
    let mut archive = place.open();
    assert!(contents(&archive).into_iter().eq(KEPT));
    insert(&mut archive, 9..10);
}

#[test]
fn segment_of_version_1() {
    let place = place_with("version_1.segment", None);
    assert!(contents(&place.open()).into_iter().eq(KEPT));
}

#[test]
fn index_of_version_1() {
    let place = place_with("version_1.segment", Some("index_1.sqlite3"));
    let mut archive = place.open();
    assert!(contents(&archive).into_iter().eq(KEPT));
    assert_eq!(insert(&mut archive, KEPT).duplicates, 3);
}

#[test]
fn segment_of_version_2() {
    let place = place_with("version_2.segment", None);
    assert!(contents(&place.open()).into_iter().eq(KEPT_2));
}

#[test]
fn index_of_version_2() {
    opens_whole("index_2.sqlite3");
}

/// Of its messages one waits to enter the hashes.
#[test]
fn index_of_version_3() {
    opens_whole("index_3.sqlite3");
}

fn opens_whole(index: &str) {
    let place = place_with("version_2.segment", Some(index));
    let mut archive = place.open();
    assert!(contents(&archive).into_iter().eq(KEPT_2));
    assert_eq!(insert(&mut archive, KEPT_2).duplicates, 3);
}
