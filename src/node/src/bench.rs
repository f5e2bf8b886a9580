//! `levada bench`: runs the harness of `levada-benches` as the command line asks, and prints its report.

use std::io::Write;
use std::path::Path;

use levada_archive::DatabaseUrlError;
use levada_benches::chunk::{self, ChunkBenchError, FormKind, SinkKind};
use levada_benches::hash;
use levada_benches::micro::{self, ArchiveChoice, BenchError, Digests, Format, HashChoice, Options, Report};
use levada_engine::Placement;

use crate::bench_macro::{self, Configuration, MacroError, Router};
use crate::cli::{
    BenchArchive, BenchForm, BenchFormat, BenchHash, BenchOptions, BenchPlacement, BenchSink, ChunkBenchOptions,
    HashBenchOptions, MacroBenchOptions,
};

/// A benchmark that could not be run, or not reported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL of an archive.
    #[error("--archive: {0}")]
    DatabaseUrl(#[from] DatabaseUrlError),
    /// The harness.
    #[error("{0}")]
    Bench(#[from] BenchError),
    /// The harness of the chunks.
    #[error("{0}")]
    Chunk(#[from] ChunkBenchError),
    /// The harness of the nodes.
    #[error("{0}")]
    Macro(#[from] MacroError),
    /// The results could not be printed or written.
    #[error("cannot write the results to {place}: {source}")]
    Output {
        /// A file, or standard output.
        place: String,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// Runs `levada bench micro`: results on standard output, progress on standard error.
///
/// # Errors
/// [`Error`] says what was wrong and what to change.
pub fn micro(options: &BenchOptions) -> Result<(), Error> {
    let archives = options.archives.iter().map(archive).collect::<Result<_, _>>()?;
    let harness = Options {
        messages: options.messages,
        warmup: options.warmup,
        seed: options.seed,
        window: options.window,
        workers: options.workers.clone(),
        placement: placement(options.placement),
        digests: if options.digests == 1 { Digests::Hash } else { Digests::IdAndHash },
        rate_msg_per_s: options.rate_msg_per_s,
        archives,
        hashes: options.hashes.iter().copied().map(way_to_hash).collect(),
        runs: options.runs,
        measured_ns_min: options.min_duration.as_nanos() as u64,
        heap_series: options.heap_series.clone(),
    };
    // A folder that cannot be made is better known before the measurement than after it.
    options.out.as_deref().map_or(Ok(()), |folder| std::fs::create_dir_all(folder).map_err(failed(folder)))?;
    let mut stderr = std::io::stderr();
    let report = micro::run(&harness, |line| {
        // Progress that nobody can read is no reason to stop.
        let _ = writeln!(stderr, "{line}");
    })?;
    for row in report.rows.iter().filter(|row| row.noisy) {
        let _ = writeln!(
            stderr,
            "noisy: the runs with archive {}, hash {} and {} workers lie {:.0} % apart; trust their ratios, not their absolute \
             figures",
            row.archive, row.hash, row.workers, row.spread_pct
        );
    }
    for row in report.rows.iter().filter(|row| !row.kept_up()) {
        let _ = writeln!(
            stderr,
            "overrun: with archive {}, hash {} and {} workers the path kept up with {:.0} of {} msg/s; the latencies grow with the \
             length of a round",
            row.archive, row.hash, row.workers, row.achieved_msg_per_s, row.rate_msg_per_s
        );
    }
    print(&report.render(format(options.format)))?;
    options.out.as_deref().map_or(Ok(()), |folder| save(&report, folder))
}

/// Runs `levada bench hash`: results on standard output.
///
/// # Errors
/// [`Error`] says what was wrong and what to change.
pub fn hash(options: &HashBenchOptions) -> Result<(), Error> {
    let HashBenchOptions { messages, runs, seed, .. } = *options;
    let report = hash::run(&hash::Options { messages, runs, seed })?;
    print(&report.render(format(options.format)))
}

/// Runs `levada bench chunk`: results on standard output, progress on standard error.
///
/// # Errors
/// [`Error`] says what was wrong and what to change.
pub fn chunk(options: &ChunkBenchOptions) -> Result<(), Error> {
    let form = |form: &BenchForm| match form {
        BenchForm::Vec => FormKind::Vec,
        BenchForm::Bytes => FormKind::Bytes,
        BenchForm::Shared => FormKind::Shared,
        BenchForm::Vectored => FormKind::Vectored,
    };
    let sink = |sink: &BenchSink| match sink {
        BenchSink::Null => SinkKind::Null,
        BenchSink::Unix => SinkKind::Unix,
        BenchSink::Tcp => SinkKind::Tcp,
    };
    let harness = chunk::Options {
        bytes: options.bytes,
        in_flight: options.in_flight,
        recipients: options.recipients.clone(),
        forms: options.forms.iter().map(form).collect(),
        sinks: options.sinks.iter().map(sink).collect(),
        runs: options.runs,
    };
    let mut stderr = std::io::stderr();
    let report = chunk::run(&harness, |line| {
        // Progress that nobody can read is no reason to stop.
        let _ = writeln!(stderr, "{line}");
    })?;
    print(&report.render(format(options.format)))
}

/// Runs `levada bench macro`: results on standard output, progress on standard error.
///
/// # Errors
/// [`Error`] says what was wrong and what to change.
pub fn across(options: &MacroBenchOptions) -> Result<(), Error> {
    let MacroBenchOptions { messages, warmup, seed, window, peers, hops, processes, net_workers, runs, .. } = *options;
    let with = |transport| Configuration { router: Router::OWN, transport };
    let moved_bytes = bench_macro::nothing_counted;
    let configurations = options.transports.iter().map(|transport| with((*transport).into())).collect();
    let harness = bench_macro::Options {
        messages,
        warmup,
        seed,
        window,
        peers,
        hops,
        processes,
        net_workers,
        runs,
        configurations,
        moved_bytes,
    };
    let mut stderr = std::io::stderr();
    let report = bench_macro::run(&harness, |line| {
        // Progress that nobody can read is no reason to stop.
        let _ = writeln!(stderr, "{line}");
    })?;
    for row in report.rows.iter().filter(|row| row.noisy) {
        let _ = writeln!(
            stderr,
            "noisy: the runs with transport {} lie {:.0} % apart; trust their ratios, not their absolute figures",
            row.transport, row.spread_pct
        );
    }
    print(&report.render(format(options.format)))
}

fn print(text: &str) -> Result<(), Error> {
    let failed = |source| Error::Output { place: "standard output".to_owned(), source };
    std::io::stdout().write_all(text.as_bytes()).map_err(failed)
}

fn failed(place: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let place = place.display().to_string();
    move |source| Error::Output { place, source }
}

/// Writes the report in every format into `folder`.
fn save(report: &Report, folder: &Path) -> Result<(), Error> {
    for (name, format) in [("micro.txt", Format::Table), ("micro.csv", Format::Csv), ("micro.json", Format::Json)] {
        let path = folder.join(name);
        std::fs::write(&path, report.render(format)).map_err(failed(&path))?;
    }
    Ok(())
}

fn archive(choice: &BenchArchive) -> Result<ArchiveChoice, DatabaseUrlError> {
    Ok(match choice {
        BenchArchive::None => ArchiveChoice::None,
        BenchArchive::Memory => ArchiveChoice::Database(levada_archive::DatabaseUrl::Memory),
        BenchArchive::Url(url) => ArchiveChoice::Database(url.parse()?),
    })
}

fn placement(placement: BenchPlacement) -> Placement {
    match placement {
        BenchPlacement::PerCore => Placement::PerCore,
        BenchPlacement::Dedicated => Placement::Dedicated,
    }
}

fn way_to_hash(hash: BenchHash) -> HashChoice {
    match hash {
        BenchHash::Sha2 => HashChoice::Sha2,
        BenchHash::Multi => HashChoice::Multi,
    }
}

fn format(format: BenchFormat) -> Format {
    match format {
        BenchFormat::Table => Format::Table,
        BenchFormat::Csv => Format::Csv,
        BenchFormat::Json => Format::Json,
    }
}
