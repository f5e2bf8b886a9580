//! What the topology tests share: an arena, envelopes, and a stage that passes everything on.

use std::sync::Arc;

use levada_engine::{Arena, ArenaConfig, Batch, ClassConfig, Envelope, Outputs, Stage};

/// An arena of `slots` slots of 256 bytes; the record is a number.
pub fn arena(slots: u32) -> Arc<Arena<u64>> {
    let classes = vec![ClassConfig { payload_bytes: 256, slots }];
    Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).expect("a small arena")
}

/// An envelope that carries `number` as record and as payload.
pub fn numbered(arena: &Arena<u64>, number: u64) -> Envelope<'_, u64> {
    let mut unique = arena.claim(8).expect("a free slot");
    unique.payload_mut()[..8].copy_from_slice(&number.to_le_bytes());
    unique.set_len(8);
    *unique.record_mut() = number;
    unique.share()
}

/// Passes everything on by its port "out".
pub struct Pass;

impl Stage<u64> for Pass {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, outputs: &mut Outputs<'_, u64>) {
        for envelope in batch {
            outputs.send(0, envelope);
        }
    }
}
