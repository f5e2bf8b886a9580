//! What is measured beside the archive writes whole payloads, and leaves nothing.

use std::fs;

use levada_archive::{StoreIo, write_bare};

use crate::sample::Place;

#[test]
fn every_way_writes_all_bytes_and_leaves_nothing() {
    let place = Place::new();
    let payload = vec![7; 200_000];
    let payloads = [&payload[..150_000], &payload[1..50_001], &payload[7..10], &payload[..0], &payload[..4_096]];
    let least: u64 = payloads.iter().map(|payload| payload.len() as u64).sum();
    let most = least + payloads.len() as u64 * 4_096;
    for io in StoreIo::NAMES.iter().map(|name| name.parse().unwrap()) {
        // Where the system refuses io_uring, the others remain.
        let Ok(written) = write_bare(&place.index(), io, &payloads, 2) else { continue };
        assert!((least..=most).contains(&written.bytes), "{io}: {written:?}");
        assert!(io != StoreIo::Buffered || written.bytes == least, "{written:?}");
        assert_eq!(fs::read_dir(place.index().parent().unwrap()).unwrap().count(), 0, "{io}");
    }
}
