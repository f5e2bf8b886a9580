//! Levada beside its rivals: `versus engine|hash|archive|macro|service|surface|chunk --format table|json [--quick] [--record] [MEASURE..]`.
//!
//! Every figure of both sides comes from the same run: the contestants of a row take turns, sample by sample, and the
//! row shows medians. Threads stamp their times themselves, on the core they are bound to.

mod archive;
#[cfg(feature = "chunk")]
mod chunk;
mod engine;
mod hash;
#[cfg(feature = "macro")]
mod macro_rows;
mod pair;
mod report;
mod row;
#[cfg(feature = "macro")]
mod service;
#[cfg(feature = "macro")]
mod surface;

use std::process::ExitCode;

use levada_benches::machine;
use levada_engine::heap::CountingAllocator;
use mimalloc::MiMalloc;
use row::Row;

/// Counted, for the row about allocations.
#[global_allocator]
static HEAP: CountingAllocator<MiMalloc> = CountingAllocator(MiMalloc);

const USAGE: &str =
    "usage: versus engine|hash|archive|macro|service|surface|chunk [--format table|json] [--quick] [--record] [MEASURE..]

  engine     the rings, the arena and the topologies of levada-engine
  hash       digests of many messages, the decode walk and the receiver path, beside sha2 and prost
  archive    levada-archive beside SQLite with the payloads inside, on the disk of the present folder
  macro      whole nodes over loopback TCP: our relay router and transport beside rust-libp2p's and the bound;
             with --features openssl the rows about that cipher
  service    what light clients are served: pushes of filter, pages of store
  surface    what an operator asks of a node: REST, the start, a scrape of its metrics
  chunk      chunks under way to several peers, beside mirrors of Autonomi's client and ant-protocol itself;
             needs a build with --features chunk
  --format   table (default) or json
  --quick    few and short samples: shows that every row works, says little about speed
  --record   keep the rows in benches/record, but for those during which the machine was busy
  MEASURE    only these rows";

/// What was asked for.
#[derive(Debug)]
pub struct Options {
    /// Which rows there are.
    pub suite: &'static Suite,
    /// JSON instead of a table.
    pub json: bool,
    /// Few and short samples.
    pub quick: bool,
    /// Keep the results.
    pub record: bool,
    /// The measures wanted; all when empty.
    pub only: Vec<String>,
}

/// Rows that belong together.
#[derive(Debug)]
pub struct Suite {
    /// Its name on the command line, and of the file with its kept rows.
    pub name: &'static str,
    /// Every row, in the order of the report.
    pub measures: &'static [&'static str],
    run: fn(&Options) -> Vec<Row>,
}

/// Those of this build.
const SUITES: &[Suite] = &[
    Suite { name: "engine", measures: &engine::MEASURES, run: engine::run },
    Suite { name: "hash", measures: &hash::MEASURES, run: hash::run },
    Suite { name: "archive", measures: &archive::MEASURES, run: archive::run },
    #[cfg(feature = "macro")]
    Suite { name: "macro", measures: &macro_rows::MEASURES, run: macro_rows::run },
    #[cfg(feature = "macro")]
    Suite { name: "service", measures: &service::MEASURES, run: service::run },
    #[cfg(feature = "macro")]
    Suite { name: "surface", measures: &surface::MEASURES, run: surface::run },
    #[cfg(feature = "chunk")]
    Suite { name: "chunk", measures: &chunk::MEASURES, run: chunk::run },
];

impl Options {
    fn parse(arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut arguments = arguments.skip(1);
        let name = arguments.next()?;
        let suite = SUITES.iter().find(|suite| suite.name == name)?;
        let mut options = Self { suite, json: false, quick: false, record: false, only: Vec::new() };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--format" => match arguments.next()?.as_str() {
                    "table" => options.json = false,
                    "json" => options.json = true,
                    _ => return None,
                },
                "--quick" => options.quick = true,
                "--record" => options.record = true,
                name if suite.measures.contains(&name) => options.only.push(argument),
                _ => return None,
            }
        }
        Some(options)
    }
}

fn main() -> ExitCode {
    #[cfg(feature = "macro")]
    if std::env::args().skip(1).eq(levada::bench_macro::NODE_COMMAND) {
        return macro_rows::node();
    }
    #[cfg(feature = "macro")]
    if std::env::args().nth(1).is_some_and(|first| first == surface::NODE_COMMAND) {
        return surface::node(std::env::args_os().skip(2));
    }
    let Some(options) = Options::parse(std::env::args()) else {
        eprintln!("{USAGE}\n");
        SUITES.iter().for_each(|suite| eprintln!("measures of {}: {}", suite.name, suite.measures.join(" ")));
        return ExitCode::from(64);
    };
    let rows = (options.suite.run)(&options);
    match report::print(&rows, &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the results could not be written: {error}");
            ExitCode::FAILURE
        }
    }
}
