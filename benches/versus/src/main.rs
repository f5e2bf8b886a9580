//! Levada beside its rivals: `versus engine --format table|json [--quick] [--record] [MEASURE..]`.
//!
//! Every figure of both sides comes from the same run: the contestants of a row take turns, sample by sample, and the
//! row shows medians. Threads stamp their times themselves, on the core they are bound to.

mod engine;
mod machine;
mod pair;
mod report;
mod row;

use std::process::ExitCode;

use levada_engine::heap::CountingAllocator;
use mimalloc::MiMalloc;

/// Counted, for the row about allocations.
#[global_allocator]
static HEAP: CountingAllocator<MiMalloc> = CountingAllocator(MiMalloc);

const USAGE: &str = "usage: versus engine [--format table|json] [--quick] [--record] [MEASURE..]

  engine     the rings, the arena and the topologies of levada-engine
  --format   table (default) or json
  --quick    few and short samples: shows that every row works, says little about speed
  --record   keep the rows in benches/record/engine.json, but for those during which the machine was busy
  MEASURE    only these rows";

/// What was asked for.
#[derive(Debug, Default)]
pub struct Options {
    /// JSON instead of a table.
    pub json: bool,
    /// Few and short samples.
    pub quick: bool,
    /// Keep the results.
    pub record: bool,
    /// The measures wanted; all when empty.
    pub only: Vec<String>,
}

impl Options {
    fn parse(arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut arguments = arguments.skip(1);
        let mut options = Self::default();
        (arguments.next()? == "engine").then_some(())?;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--format" => match arguments.next()?.as_str() {
                    "table" => options.json = false,
                    "json" => options.json = true,
                    _ => return None,
                },
                "--quick" => options.quick = true,
                "--record" => options.record = true,
                name if engine::MEASURES.contains(&name) => options.only.push(argument),
                _ => return None,
            }
        }
        Some(options)
    }
}

fn main() -> ExitCode {
    let Some(options) = Options::parse(std::env::args()) else {
        eprintln!("{USAGE}\n\nmeasures: {}", engine::MEASURES.join(" "));
        return ExitCode::from(64);
    };
    let rows = engine::run(&options);
    match report::print(&rows, &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the results could not be written: {error}");
            ExitCode::FAILURE
        }
    }
}
