use super::{Refused, Spill, decode, read};
use crate::ArchiveMessage;

fn message(number: u8, payload: &[u8]) -> ArchiveMessage<'_> {
    let meta: &[u8] = if number.is_multiple_of(2) { &[] } else { &[9; 64] };
    let (hash, timestamp) = ([number; 32], i64::from(number) - 3);
    ArchiveMessage { hash, pubsub_topic: "/p", content_topic: "/ü", payload, version: 7, timestamp, meta }
}

fn open(folder: &tempfile::TempDir, bytes_max: u64) -> Spill {
    Spill::open(&folder.path().join("waiting"), bytes_max).unwrap()
}

/// The numbers of all messages that wait, oldest first; the files go.
fn drain(spill: &mut Spill) -> Vec<u8> {
    let mut numbers = Vec::new();
    while let Some((number, path)) = spill.oldest() {
        let file = read(&path).unwrap();
        for found in decode(&file).0 {
            let expected = message(found.hash[0], &[3; 100]);
            assert_eq!((found.pubsub_topic, found.content_topic), (expected.pubsub_topic, expected.content_topic));
            assert_eq!((found.payload, found.meta), (expected.payload, expected.meta));
            assert_eq!((found.version, found.timestamp), (expected.version, expected.timestamp));
            numbers.push(found.hash[0]);
        }
        spill.remove(number).unwrap();
    }
    numbers
}

#[test]
fn batches_come_back_in_order_and_over_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut spill = open(&folder, 1 << 20);
    spill.append([message(1, &[3; 100]), message(2, &[3; 100])].iter()).unwrap();
    drop(spill);
    let mut spill = open(&folder, 1 << 20);
    spill.append([message(3, &[3; 100])].iter()).unwrap();
    assert!(spill.oldest().is_some());
    spill.append([message(4, &[3; 100])].iter()).unwrap();
    assert_eq!(drain(&mut spill), [1, 2, 3, 4]);
    assert_eq!(spill.bytes(), 0);
    spill.append([message(5, &[3; 100])].iter()).unwrap();
    drop(spill);
    let mut spill = open(&folder, 1 << 20);
    assert_eq!(drain(&mut spill), [5]);
}

#[test]
fn the_bound_holds_for_whole_batches() {
    let folder = tempfile::tempdir().unwrap();
    let mut spill = open(&folder, 500);
    spill.append([message(1, &[3; 100])].iter()).unwrap();
    let before = spill.bytes();
    let batch = [message(2, &[3; 100]), message(3, &[3; 100])];
    assert!(matches!(spill.append(batch.iter()), Err(Refused::Full)));
    assert_eq!(spill.bytes(), before);
    spill.append([message(4, &[3; 100])].iter()).unwrap();
    assert!(spill.bytes() <= 500);
    assert_eq!(drain(&mut spill), [1, 4]);
    spill.append([message(5, &[3; 100])].iter()).unwrap();
    assert_eq!(drain(&mut spill), [5], "what went made room");
}

#[test]
fn a_torn_end_costs_its_record() {
    let folder = tempfile::tempdir().unwrap();
    let mut spill = open(&folder, 1 << 20);
    spill.append([message(1, &[3; 100]), message(2, &[3; 100])].iter()).unwrap();
    let (_, path) = spill.oldest().unwrap();
    let whole = read(&path).unwrap();
    for length in 0..whole.len() {
        let (messages, left) = decode(&whole[..length]);
        assert_eq!(messages.len(), usize::from(length >= whole.len() - left_of(&whole)), "{length} bytes");
        assert!(left <= length);
    }
    for place in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[place] ^= 0x10;
        let (messages, _) = decode(&flipped);
        assert!(messages.len() < 2, "a flipped bit in byte {place} is noticed");
    }
}

/// Bytes of the second record.
fn left_of(whole: &[u8]) -> usize {
    let first = 12 + u32::from_le_bytes(*whole.first_chunk().unwrap()) as usize;
    whole.len() - first
}

#[test]
fn a_second_process_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let spill = open(&folder, 500);
    assert!(Spill::open(&folder.path().join("waiting"), 500).is_err());
    drop(spill);
    open(&folder, 500);
}
