//! The shortest embedder: [`topology`] is the whole of it, two stages and how they are joined, in under 40 lines. Which threads run it
//! is said by the one value that `start` is given.
//!
//! ```text
//! cargo run --manifest-path tools/examples/embed/Cargo.toml --bin short -- per-core | dedicated | invoker
//! ```

#[path = "../../placement.rs"]
mod placement;
#[path = "../../report.rs"]
mod report;
mod topology;

use std::process::ExitCode;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use levada_engine::{Drained, PushError};

/// Numbers that go through.
const NUMBERS: u64 = 100_000;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let Some(placement) = placement::asked_for() else { return Ok(ExitCode::from(2)) };
    let (source, mut started) = topology::start(placement)?;
    for number in 0..NUMBERS {
        // A full arena and a full source both say: let the topology get on.
        let mut slot = loop {
            match source.arena().claim(8) {
                Ok(slot) => break slot,
                Err(_) => started.turn(),
            }
        };
        *slot.record_mut() = number;
        let mut envelope = slot.share();
        while let Err(PushError::Full(refused)) = source.push(envelope) {
            started.turn();
            envelope = refused;
        }
    }
    let stats = started.stats();
    report::while_running(&stats);
    let drained = started.drain(Duration::from_secs(30));
    report::at_the_end(&stats);
    let (delivered, sum) = (stats.stages[1].envelopes_total(), topology::SUM.load(Relaxed));
    println!("total pushed {NUMBERS} delivered {delivered} sum {sum:016x}");
    let complete = drained == Drained::Complete && sum == NUMBERS * (NUMBERS - 1);
    Ok(if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
