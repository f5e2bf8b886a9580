//! The whole path on one worker without an archive, against a bare loop of the `sha2` crate over the same slots.
//!
//! Each sample is one small run of the micro scenario, in which path and loop take turns. Criterion is given the time per
//! message that the run measured, so that filling the slots does not count.
#![expect(missing_docs, reason = "criterion's macros make undocumented functions")]

#[path = "shared/comparison.rs"]
mod comparison;

use std::time::Duration;

use comparison::{Comparison, Timed};
use criterion::{Criterion, criterion_group, criterion_main};
use levada_benches::micro::{self, ArchiveChoice, Options, Row};

/// Run as a test, as anything but `cargo bench` does, the scenario only has to work.
fn is_test() -> bool {
    let given = |name: &str| std::env::args().any(|argument| argument == name);
    given("--test") || !given("--bench")
}

fn row() -> Row {
    let (messages, measured_ns_min) = if is_test() { (20, 1) } else { (1_000, 200_000_000) };
    let options = Options {
        messages,
        warmup: messages / 10,
        seed: 42,
        window: 32,
        workers: 1,
        archives: vec![ArchiveChoice::None],
        runs: 1,
        measured_ns_min,
        heap_series: None,
    };
    micro::run(&options, |_| ()).expect("the scenario runs").rows.remove(0)
}

fn per_message(iterations: u64, rate: impl Fn(&Row) -> f64) -> Timed {
    let row = row();
    let work = u64::from_str_radix(&row.work, 16).expect("the digest is printed in hexadecimal");
    Timed { elapsed: Duration::from_secs_f64(iterations as f64 / rate(&row)), work }
}

fn path(criterion: &mut Criterion) {
    let mut comparison = Comparison::new(criterion, "path", 1);
    comparison.bench("bare_sha2", |iterations| per_message(iterations, |row| row.sha2_msg_per_s));
    comparison.bench("archive_none_one_worker", |iterations| per_message(iterations, |row| row.msg_per_s));
    comparison.finish();
}

criterion_group!(benches, path);
criterion_main!(benches);
