//! The whole path on one worker, by archive, against a bare loop of the `sha2` crate over the same slots.
//!
//! Each sample is one small run of the micro scenario, in which path and loop take turns. Criterion is given the time per
//! message that the run measured, so that filling the slots does not count. SQLite has a second thread, for itself.

#[path = "shared/comparison.rs"]
mod comparison;

use std::cell::RefCell;
use std::time::Duration;

use comparison::{Comparison, Timed};
use criterion::{Criterion, criterion_group, criterion_main};
use levada_archive::DatabaseUrl;
use levada_benches::micro::{self, ArchiveChoice, Options, Row};

/// Run as a test, as anything but `cargo bench` does, the scenario only has to work.
fn is_test() -> bool {
    let given = |name: &str| std::env::args().any(|argument| argument == name);
    given("--test") || !given("--bench")
}

fn row(archive: &ArchiveChoice) -> Row {
    let (messages, measured_ns_min) = if is_test() { (20, 1) } else { (500, 100_000_000) };
    let options = Options {
        messages,
        warmup: messages / 10,
        archives: vec![archive.clone()],
        runs: 1,
        measured_ns_min,
        ..Options::default()
    };
    micro::run(&options, |_| ()).expect("the scenario runs").rows.remove(0)
}

/// As long as `iterations` messages take at `rate` messages per second.
fn lasting(iterations: u64, rate: f64, row: &Row) -> Timed {
    let work = u64::from_str_radix(&row.work, 16).expect("the digest is printed in hexadecimal");
    Timed { elapsed: Duration::from_secs_f64(iterations as f64 / rate), work }
}

fn path(criterion: &mut Criterion) {
    for (name, archive) in [
        ("path_archive_none", ArchiveChoice::None),
        ("path_archive_memory", ArchiveChoice::Database(DatabaseUrl::Memory)),
        ("path_archive_sqlite_memory", ArchiveChoice::Database(DatabaseUrl::SqliteMemory)),
    ] {
        // The loop is measured first, and the path then has the figure of the same run.
        let last: RefCell<Option<Row>> = RefCell::new(None);
        let mut comparison = Comparison::new(criterion, name, 1);
        comparison.bench("bare_sha2", |iterations| {
            let row = row(&archive);
            let timed = lasting(iterations, row.sha2_msg_per_s, &row);
            last.replace(Some(row));
            timed
        });
        comparison.bench("one_worker", |iterations| {
            let row = last.take().unwrap_or_else(|| row(&archive));
            lasting(iterations, row.msg_per_s, &row)
        });
        comparison.finish();
    }
}

criterion_group!(benches, path);
criterion_main!(benches);
