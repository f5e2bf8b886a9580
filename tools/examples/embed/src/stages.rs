//! The program's own stages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use levada_engine::{Batch, OnPanic, Outputs, Stage};

/// Reads the number that a payload carries into the record beside it.
pub struct Decode;

impl Stage<u64> for Decode {
    fn ports(&self) -> &'static [&'static str] {
        &["number"]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, outputs: &mut Outputs<'_, u64>) {
        for mut envelope in batch {
            let number = envelope.payload().try_into().map_or(0, u64::from_le_bytes);
            if let Some(record) = envelope.record_mut() {
                *record = number;
            }
            outputs.send(0, envelope);
        }
    }
}

/// Mixes each number, and cannot stand one of them.
#[derive(Default)]
pub struct Checksum;

impl Checksum {
    /// The number that makes the stage panic.
    pub const UNLUCKY: u64 = 13;
}

impl Stage<u64> for Checksum {
    fn ports(&self) -> &'static [&'static str] {
        &["summed"]
    }

    fn on_panic(&self) -> OnPanic {
        OnPanic::RestartStage
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, outputs: &mut Outputs<'_, u64>) {
        for mut envelope in batch {
            assert!(*envelope.record() != Self::UNLUCKY, "{} is unlucky", Self::UNLUCKY);
            if let Some(record) = envelope.record_mut() {
                *record = record.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
            }
            outputs.send(0, envelope);
        }
    }
}

/// What came out of all lanes together.
#[derive(Default)]
pub struct Total {
    envelopes: AtomicU64,
    sum: AtomicU64,
}

impl Total {
    /// One envelope of each lane was unlucky; the others have come through.
    pub fn is_complete(&self, pushed: u64) -> bool {
        self.envelopes.load(Relaxed) == pushed - pushed / crate::ENVELOPES_PER_LANE
    }

    /// The last line of the output.
    pub fn line(&self, pushed: u64) -> String {
        let (envelopes, sum) = (self.envelopes.load(Relaxed), self.sum.load(Relaxed));
        format!("total pushed {pushed} delivered {envelopes} sum {sum:016x}")
    }
}

/// Adds everything up: a stage without a port, where envelopes end.
pub struct Tally {
    total: Arc<Total>,
}

impl Tally {
    pub fn new(total: Arc<Total>) -> Self {
        Self { total }
    }
}

impl Stage<u64> for Tally {
    fn ports(&self) -> &'static [&'static str] {
        &[]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>) {
        let (envelopes, sum) = batch.fold((0, 0u64), |(n, sum), next| (n + 1, sum.wrapping_add(*next.record())));
        self.total.envelopes.fetch_add(envelopes, Relaxed);
        self.total.sum.fetch_add(sum, Relaxed);
    }
}
