//! Torn ends and flipped bits at every place that matters: what is whole is served, what is not is never served.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use levada_archive::{Archive, counters};

use crate::sample::{Place, contents, insert};

/// Where a record lies in its file, by what the format says: a magic, four lengths at 60, the zeroes before the last of them at 76,
/// 96 bytes before the first.
#[derive(Clone, Copy, Debug)]
struct Record {
    number: u64,
    start: u64,
    /// Zeroes that say nothing, and their end.
    skipped: u64,
    payload: u64,
    /// Behind the last byte that a checksum covers.
    end: u64,
}

impl Record {
    fn holds(&self, offset: u64) -> bool {
        (self.start..self.end).contains(&offset) && !(self.payload - self.skipped..self.payload).contains(&offset)
    }
}

fn records(file: &Path) -> Vec<Record> {
    let bytes = fs::read(file).unwrap();
    let mut records = Vec::new();
    let mut at = 4_096;
    while at + 96 <= bytes.len() {
        if &bytes[at..at + 4] == b"LREC" {
            let length =
                |index: usize| u32::from_le_bytes(bytes[at + index..at + index + 4].try_into().unwrap()) as usize;
            let payload = at + 96 + [60, 64, 68, 76].map(length).iter().sum::<usize>();
            let end = payload + length(72);
            let number = u64::from_be_bytes(bytes[at + 40..at + 48].try_into().unwrap());
            let [start, skipped, payload_at, end_at] = [at, length(76), payload, end].map(|at| at as u64);
            records.push(Record { number, start, skipped, payload: payload_at, end: end_at });
            at = end.next_multiple_of(8);
        } else {
            at += 8;
        }
    }
    records
}

/// Around the ends of headers, records, and blocks of the disk, from `from` on.
fn interesting(records: &[Record], from: u64, file_bytes: u64) -> BTreeSet<u64> {
    let of_record = records.iter().flat_map(|record| {
        let Record { start, end, payload, skipped, .. } = *record;
        let fields = [4, 8, 12, 16, 48, 56, 60, 72, 76, 80, 88, 95, 96, 110, 131].map(|field| start + field);
        let of_payload = [payload - skipped, payload.saturating_sub(1), payload, payload + 1];
        fields.into_iter().chain(of_payload).chain([start, start + 1, (start + end) / 2, end - 1, end, end + 1])
    });
    let of_disk = (from..=file_bytes).step_by(4_096).flat_map(|block| [block.saturating_sub(1), block, block + 1]);
    of_record.chain(of_disk).filter(|offset| (from..file_bytes).contains(offset)).collect()
}

/// Two batches in one segment, the second with a payload that is written from where it lies; the index knows only of the first, as after a
/// crash before its commit or a power failure behind it.
fn half_indexed() -> (Place, u64, Vec<Record>) {
    let place = Place::new();
    let mut archive = place.open();
    insert(&mut archive, 0..3);
    let crashed = place.copy();
    let mark = fs::metadata(&place.files()[0]).unwrap().len();
    insert(&mut archive, 3..5);
    assert_eq!(place.files().len(), 1);
    fs::copy(&place.files()[0], &crashed.files()[0]).unwrap();
    let records = records(&crashed.files()[0]);
    assert_eq!(records.iter().map(|record| record.number).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    (crashed, mark, records)
}

fn flip(file: &Path, offset: u64, bit: u8) {
    let file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ (1 << bit)], offset).unwrap();
}

#[test]
fn a_torn_end_is_cut_behind_the_last_whole_record() {
    let (crashed, mark, records) = half_indexed();
    let file_bytes = fs::metadata(&crashed.files()[0]).unwrap().len();
    for torn_at in interesting(&records, mark, file_bytes) {
        let place = crashed.copy();
        OpenOptions::new().write(true).open(&place.files()[0]).unwrap().set_len(torn_at).unwrap();
        let mut archive = place.open();
        // Padding belongs to a record, but nothing is lost with it except behind the last one of a write.
        let whole = records.iter().filter(|record| record.end.next_multiple_of(8) <= torn_at);
        let expected: BTreeSet<u64> = whole.map(|record| record.number).collect();
        assert_eq!(contents(&archive), expected, "torn at {torn_at}");
        insert(&mut archive, 0..5);
        drop(archive);
        assert!(contents(&place.open()).into_iter().eq(0..5), "torn at {torn_at}");
    }
}

/// Zeroes are what a file system leaves where it knew the length and never wrote the data.
#[test]
fn an_end_of_zeroes_is_cut_as_well() {
    let (crashed, mark, records) = half_indexed();
    let file_bytes = fs::metadata(&crashed.files()[0]).unwrap().len();
    for zero_from in interesting(&records, mark, file_bytes) {
        let place = crashed.copy();
        let file = OpenOptions::new().write(true).open(&place.files()[0]).unwrap();
        file.set_len(zero_from).unwrap();
        file.set_len(file_bytes).unwrap();
        let found = contents(&place.open());
        let whole = |record: &&Record| record.end <= zero_from;
        let least: BTreeSet<u64> = records.iter().filter(whole).map(|record| record.number).collect();
        assert!(found.is_superset(&least), "zero from {zero_from}: {found:?}");
    }
}

#[test]
fn a_flipped_bit_costs_its_record_and_no_other() {
    let (crashed, mark, records) = half_indexed();
    let file_bytes = fs::metadata(&crashed.files()[0]).unwrap().len();
    // Behind the mark the rescan meets it, before the mark a query does.
    for offset in interesting(&records, 4_096, file_bytes) {
        let place = crashed.copy();
        flip(&place.files()[0], offset, (offset % 8) as u8);
        let hit = records.iter().find(|record| record.holds(offset));
        let expected: BTreeSet<u64> =
            records.iter().filter(|record| !record.holds(offset)).map(|record| record.number).collect();
        let damaged = counters::DAMAGED_RECORDS.value();
        let archive = place.open();
        assert_eq!(contents(&archive), expected, "flipped at {offset}");
        // Damage at the very end cannot be told from a torn write, and is cut.
        let counted = hit.is_some_and(|record| record.number != 4 || record.end <= mark);
        assert!(!counted || counters::DAMAGED_RECORDS.value() > damaged, "flipped at {offset}");
        drop(archive);
        // The rescan is done once; a later start finds the same.
        assert_eq!(contents(&place.open()), expected, "flipped at {offset}");
    }
}

#[test]
fn a_payload_that_looks_like_a_record_is_none() {
    let (crashed, mark, records) = half_indexed();
    // A copy of a true record of the same segment, put where the next one is expected: its sequence is wrong.
    let file = crashed.files()[0].clone();
    let bytes = fs::read(&file).unwrap();
    let first = &bytes[records[0].start as usize..records[0].end as usize];
    OpenOptions::new().write(true).open(&file).unwrap().write_all_at(first, mark).unwrap();
    let found = contents(&crashed.open());
    assert!(found.is_superset(&[0, 1, 2].into()) && !found.contains(&3), "{found:?}");
}

#[test]
fn a_segment_that_was_cut_short_keeps_what_is_left() {
    let (crashed, _, records) = half_indexed();
    drop(crashed.open());
    let file_bytes = fs::metadata(&crashed.files()[0]).unwrap().len();
    for cut_at in interesting(&records, 4_096, file_bytes) {
        let place = crashed.copy();
        OpenOptions::new().write(true).open(&place.files()[0]).unwrap().set_len(cut_at).unwrap();
        let mut archive = place.open();
        let whole = records.iter().filter(|record| record.end.next_multiple_of(8) <= cut_at);
        let expected: BTreeSet<u64> = whole.map(|record| record.number).collect();
        assert_eq!(archive.message_count().unwrap(), expected.len() as u64, "cut at {cut_at}");
        assert_eq!(contents(&archive), expected, "cut at {cut_at}");
        assert_eq!(insert(&mut archive, 0..5).stored, 5 - expected.len() as u64, "cut at {cut_at}");
    }
}

#[test]
fn one_copy_of_the_segment_header_is_enough() {
    let (crashed, ..) = half_indexed();
    for offset in [0, 8, 12, 16, 24, 2_048, 2_060, 2_079] {
        let place = crashed.copy();
        flip(&place.files()[0], offset, 3);
        assert_eq!(contents(&place.open()), [0, 1, 2, 3, 4].into(), "flipped at {offset}");
    }
    flip(&crashed.files()[0], 20, 0);
    flip(&crashed.files()[0], 2_048, 0);
    let archive = crashed.open();
    assert_eq!(contents(&archive), BTreeSet::new(), "served, though nothing can be checked");
    assert_eq!(crashed.files().len(), 1, "left for the operator");
}
