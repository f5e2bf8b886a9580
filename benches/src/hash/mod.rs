//! `levada bench hash`: the hash stage over the reference mix, by how many messages wait, beside the `sha2` crate in the same
//! run.
//!
//! Both sides are the node's own `message_hash` stage over envelopes of one arena; the other side's is told to hash one message
//! after another by the crate. They take turns over the same messages in the same order, and only the calls of the stage
//! count, by the thread's processor time. The quotients of neighbours are robust against a machine whose speed drifts, and
//! their median against what disturbs a pass.

mod line;
mod report;

use levada_wire::hash::{Scratch, WINDOW};

pub use report::{Backlog, Report, Row};

use crate::bound::on_first_core;
use crate::micro::{BenchError, HashChoice};
use line::{Line, Mix};

/// Messages that wait whenever the stage looks.
pub const BACKLOGS: [Backlog; 7] = [
    Backlog::Messages(1),
    Backlog::Messages(2),
    Backlog::Messages(8),
    Backlog::Messages(16),
    Backlog::Messages(32),
    Backlog::Messages(WINDOW),
    Backlog::Endless,
];

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Messages in a pass, at least [`WINDOW`].
    pub messages: usize,
    /// Passes of each side at each backlog.
    pub runs: usize,
    /// Seed of the workload.
    pub seed: u64,
}

/// Measures every backlog, on a thread bound to the first core.
///
/// # Errors
/// [`BenchError`]: what could not be run, and what to change.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    let Options { messages, runs, .. } = *options;
    if messages < WINDOW {
        return Err(BenchError::FewMessages { messages, messages_min: WINDOW });
    }
    if runs == 0 {
        return Err(BenchError::Zero { option: "runs" });
    }
    on_first_core(|| measure(options))
}

/// What the passes at one backlog took, in pairs of neighbours: the crate's and the stage's, in nanoseconds.
type Pairs = Vec<(u64, u64)>;

fn measure(options: &Options) -> Result<Report, BenchError> {
    let mut mix = Mix::new(options.seed, options.messages)?;
    let mut sha2 = Line::new(&mix, HashChoice::Sha2)?;
    let mut multi = Line::new(&mix, HashChoice::Multi)?;
    let mut pairs: [Pairs; BACKLOGS.len()] = Default::default();
    // The first pass touches everything once, and does not count.
    for run in 0..=options.runs {
        for (backlog, pairs) in BACKLOGS.iter().zip(&mut pairs) {
            let waiting = backlog.messages().unwrap_or(options.messages);
            // Neither side is always the one that finds the cache as the other left it.
            let (sha2, multi) = if run % 2 == 0 {
                let sha2 = sha2.pass(&mut mix, waiting);
                (sha2, multi.pass(&mut mix, waiting))
            } else {
                let multi = multi.pass(&mut mix, waiting);
                (sha2.pass(&mut mix, waiting), multi)
            };
            if sha2.digest != multi.digest {
                return Err(BenchError::Digests { backlog: backlog.to_string(), kernel: kernel(waiting) });
            }
            if run > 0 {
                pairs.push((sha2.stage_ns, multi.stage_ns));
            }
        }
    }
    let row = |(backlog, pairs): (&Backlog, &Pairs)| {
        let waiting = backlog.messages().unwrap_or(options.messages);
        Row::of(*backlog, kernel(waiting), options.messages, pairs)
    };
    Ok(Report { rows: BACKLOGS.iter().zip(&pairs).map(row).collect() })
}

/// The kernel that the stage begins a batch with; fewer lanes may follow when few messages are left.
fn kernel(waiting: usize) -> &'static str {
    Scratch::new().kernel(waiting.min(WINDOW)).name()
}
