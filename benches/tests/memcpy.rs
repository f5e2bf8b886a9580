//! The copies that the counters report are the copies that are made: `memcpy` and `memmove` of this program count too.
//!
//! One test alone in its process, because it counts for the process. The thread that runs the benchmark is left out: what
//! it copies, to make the messages and to empty the archive, happens while the clock stands. Without messages for warm-up,
//! everything that the other threads copy belongs to a measured round.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../src/engine/tests/support/memcpy.rs"]
mod memcpy;

use std::hint::black_box;

use levada_archive::DatabaseUrl;
use levada_benches::micro::{self, ArchiveChoice, Options};
use levada_engine::{Arena, ArenaConfig, ClassConfig, PAYLOAD_COPIED_BYTES, PAYLOAD_COPIES};

const MESSAGES: usize = 100;

/// Payload bytes of a round, in MB: 25 messages of 10 kB, 50 of 50 kB, 25 of 150 kB.
const PAYLOAD_MB: f64 = 6.5;

/// How far the measured copies may lie from those counted.
const TOLERANCE: f64 = 0.03;

#[test]
fn the_counters_count_every_copy() {
    the_override_copies_and_counts();
    ingress_copies_a_payload_once();
    for workers in [1, 2] {
        rounds_copy_what_is_counted(workers, ArchiveChoice::None, 0.0);
        rounds_copy_what_is_counted(workers, ArchiveChoice::Database(DatabaseUrl::Memory), PAYLOAD_MB);
        rounds_copy_what_is_counted(workers, ArchiveChoice::Database(DatabaseUrl::SqliteMemory), PAYLOAD_MB);
    }
}

/// Bytes copied while `work` runs.
fn copied(work: impl FnOnce()) -> u64 {
    let before = memcpy::copied_bytes();
    work();
    memcpy::copied_bytes() - before
}

fn the_override_copies_and_counts() {
    let pattern: Vec<u8> = (0..10_000).map(|number| (number % 251) as u8).collect();
    let least = memcpy::CALL_BYTES_MIN;
    for (bytes, counted) in black_box([(0, 0), (least - 1, 0), (least, least), (5_000, 5_000)]) {
        let mut to = vec![0; bytes];
        let before = memcpy::copied_bytes_of_thread();
        assert_eq!(copied(|| to.copy_from_slice(&pattern[..bytes])), counted as u64);
        assert_eq!(memcpy::copied_bytes_of_thread() - before, counted as u64);
        assert_eq!(to, pattern[..bytes]);
    }
    // Overlapping in both directions, and by one byte.
    for (from, to) in black_box([(0, 100), (100, 0), (1, 0), (0, 1), (7, 7)]) {
        let mut moved = pattern.clone();
        assert_eq!(copied(|| moved.copy_within(from..from + 9_000, to)), 9_000);
        assert_eq!(moved[to..to + 9_000], pattern[from..from + 9_000], "{from} to {to}");
        assert_eq!((&moved[..to], &moved[to + 9_000..]), (&pattern[..to], &pattern[to + 9_000..]), "beside {to}");
    }
    memcpy::count_this_thread(false);
    assert_eq!(copied(|| assert_eq!(black_box(pattern.clone()), pattern)), 0);
    memcpy::count_this_thread(true);
}

fn ingress_copies_a_payload_once() {
    let classes = vec![ClassConfig { payload_bytes: 160 << 10, slots: 1 }];
    let arena = Arena::<u64>::new(&ArenaConfig { classes, huge_pages: false, prefault: true }).unwrap();
    for bytes in [1_024, 10_000, 150_000] {
        let received = vec![7; bytes];
        let counted = || (PAYLOAD_COPIES.value(), PAYLOAD_COPIED_BYTES.value());
        let before = counted();
        let mut slot = arena.claim(bytes).unwrap();
        assert_eq!(copied(|| slot.fill(&received)), bytes as u64);
        let after = counted();
        assert_eq!((after.0 - before.0, after.1 - before.1), (1, bytes as u64));
        // From here on the payload travels by handle.
        let moved = copied(|| assert_eq!(slot.share().hold().into_bytes(), received));
        assert_eq!(moved, 0);
    }
}

fn rounds_copy_what_is_counted(workers: usize, archive: ArchiveChoice, expected_mb: f64) {
    let options = Options {
        messages: MESSAGES,
        warmup: 0,
        workers: vec![workers],
        archives: vec![archive],
        runs: 1,
        // Several rounds on any machine, so that what an archive copies once, at its start, does not count.
        measured_ns_min: 500_000_000,
        ..Options::default()
    };
    let mut report = None;
    memcpy::count_this_thread(false);
    let measured = copied(|| report = Some(micro::run(&options, |_| ()).unwrap()));
    memcpy::count_this_thread(true);
    let row = report.unwrap().rows.remove(0);

    let measured_mb = measured as f64 / 1e6 / row.rounds as f64;
    let name = format!("{} on {workers} workers, {} rounds", row.archive, row.rounds);
    assert_eq!(row.copied_MB, expected_mb, "{name}");
    assert!(
        (measured_mb - row.copied_MB).abs() <= TOLERANCE * PAYLOAD_MB,
        "{name}: {measured_mb} MB copied a round, {} MB counted",
        row.copied_MB
    );
}
