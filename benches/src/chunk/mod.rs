//! `levada bench chunk`: what it costs to have many chunks under way to several recipients, in four forms.
//!
//! | form | a chunk | a recipient |
//! |---|---|---|
//! | `vec` | a `Vec` | a copy of it, and its encoding in a buffer that grows by doubling |
//! | `bytes` | a `Bytes` | its encoding in a buffer that grows by doubling |
//! | `shared` | a slot, encoded once into another | a reference |
//! | `vectored` | a slot | references: header, content, trailer |
//!
//! `vec` and `bytes` are the network's client before and after its chunks became `Bytes`, by mirrors of its types. Every form makes
//! the same contents and holds the messages of a chunk until as many chunks as may be in flight are made; then the oldest goes
//! to the sink. Before the clock starts, the forms' messages are compared byte by byte.

mod error;
mod form;
#[cfg(feature = "mirrors")]
mod mirror;
mod ours;
mod report;
mod run;
mod sink;

pub use error::ChunkBenchError;
pub use form::{Flight, Form, Message, Workload};
pub use report::{Report, Row};
pub use run::{Measured, measure};
pub use sink::SinkKind;

use crate::median::median;

/// The forms, the one with the least memory first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FormKind {
    /// Header, content and trailer by reference.
    Vectored,
    /// One encoding for all recipients.
    Shared,
    /// An encoding per recipient, of `Bytes`.
    Bytes,
    /// A copy and an encoding per recipient, of a `Vec`.
    Vec,
}

impl FormKind {
    /// The name in options and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vectored => "vectored",
            Self::Shared => "shared",
            Self::Bytes => "bytes",
            Self::Vec => "vec",
        }
    }

    /// The form, with whatever memory it needs.
    ///
    /// # Errors
    /// [`ChunkBenchError`]: the arena, or mirrors that are not in this build.
    pub fn make(self, workload: &Workload) -> Result<Box<dyn Form>, ChunkBenchError> {
        match self {
            Self::Vectored => Ok(Box::new(ours::Vectored::new(workload)?)),
            Self::Shared => Ok(Box::new(ours::Shared::new(workload)?)),
            #[cfg(feature = "mirrors")]
            Self::Bytes => Ok(Box::new(mirror::AsBytes)),
            #[cfg(feature = "mirrors")]
            Self::Vec => Ok(Box::new(mirror::AsVec)),
            #[cfg(not(feature = "mirrors"))]
            Self::Bytes | Self::Vec => Err(ChunkBenchError::NoMirrors { form: self.name() }),
        }
    }
}

/// What is measured.
#[derive(Debug, Clone)]
pub struct Options {
    /// Bytes of all chunks together.
    pub bytes: u64,
    /// Chunks under way at once.
    pub in_flight: usize,
    /// Numbers of recipients: a configuration for each.
    pub recipients: Vec<usize>,
    /// Forms: a configuration for each.
    pub forms: Vec<FormKind>,
    /// Sinks: a configuration for each.
    pub sinks: Vec<SinkKind>,
    /// Runs of each configuration, in turns; medians are reported.
    pub runs: usize,
}

/// A configuration.
#[derive(Debug, Clone, Copy)]
struct Configuration {
    form: FormKind,
    sink: SinkKind,
    workload: Workload,
}

/// Measures every configuration; `progress` hears of each run.
///
/// # Errors
/// [`ChunkBenchError`]: what could not be run, and what to change.
pub fn run(options: &Options, mut progress: impl FnMut(&str)) -> Result<Report, ChunkBenchError> {
    let configurations = configurations(options);
    for form in &options.forms {
        form::check(&mut *form.make(&Workload::SMALL)?)?;
    }
    // The process keeps what a form has ever used: in the first round the thrifty ones go first, so that resident memory is theirs.
    let mut order: Vec<usize> = (0..configurations.len()).collect();
    order.sort_by_key(|position| {
        let Configuration { form, sink, workload } = configurations[*position];
        (form, workload.recipients, sink)
    });
    let mut measured: Vec<Vec<Measured>> = vec![Vec::new(); configurations.len()];
    for run in 1..=options.runs {
        for position in &order {
            let Configuration { form, sink, workload } = configurations[*position];
            progress(&format!(
                "run {run} of {}: {} to {} recipients, sink {}",
                options.runs,
                form.name(),
                workload.recipients,
                sink.name()
            ));
            measured[*position].push(measure(&mut *form.make(&workload)?, &workload, sink)?);
        }
    }
    let row = |(configuration, runs): (&Configuration, &Vec<Measured>)| row(configuration, runs);
    Ok(Report { rows: configurations.iter().zip(&measured).map(row).collect() })
}

fn configurations(options: &Options) -> Vec<Configuration> {
    let mut all = Vec::new();
    for sink in &options.sinks {
        for recipients in &options.recipients {
            for form in &options.forms {
                let workload = Workload::new(options.bytes, options.in_flight, *recipients);
                all.push(Configuration { form: *form, sink: *sink, workload });
            }
        }
    }
    all
}

fn row(configuration: &Configuration, runs: &[Measured]) -> Row {
    const MB: f64 = 1e6;
    let Configuration { form, sink, workload } = configuration;
    let median_of = |figure: fn(&Measured) -> f64| median(runs.iter().map(figure).collect());
    Row {
        form: form.name(),
        sink: sink.name(),
        recipients: workload.recipients,
        in_flight: workload.in_flight,
        chunks: workload.chunks,
        peak_heap_MB: median_of(|run| run.peak_heap_bytes as f64 / MB),
        arena_MB: median_of(|run| run.arena_bytes as f64 / MB),
        rss_MB: runs.first().map_or(0.0, |run| run.rss_peak_bytes as f64 / MB),
        allocated_MB: median_of(|run| run.allocated_bytes as f64 / MB),
        cpu_s: median_of(|run| run.cpu_ns as f64 / 1e9),
        wall_ms: median_of(|run| run.wall_ns as f64 / 1e6),
        copies_per_chunk: median_of(|run| run.copies as f64) / workload.chunks as f64,
        runs: runs.len(),
    }
}
