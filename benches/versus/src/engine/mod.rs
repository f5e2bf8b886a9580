//! The rows about levada-engine.

mod counts;
mod fanout;
mod idle;
mod mpmc;
mod pass;
mod path;
mod rivals;
mod rtt;
mod slab;
mod spsc;
mod stages;

use crate::Options;
use crate::row::Row;

/// Every row, in the order of the report.
pub const MEASURES: [&str; 21] = [
    "spsc_batch_1",
    "spsc_batch_8",
    "spsc_batch_32",
    "spsc_batch_128",
    "rtt_1",
    "rtt_31",
    "mpmc_2x2",
    "mpmc_4x4",
    "mpmc_2x2_batch_1",
    "mpmc_collapse",
    "stages_percore",
    "stages_invoker",
    "stages_dedicated",
    "path_two_workers",
    "slab_own_core",
    "slab_cross_core",
    "fanout_5",
    "idle_cpu_balanced",
    "idle_cpu_eco",
    "allocs_per_msg",
    "copies_per_msg",
];

/// How long and how often samples are taken.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Samples of each contestant.
    pub rounds: usize,
    /// Elements in a sample are divided by this.
    pub less: usize,
}

/// Takes every row that was asked for.
pub fn run(options: &Options) -> Vec<Row> {
    let effort = if options.quick { Effort { rounds: 3, less: 16 } } else { Effort { rounds: 41, less: 1 } };
    let wanted = |measure: &str| options.only.is_empty() || options.only.iter().any(|only| only == measure);
    MEASURES.into_iter().filter(|measure| wanted(measure)).map(|measure| row(measure, effort)).collect()
}

fn row(measure: &'static str, effort: Effort) -> Row {
    eprintln!("{measure} ..");
    match measure {
        "spsc_batch_1" => spsc::row(measure, 1, effort),
        "spsc_batch_8" => spsc::row(measure, 8, effort),
        "spsc_batch_32" => spsc::row(measure, 32, effort),
        "spsc_batch_128" => spsc::row(measure, 128, effort),
        "rtt_1" => rtt::row(measure, 1, 2.0, effort),
        "rtt_31" => rtt::row(measure, 31, 3.5, effort),
        "mpmc_2x2" => mpmc::row(measure, 2, 32, 2.0, effort),
        "mpmc_4x4" => mpmc::row(measure, 4, 32, 2.0, effort),
        "mpmc_2x2_batch_1" => mpmc::row(measure, 2, 1, 0.95, effort),
        "mpmc_collapse" => mpmc::collapse(measure, effort),
        "stages_percore" => stages::percore(measure, effort),
        "stages_invoker" => stages::invoker(measure, effort),
        "stages_dedicated" => stages::dedicated(measure, effort),
        "path_two_workers" => path::row(measure, effort),
        "slab_own_core" => slab::own_core(measure, effort),
        "slab_cross_core" => slab::cross_core(measure, effort),
        "fanout_5" => fanout::row(measure, effort),
        "idle_cpu_balanced" => idle::row(measure, levada_engine::Wait::Balanced, effort),
        "idle_cpu_eco" => idle::row(measure, levada_engine::Wait::Eco, effort),
        "allocs_per_msg" => counts::allocations(measure, effort),
        "copies_per_msg" => counts::copies(measure, effort),
        other => unreachable!("{other} is not in the list of measures"),
    }
}
