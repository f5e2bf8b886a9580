//! `answer`: the end of the path; tells whoever waits for a published message what became of it.
//!
//! Cost: nothing for messages nobody waits for, which are released here.

use levada_engine::{BatchLimit, Stage};
use levada_wire::waku::WakuRecord;

use crate::{Messages, Ports};

/// Passes on only what somebody waits for.
#[derive(Debug, Default)]
pub struct Answer;

const WAITED_FOR: usize = 0;

impl Stage<WakuRecord> for Answer {
    fn ports(&self) -> &'static [&'static str] {
        &["waited_for"]
    }

    fn batch_limit(&self) -> BatchLimit {
        crate::HEADERS_ONLY
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        batch.filter(|envelope| envelope.record().ticket != 0).for_each(|envelope| ports.send(WAITED_FOR, envelope));
    }
}
