//! The stage that does nothing: what remains is the engine's own cost.

use levada_engine::{Batch, Outputs, Stage};

/// Passes every envelope on.
pub struct Pass;

impl Stage<u64> for Pass {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, outputs: &mut Outputs<'_, u64>) {
        batch.for_each(|envelope| outputs.send(0, envelope));
    }
}
