//! The micro scenario in small: what it counts is exact, what it reports is well-formed, what it must not touch it refuses.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::System;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use levada_archive::{Archive, ArchiveMessage, DatabaseUrl, SqliteArchive};
use levada_benches::micro::{self, ArchiveChoice, BenchError, Digests, Format, HashChoice, Options, Report, Row};
use levada_engine::Placement;
use levada_engine::heap::CountingAllocator;
use levada_wire::hash::Kernel;
use serde_json::Value;

#[global_allocator]
static HEAP: CountingAllocator<System> = CountingAllocator(System);

/// The columns that the scenario promises, in their order, and the explained extras among them.
const PROMISED: [&str; 22] = [
    "scenario",
    "msgs",
    "payload_profile",
    "wall_ms",
    "msg_per_s",
    "ns_per_msg_p50",
    "ns_per_msg_p99",
    "decodes_per_msg",
    "hashes_per_msg",
    "hashed_MB",
    "decoded_MB",
    "copies_per_msg",
    "copied_MB",
    "allocs_per_msg",
    "peak_heap_MB",
    "arena_MB",
    "rss_MB",
    "retained_MB",
    "sha2_msg_per_s",
    "sha2_GB_per_s",
    "runs",
    "spread_pct",
];
const EXTRAS: [&str; 18] = [
    "archive",
    "workers",
    "placement",
    "hash",
    "kernel",
    "huge_MB",
    "digests",
    "rounds",
    "work",
    "rate_msg_per_s",
    "achieved_msg_per_s",
    "ns_per_msg_max",
    "ids_per_msg",
    "ratio_to_sha2",
    "disk_msg_per_s",
    "disk_MB_per_s",
    "ratio_to_disk",
    "noisy",
];

/// Payload bytes of 60 messages: 15 of 10 kB, 30 of 50 kB, 15 of 150 kB.
const PAYLOAD_MB: f64 = 3.9;

/// The counters are the process's: one benchmark at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn options(archives: Vec<ArchiveChoice>) -> Options {
    Options {
        messages: 60,
        warmup: 8,
        window: 16,
        archives,
        runs: 1,
        measured_ns_min: 20_000_000,
        ..Options::default()
    }
}

fn every_archive() -> Vec<ArchiveChoice> {
    vec![
        ArchiveChoice::None,
        ArchiveChoice::Database(DatabaseUrl::Memory),
        ArchiveChoice::Database(DatabaseUrl::SqliteMemory),
    ]
}

fn file(path: &Path) -> ArchiveChoice {
    ArchiveChoice::Database(DatabaseUrl::Sqlite(path.to_owned()))
}

fn run(options: &Options) -> Report {
    micro::run(options, |_| ()).unwrap()
}

/// What must be the same in two runs of one seed.
fn counted(row: &Row) -> (String, [f64; 7]) {
    let Row { decodes_per_msg, hashes_per_msg, hashed_MB, decoded_MB, copies_per_msg, copied_MB, arena_MB, .. } = *row;
    (row.work.clone(), [decodes_per_msg, hashes_per_msg, hashed_MB, decoded_MB, copies_per_msg, copied_MB, arena_MB])
}

#[test]
fn one_decode_one_hash_and_at_most_the_copy_of_the_archive() {
    let _alone = alone();
    let report = run(&Options { workers: vec![1, 2], ..options(every_archive()) });
    assert_eq!(report.rows.iter().map(|row| row.workers).collect::<Vec<_>>(), [1, 2, 1, 2, 1, 2]);
    for (rows, copies) in report.rows.chunks(2).zip([0.0, 1.0, 1.0]) {
        for row in rows {
            let name = format!("{} on {} workers", row.archive, row.workers);
            assert_eq!((row.decodes_per_msg, row.hashes_per_msg, row.copies_per_msg), (1.0, 1.0, copies), "{name}");
            assert_eq!(row.copied_MB, copies * PAYLOAD_MB, "{name}");
            assert!(row.hashed_MB > PAYLOAD_MB && row.hashed_MB < PAYLOAD_MB * 1.01, "{name}: {}", row.hashed_MB);
            assert!(row.decoded_MB > PAYLOAD_MB && row.decoded_MB < PAYLOAD_MB * 1.01, "{name}: {}", row.decoded_MB);
            assert!(row.rounds > 0 && row.msg_per_s > 0.0 && row.ratio_to_sha2 > 0.0, "{name}");
            assert!(row.ns_per_msg_p50 > 0 && row.ns_per_msg_p50 <= row.ns_per_msg_p99, "{name}");
            assert_eq!((row.disk_msg_per_s, row.disk_MB_per_s, row.ratio_to_disk), (0.0, 0.0, 0.0), "{name}");
        }
    }
}

#[test]
fn two_digests_are_an_id_and_a_hash() {
    let _alone = alone();
    let none = options(vec![ArchiveChoice::None]);
    let one = run(&none).rows.remove(0);
    let two = run(&Options { digests: Digests::IdAndHash, ..none }).rows.remove(0);
    assert_eq!((one.digests, one.ids_per_msg, one.hashes_per_msg), (1, 0.0, 1.0));
    assert_eq!((two.digests, two.ids_per_msg, two.hashes_per_msg), (2, 1.0, 1.0));
    // The id covers the encoded message: the payload and a few bytes more, as the hash does.
    let more = two.hashed_MB - one.hashed_MB;
    assert!(more > PAYLOAD_MB && more < PAYLOAD_MB * 1.01, "{more} MB");
    assert_eq!(counted(&one).0, counted(&two).0);
}

#[test]
fn every_placement_and_way_to_hash_counts_the_same() {
    let _alone = alone();
    let mut all = Vec::new();
    for placement in [Placement::PerCore, Placement::Dedicated] {
        let hashes = vec![HashChoice::Sha2, HashChoice::Multi];
        let report = run(&Options { placement, hashes, workers: vec![2], ..options(every_archive()) });
        let names: Vec<(&str, &str)> =
            report.rows.iter().map(|row| (row.hash.as_str(), row.archive.as_str())).collect();
        let expected = ["none", "memory", "sqlite://:memory:"].map(|archive| [("sha2", archive), ("multi", archive)]);
        assert_eq!(names, expected.concat());
        let kernels: Vec<&str> = report.rows.iter().map(|row| row.kernel.as_str()).collect();
        assert!(
            kernels.chunks(2).all(|ways| ways[0] == Kernel::Sha2.name() && Kernel::from_name(ways[1]).is_ok()),
            "{kernels:?}"
        );
        all.push(report.rows.iter().map(counted).collect::<Vec<_>>());
    }
    assert_eq!(all[0], all[1]);
    for ways in all[0].chunks(2) {
        assert_eq!(ways[0], ways[1]);
    }
}

#[test]
fn the_open_loop_counts_latency_from_when_a_message_was_due() {
    let _alone = alone();
    let none = options(vec![ArchiveChoice::None]);
    let closed = run(&none).rows.remove(0);
    assert_eq!((closed.rate_msg_per_s, closed.achieved_msg_per_s), (0, 0.0));
    assert!(closed.kept_up());
    // Sixty messages that are due within 6 us cannot be done as fast as that by any machine, and the last one waits for
    // nearly all the others, which the window alone would hide.
    let flood = run(&Options { rate_msg_per_s: Some(10_000_000), window: 1, ..none.clone() }).rows.remove(0);
    assert_eq!((flood.rate_msg_per_s, flood.decodes_per_msg, flood.hashes_per_msg), (10_000_000, 1.0, 1.0));
    assert!(!flood.kept_up() && flood.achieved_msg_per_s < 9_500_000.0, "{}", flood.achieved_msg_per_s);
    let (last_ns, round_ns) = (flood.ns_per_msg_max as f64, flood.wall_ms * 1e6);
    assert!(last_ns > round_ns / 2.0, "the last message counts {last_ns} ns of a round of {round_ns} ns");
    // A rate that leaves the path idle: a round takes as long as its schedule, however fast the path is.
    let slow = run(&Options { rate_msg_per_s: Some(1_000), ..none }).rows.remove(0);
    assert!(slow.msg_per_s < 2_000.0 && slow.achieved_msg_per_s <= 1_000.0, "{}", slow.msg_per_s);
    assert!(slow.ns_per_msg_p50 <= slow.ns_per_msg_p99 && slow.ns_per_msg_p99 <= slow.ns_per_msg_max);
}

#[test]
fn nothing_is_retained_and_steady_state_allocates_nothing() {
    let _alone = alone();
    // Libraries keep what they set up when first used.
    run(&options(every_archive()));
    let report = run(&options(every_archive()));
    for row in &report.rows {
        assert!(row.retained_MB < 0.01, "{}: {} MB", row.archive, row.retained_MB);
        assert!(row.peak_heap_MB >= PAYLOAD_MB, "{}: {} MB", row.archive, row.peak_heap_MB);
    }
    for row in &report.rows[..2] {
        assert_eq!(row.allocs_per_msg, 0.0, "{}", row.archive);
    }
}

#[test]
fn a_seed_repeats_the_work_and_another_changes_it() {
    let _alone = alone();
    let [first, again, other] =
        [42, 42, 43].map(|seed| run(&Options { seed, ..options(every_archive()) }).rows.iter().map(counted).collect());
    let (first, again, other): (Vec<_>, Vec<_>, Vec<_>) = (first, again, other);
    assert_eq!(first, again);
    for ((work, counts), (other_work, other_counts)) in first.iter().zip(&other) {
        assert_ne!(work, other_work);
        // The shares of the sizes are exact whatever the seed; it decides their order, and what the payloads hold.
        assert_eq!(counts, other_counts);
    }
}

#[test]
fn the_formats_agree() {
    let _alone = alone();
    let mut report = run(&Options { runs: 2, ..options(vec![ArchiveChoice::None]) });
    report.rows[0].archive = "sqlite://a,\"b\".db".to_owned();
    let json: Value = serde_json::from_str(&report.render(Format::Json)).unwrap();
    let row = json.as_array().unwrap()[0].as_object().unwrap();
    let names: Vec<&str> = row.keys().map(String::as_str).collect();
    let promised: Vec<&str> = names.iter().copied().filter(|name| !EXTRAS.contains(name)).collect();
    assert_eq!(promised, PROMISED);
    assert_eq!(names.len(), PROMISED.len() + EXTRAS.len());
    assert!(row.iter().all(|(name, value)| value.is_number() != TEXTS.contains(&name.as_str())), "{row:?}");
    assert_eq!((&row["scenario"], &row["msgs"], &row["runs"]), (&"micro".into(), &60.into(), &2.into()));

    let csv = report.render(Format::Csv);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].split(',').collect::<Vec<_>>(), names);
    assert!(lines[1].contains(&format!(",{},1,60,", report.rows[0].kernel)), "{}", lines[1]);
    assert!(lines[1].starts_with("micro,\"sqlite://a,\"\"b\"\".db\",1,per-core,multi,"), "{}", lines[1]);

    let table = report.render(Format::Table);
    let columns: Vec<&str> = table.lines().map_while(|line| line.split_whitespace().next()).collect();
    assert_eq!(columns, names);
    assert!(table.contains("nwaku") && table.contains("another machine"));
}

/// The columns that are no numbers.
const TEXTS: [&str; 8] = ["scenario", "archive", "placement", "hash", "kernel", "payload_profile", "work", "noisy"];

#[test]
fn a_file_is_left_empty_and_can_be_used_again() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bench.sqlite3");
    let report = run(&Options { runs: 2, ..options(vec![file(&path)]) });
    // A quarter of the payloads has 10 kB and is gathered with others; the rest is written from where it lies.
    let row = &report.rows[0];
    assert_eq!((row.runs, row.copies_per_msg), (2, 0.25));
    assert!(row.disk_msg_per_s > 0.0 && row.disk_MB_per_s > 0.0 && row.ratio_to_disk > 0.0, "{row:?}");
    assert_eq!(levada_archive::open(&DatabaseUrl::Sqlite(path)).unwrap().message_count().unwrap(), 0);
}

#[test]
fn an_archive_with_messages_is_refused_and_kept() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.sqlite3");
    let mut archive = SqliteArchive::open(&path).unwrap();
    let message = ArchiveMessage {
        hash: [7; 32],
        pubsub_topic: "/waku/2/rs/0/0",
        content_topic: "/mine/1/notes/proto",
        payload: b"worth keeping",
        version: 0,
        timestamp: 1,
        meta: &[],
    };
    archive.insert_batch(&mut [message].into_iter()).unwrap();
    Box::new(archive).close().unwrap();

    let nowhere = micro::run(&options(vec![file(&folder.path().join("none/a.sqlite3"))]), |_| ()).unwrap_err();
    assert!(nowhere.to_string().ends_with("or name another with --archive"), "{nowhere}");
    let error = micro::run(&options(vec![file(&path)]), |_| ()).unwrap_err();
    assert!(matches!(error, BenchError::ArchiveInUse { messages: 1, .. }), "{error}");
    assert!(error.to_string().contains("--archive"), "{error}");
    assert_eq!(levada_archive::open(&DatabaseUrl::Sqlite(path)).unwrap().message_count().unwrap(), 1);
}

#[test]
fn the_heap_series_shows_the_slots_of_each_run() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("series.csv");
    run(&Options { heap_series: Some(path.clone()), runs: 2, ..options(vec![ArchiveChoice::None]) });
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("time_ms,heap_bytes,slot_bytes"));
    let samples: Vec<Vec<i64>> =
        lines.map(|line| line.split(',').map(|field| field.parse().unwrap()).collect()).collect();
    assert!(samples.iter().all(|sample| sample.len() == 3), "{text}");
    assert!(samples.windows(2).all(|pair| pair[0][0] <= pair[1][0]), "{text}");
    // The last sample of a run is taken when everything has been given back.
    assert!(samples.iter().filter(|sample| sample[2] == 0).count() >= 2, "{text}");

    let nowhere = Options { heap_series: Some(folder.path().to_owned()), ..options(vec![ArchiveChoice::None]) };
    assert!(matches!(micro::run(&nowhere, |_| ()), Err(BenchError::Output { .. })));
}

#[test]
fn the_calling_thread_keeps_its_cores() {
    let _alone = alone();
    // Threads inherit the cores of the one that starts them: a caller bound to one core would bind every worker to it.
    let before = core_affinity::get_core_ids();
    run(&options(vec![ArchiveChoice::None]));
    assert_eq!(core_affinity::get_core_ids(), before);
}

#[test]
fn nothing_to_measure_is_refused() {
    let _alone = alone();
    let whole = options(vec![ArchiveChoice::None]);
    for (options, option) in [
        (Options { messages: 0, ..whole.clone() }, "messages"),
        (Options { window: 0, ..whole.clone() }, "window"),
        (Options { workers: vec![1, 0], ..whole.clone() }, "workers"),
        (Options { runs: 0, ..whole.clone() }, "runs"),
        (Options { rate_msg_per_s: Some(0), ..whole.clone() }, "rate"),
    ] {
        let error = micro::run(&options, |_| ()).unwrap_err();
        assert!(error.to_string().contains(&format!("--{option}")), "{error}");
    }
    let turned_by_hand = Options { placement: Placement::Invoker, ..whole.clone() };
    assert!(matches!(micro::run(&turned_by_hand, |_| ()), Err(BenchError::Invoker)));
    let slow = Options { messages: 1_000, rate_msg_per_s: Some(50), ..options(every_archive()) };
    let error = micro::run(&slow, |_| ()).unwrap_err();
    assert!(matches!(error, BenchError::SlowRate { seconds: 20, .. }), "{error}");
    let report = run(&Options { warmup: 0, window: 1, messages: 1, ..whole });
    assert_eq!((report.rows[0].msgs, report.rows[0].decodes_per_msg), (1, 1.0));
}
