//! `message_hash`: the deterministic hash of 14/WAKU2-MESSAGE, once per new message for all stages behind it.
//!
//! Cost: one hash pass over the payload in its slot; the pieces are hashed where they lie. What waits is hashed side by
//! side in the lanes of one kernel, which at a backlog of 32 takes a half to a third of the time. Ids that have to be hashed at
//! the same moment share those lanes ([`HashUnit`]); it never waits for more.

use levada_engine::{BatchLimit, Stage};
use levada_wire::waku::WakuRecord;

use crate::hash_unit::{HASH_LIMIT, HashUnit};
use crate::{Messages, Ports};

/// Fills in the hash.
#[derive(Debug)]
pub struct MessageHash {
    unit: HashUnit,
    left: Left,
}

/// When messages were left in the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// There are none.
    Never,
    /// In this turn: `id_hash` had no chance to take them along yet.
    Now,
    /// In an earlier one.
    Before,
}

impl MessageHash {
    /// A lane that hashes in `unit`.
    pub fn new(unit: HashUnit) -> Self {
        Self { unit, left: Left::Never }
    }

    /// Passes on what was left in the unit; whatever `id_hash` did not take along is hashed now.
    fn pass_left(&mut self, ports: &mut Ports<'_>) {
        let mut unit = self.unit.lock();
        unit.hash_left();
        unit.pass_left(ports, NEXT);
        self.left = Left::Never;
    }
}

const NEXT: usize = 0;

impl Stage<WakuRecord> for MessageHash {
    fn ports(&self) -> &'static [&'static str] {
        &["next"]
    }

    fn batch_limit(&self) -> BatchLimit {
        HASH_LIMIT
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        let mut unit = self.unit.lock();
        unit.pass_left(ports, NEXT);
        if unit.leave(batch) {
            self.left = Left::Now;
            return;
        }
        unit.hash_messages(batch);
        unit.pass_left(ports, NEXT);
        self.left = Left::Never;
        let mut digests = unit.digests().iter();
        batch.pass(ports, NEXT, |envelope| {
            let digest = digests.next().expect("a batch is within the limit, and every message of it was hashed");
            let record = crate::record(envelope);
            (record.hash, record.hashed) = (*digest, true);
        });
    }

    /// For what is left in the unit: no input brings it again.
    fn is_source(&self) -> bool {
        true
    }

    fn poll(&mut self, ports: &mut Ports<'_>) {
        match self.left {
            Left::Never => {}
            Left::Now => self.left = Left::Before,
            Left::Before => self.pass_left(ports),
        }
    }

    fn is_ready(&self) -> bool {
        self.left != Left::Never
    }

    fn finish(&mut self, ports: &mut Ports<'_>) {
        self.pass_left(ports);
    }
}
