//! An embedder's program: a topology of three stages of its own, fed by a tokio task, on an allocator of its own.
//!
//! ```text
//! cargo run --manifest-path tools/examples/embed/Cargo.toml -- per-core | dedicated | invoker
//! ```
//!
//! The argument changes one line, [`Placement`], and nothing else: `draw` does not know how it will be run. The program pushes
//! numbers into every lane, prints what each link and each worker did, drains, and exits with 0 when nothing was lost.

mod placement;
mod report;
mod stages;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use levada_engine::{
    Arena, ArenaConfig, Drained, Placement, PushError, Source, Started, TopologyBuilder, TopologyError, usable_cores,
};
use mimalloc::MiMalloc;

use crate::stages::{Checksum, Decode, Tally, Total};

#[global_allocator]
static HEAP: MiMalloc = MiMalloc;

/// Envelopes that go through each lane.
const ENVELOPES_PER_LANE: u64 = 50_000;

/// The whole topology: a lane per core, each `in -> decode -> checksum -> tally`.
fn draw(arena: &Arc<Arena<u64>>, placement: Placement, total: &Arc<Total>) -> Result<Drawn, TopologyError> {
    let mut drawing = TopologyBuilder::placed(arena.clone(), placement);
    let mut sources = Vec::new();
    for lane in 0..usable_cores() {
        let decode = drawing.place(lane, "decode", Decode);
        // This one panics at a number it does not like, and is made anew.
        let checksum = drawing.place_with(lane, "checksum", Checksum::default);
        let tally = drawing.place(lane, "tally", Tally::new(total.clone()));
        drawing.link(decode, "number", checksum);
        drawing.link(checksum, "summed", tally);
        sources.push(drawing.source(&format!("in:{lane}"), decode, 1024));
    }
    let started = drawing.build()?.start()?;
    Ok(Drawn { sources, started })
}

struct Drawn {
    sources: Vec<Source<u64>>,
    started: Started<u64>,
}

/// Pushes one number, which the payload carries; false when the lane or the arena is full at this moment.
fn push(source: &Source<u64>, number: u64) -> bool {
    let Ok(mut slot) = source.arena().claim(8) else { return false };
    slot.payload_mut()[..8].copy_from_slice(&number.to_le_bytes());
    slot.set_len(8);
    match source.push(slot.share()) {
        Ok(()) => true,
        Err(PushError::Full(_)) => false,
        Err(PushError::Closed(_)) => panic!("nobody has closed the topology"),
    }
}

/// Feeds every lane, and lets the topology get on whenever a lane is full.
async fn feed(drawn: &mut Drawn) {
    for number in 0..ENVELOPES_PER_LANE {
        for source in &drawn.sources {
            while !push(source, number) {
                drawn.started.turn();
                tokio::task::yield_now().await;
            }
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(placement) = placement::asked_for() else { return ExitCode::from(2) };
    // A line for each panic is enough: they are meant, and the counters tell them as well.
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    let arena = Arena::new(&ArenaConfig::with_budget(16 << 20, 4096)).expect("16 MiB are to be had");
    let total = Arc::new(Total::default());
    let mut drawn = match draw(&arena, placement, &total) {
        Ok(drawn) => drawn,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let pushed = ENVELOPES_PER_LANE * drawn.sources.len() as u64;
    feed(&mut drawn).await;
    let stats = drawn.started.stats();
    report::while_running(&stats);
    let drained = drawn.started.drain(Duration::from_secs(30));
    report::at_the_end(&stats);
    println!("{}", total.line(pushed));
    let complete = drained == Drained::Complete && total.is_complete(pushed) && arena.slots_in_use() == 0;
    if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
