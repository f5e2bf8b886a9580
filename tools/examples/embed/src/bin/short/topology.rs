use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use levada_engine::*;

pub static SUM: AtomicU64 = AtomicU64::new(0);

struct Double;
impl Stage<u64> for Double {
    fn ports(&self) -> &'static [&'static str] {
        &["doubled"]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, outputs: &mut Outputs<'_, u64>) {
        batch.pass(outputs, 0, |envelope| envelope.record_mut().into_iter().for_each(|number| *number *= 2));
    }
}

struct Sum;
impl Stage<u64> for Sum {
    fn ports(&self) -> &'static [&'static str] {
        &[]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>) {
        batch.take_each(|envelope| _ = SUM.fetch_add(*envelope.record(), Relaxed));
    }
}

pub fn start(placement: Placement) -> Result<(Source<u64>, Started<u64>), Box<dyn std::error::Error>> {
    let arena = Arena::new(&ArenaConfig::with_budget(16 << 20, 4096))?;
    let mut drawing = TopologyBuilder::placed(arena, placement);
    let double = drawing.place(0, "double", Double);
    let sum = drawing.place(0, "sum", Sum);
    drawing.link(double, "doubled", sum);
    let source = drawing.source("in:0", double, 1024);
    Ok((source, drawing.build()?.start()?))
}
