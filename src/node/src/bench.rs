//! `levada bench`: runs the harness of `levada-benches` as the command line asks, and prints its report.

use std::io::Write;
use std::path::Path;

use levada_archive::DatabaseUrlError;
use levada_benches::micro::{self, ArchiveChoice, BenchError, Format, Options, Report};

use crate::cli::{BenchArchive, BenchFormat, BenchOptions};

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
        workers: options.workers,
        archives,
        runs: options.runs,
        measured_ns_min: options.min_duration.as_nanos() as u64,
        heap_series: options.heap_series.clone(),
    };
    let mut stderr = std::io::stderr();
    let report = micro::run(&harness, |line| {
        // Progress that nobody can read is no reason to stop.
        let _ = writeln!(stderr, "{line}");
    })?;
    for row in report.rows.iter().filter(|row| row.noisy) {
        let _ = writeln!(
            stderr,
            "noisy: the runs with archive {} lie {:.0} % apart; trust their ratios, not their absolute figures",
            row.archive, row.spread_pct
        );
    }
    let text = report.render(format(options.format));
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|source| Error::Output { place: "standard output".to_owned(), source })?;
    options.out.as_deref().map_or(Ok(()), |folder| save(&report, folder))
}

/// Writes the report in every format into `folder`.
fn save(report: &Report, folder: &Path) -> Result<(), Error> {
    let failed = |place: &Path| {
        let place = place.display().to_string();
        move |source| Error::Output { place, source }
    };
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
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

fn format(format: BenchFormat) -> Format {
    match format {
        BenchFormat::Table => Format::Table,
        BenchFormat::Csv => Format::Csv,
        BenchFormat::Json => Format::Json,
    }
}
