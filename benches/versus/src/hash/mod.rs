//! The rows about hashing and the receiver path: what the kernel of this CPU makes of many messages, the decode walk, and the micro
//! scenario. The unit of a row that hashes names the kernel.

mod decode;
mod micro;
mod stage;

use levada_wire::hash::{Kernel, Scratch, WINDOW};

use crate::Options;
use crate::engine::Effort;
use crate::row::Row;

/// Every row, in the order of the report.
pub const MEASURES: [&str; 18] = [
    "hash_1",
    "hash_32",
    "hash_64",
    "hash_endless",
    "decode_10kb",
    "decode_50kb",
    "decode_150kb",
    "decode_hot",
    "micro_one_worker",
    "micro_two_workers",
    "micro_memory",
    "micro_two_digests",
    "micro_latency",
    "micro_decodes",
    "micro_hashes",
    "micro_copies",
    "micro_copies_memory",
    "micro_allocs",
];

/// Takes every row that was asked for.
pub fn run(options: &Options) -> Vec<Row> {
    let effort = if options.quick { Effort { rounds: 2, less: 8 } } else { Effort { rounds: 11, less: 1 } };
    let wanted = |measure: &&str| options.only.is_empty() || options.only.iter().any(|only| only == measure);
    let mut rows = stage::rows(&MEASURES[..4].iter().copied().filter(wanted).collect::<Vec<_>>(), effort);
    rows.extend(MEASURES[4..].iter().copied().filter(wanted).map(|measure| row(measure, effort)));
    rows
}

fn row(measure: &'static str, effort: Effort) -> Row {
    eprintln!("{measure} ..");
    match measure {
        "decode_10kb" => decode::beside_prost(measure, 10_000, effort),
        "decode_50kb" => decode::beside_prost(measure, 50_000, effort),
        "decode_150kb" => decode::beside_prost(measure, 150_000, effort),
        "decode_hot" => decode::hot(measure, effort),
        "micro_one_worker" => micro::one_worker(measure, effort),
        "micro_two_workers" => micro::two_workers(measure, effort),
        "micro_memory" => micro::memory(measure, effort),
        "micro_two_digests" => micro::two_digests(measure, effort),
        "micro_latency" => micro::latency(measure, effort),
        "micro_decodes" => micro::counted(measure, 1.0, effort, |row| row.decodes_per_msg),
        "micro_hashes" => micro::counted(measure, 1.0, effort, |row| row.hashes_per_msg),
        "micro_copies" => micro::counted(measure, 0.0, effort, |row| row.copies_per_msg),
        "micro_copies_memory" => micro::counted_in_memory(measure, 1.0, effort, |row| row.copies_per_msg),
        "micro_allocs" => micro::counted(measure, 0.0, effort, |row| row.allocs_per_msg),
        other => unreachable!("{other} is not in the list of measures"),
    }
}

/// The kernel that a full backlog is begun with here.
fn kernel() -> Kernel {
    Scratch::new().kernel(WINDOW)
}

fn is_wide() -> bool {
    matches!(kernel(), Kernel::Avx512x16 | Kernel::Avx512Vlx8)
}

/// The bar where AVX-512 is present; else that of two streams, or of the crate.
fn bar(wide: f64) -> f64 {
    match kernel() {
        _ if is_wide() => wide,
        Kernel::Sha2 => 0.98,
        _ => 1.1,
    }
}
