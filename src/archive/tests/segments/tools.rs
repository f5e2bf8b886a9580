//! Verifying, counting, exporting, making compact.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;

use levada_archive::upkeep::{Progress, compact, export, stats, verify};
use levada_archive::{Archive, ArchiveError, SegmentOptions};

use crate::sample::{Place, SEGMENT_BYTES, contents, insert, keep, message, number_of, payload_of};

/// 40 messages, each in a batch of its own, over several segments.
fn wasteful() -> Place {
    let place = Place::new();
    let mut archive = place.open();
    for number in 0..40 {
        insert(&mut archive, [number]);
    }
    assert!(place.files().len() >= 5);
    place
}

fn options() -> SegmentOptions {
    SegmentOptions { segment_bytes: SEGMENT_BYTES, io: crate::sample::way(), ..SegmentOptions::default() }
}

/// Changes a byte in the middle of the payload of the first record of a segment.
fn damage(place: &Place, segment: usize) {
    let file = OpenOptions::new().read(true).write(true).open(&place.files()[segment]).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 4_096 + 100).unwrap();
    file.write_all_at(&[!byte[0]], 4_096 + 100).unwrap();
}

#[test]
fn a_whole_archive_is_found_whole() {
    let place = wasteful();
    let mut last = None;
    let report = verify(&place.index(), &mut |progress| last = Some(progress)).unwrap();
    assert!(report.is_whole() && report.faults.is_empty(), "{report:?}");
    assert_eq!((report.messages, report.segments, report.messages_unindexed), (40, place.files().len() as u64, 0));
    assert_eq!(last, Some(Progress { done: 40, total: 40 }));
}

#[test]
fn every_fault_is_counted_and_named() {
    let place = wasteful();
    damage(&place, 1);
    let gone = place.files()[3].clone();
    let before = verify(&place.index(), &mut |_| ()).unwrap();
    assert_eq!((before.messages_lost, before.segments_lost, before.faults.len()), (1, 0, 1));
    fs::remove_file(&gone).unwrap();
    let report = verify(&place.index(), &mut |_| ()).unwrap();
    assert!(!report.is_whole() && report.messages_lost > 1 && report.segments_lost == 1, "{report:?}");
    assert!(report.faults.iter().any(|fault| fault.contains(gone.to_str().unwrap())), "{report:?}");
    // It only looked.
    assert_eq!(verify(&place.index(), &mut |_| ()).unwrap(), report);
}

#[test]
fn what_the_index_has_not_yet_is_told_apart() {
    let place = Place::new();
    let mut archive = place.open();
    insert(&mut archive, 0..3);
    let crashed = place.copy();
    insert(&mut archive, 4..7);
    fs::copy(&place.files()[0], &crashed.files()[0]).unwrap();
    let report = verify(&crashed.index(), &mut |_| ()).unwrap();
    assert!(report.is_whole(), "{report:?}");
    assert_eq!((report.messages, report.messages_unindexed), (3, 3));
}

#[test]
fn statistics_add_up_while_a_node_has_the_archive_open() {
    let place = wasteful();
    let archive = place.open();
    let found = stats(&place.index()).unwrap();
    assert_eq!((found.messages, found.segments), (40, place.files().len() as u64));
    assert_eq!(found.timestamps, Some((0, 39)));
    assert_eq!(found.topics.iter().map(|topic| topic.messages).collect::<Vec<_>>(), [26, 14]);
    let payloads: u64 = (0..40).map(|number| payload_of(number).len() as u64).sum();
    assert!(found.record_bytes > payloads && found.segment_bytes > found.record_bytes && found.index_bytes > 0);
    drop(archive);
}

#[test]
fn everything_that_is_whole_is_exported_in_its_order() {
    let place = wasteful();
    damage(&place, 0);
    let mut numbers = Vec::new();
    let mut take = |stored: levada_archive::StoredMessage| {
        let number = number_of(&stored.hash);
        assert!(stored.body.unwrap().payload == payload_of(number));
        numbers.push(number);
        Ok(())
    };
    assert_eq!(export(&place.index(), &mut take, &mut |_| ()).unwrap(), (39, 1));
    assert!(numbers.into_iter().eq(1..40));
    let error = export(&place.index(), &mut |_| Err(std::io::ErrorKind::BrokenPipe.into()), &mut |_| ()).unwrap_err();
    assert!(matches!(error, ArchiveError::Io { .. }), "{error}");
}

#[test]
fn a_compact_archive_has_the_same_messages_in_less_room() {
    let place = wasteful();
    let mut archive = place.open();
    keep(&mut archive, 30);
    let kept = contents(&archive);
    let first_file = place.files()[0].clone();
    drop(archive);
    let report = compact(&place.index(), &options(), &mut |_| ()).unwrap();
    assert_eq!((report.messages, report.messages_lost), (kept.len() as u64, 0));
    assert!(report.bytes_after < report.bytes_before, "{report:?}");
    assert!(!first_file.exists() && !place.folder().join("levada.index.compacting").exists());
    assert!(verify(&place.index(), &mut |_| ()).unwrap().is_whole());
    let mut archive = place.open();
    assert_eq!(contents(&archive), kept);
    // Still in their order.
    let dropped = keep(&mut archive, 20).messages;
    assert!(dropped > 0 && contents(&archive).into_iter().eq(kept.into_iter().skip(dropped as usize)));
}

#[test]
fn damage_is_left_behind() {
    let place = wasteful();
    damage(&place, 0);
    let report = compact(&place.index(), &options(), &mut |_| ()).unwrap();
    assert_eq!((report.messages, report.messages_lost), (39, 1));
    assert!(verify(&place.index(), &mut |_| ()).unwrap().is_whole());
    assert!(contents(&place.open()).into_iter().eq(1..40));
}

/// Killed before the new index was in place: the copies go. Killed behind that: the old segments go.
#[test]
fn an_interrupted_compaction_costs_nothing() {
    // One is a copy of the other: how many segments messages take depends on where their payloads lay, and a copied segment must not
    // take the place of one of the same number.
    let after = wasteful();
    let before = after.copy();
    let old_files: Vec<_> = after.files().iter().map(|file| (file.clone(), fs::read(file).unwrap())).collect();
    let old_index = fs::read(after.index()).unwrap();
    compact(&after.index(), &options(), &mut |_| ()).unwrap();
    let new_files = after.files();
    for file in &new_files {
        fs::copy(file, before.segments().join(file.file_name().unwrap())).unwrap();
    }
    fs::copy(after.index(), before.folder().join("levada.index.compacting")).unwrap();
    assert!(contents(&before.open()).into_iter().eq(0..40));
    assert_eq!(before.files().len(), old_files.len(), "the copies are gone");
    for (file, bytes) in &old_files {
        fs::write(file, bytes).unwrap();
    }
    assert!(old_index != fs::read(after.index()).unwrap());
    assert!(contents(&after.open()).into_iter().eq(0..40));
    assert_eq!(after.files(), new_files, "the old segments are gone");
    compact(&before.index(), &options(), &mut |_| ()).unwrap();
    assert!(contents(&before.open()).into_iter().eq(0..40));
}

#[test]
fn no_tool_touches_what_is_in_use_or_not_there() {
    let place = Place::new();
    let nothing = place.folder().join("nothing");
    assert!(matches!(verify(&nothing, &mut |_| ()), Err(ArchiveError::NotFound { .. })));
    assert!(matches!(stats(&nothing), Err(ArchiveError::NotFound { .. })));
    assert!(matches!(compact(&nothing, &options(), &mut |_| ()), Err(ArchiveError::NotFound { .. })));
    assert!(!nothing.exists());
    let mut archive = place.open();
    let payload = payload_of(1);
    archive.insert_batch(&mut [message(1, &payload)].into_iter()).unwrap();
    assert!(matches!(verify(&place.index(), &mut |_| ()), Err(ArchiveError::Locked { .. })));
    assert!(matches!(export(&place.index(), &mut |_| Ok(()), &mut |_| ()), Err(ArchiveError::Locked { .. })));
    assert!(matches!(compact(&place.index(), &options(), &mut |_| ()), Err(ArchiveError::Locked { .. })));
}
