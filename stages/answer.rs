//! `answer`: the end of the path; tells whoever waits for a published message what became of it.
//!
//! Cost: nothing for messages nobody waits for, which are released here.

use std::fmt::Debug;
use std::sync::Arc;

use levada_engine::{BatchLimit, Stage};
use levada_wire::waku::WakuRecord;

use crate::{Messages, Ports};

/// Who hands out the answers. Asked on a worker of the path, so it waits for nobody.
pub trait Answers: Debug + Send + Sync {
    /// What became of the message of `record`, whose ticket is not 0.
    fn answer(&self, record: &WakuRecord);
}

/// Where nobody publishes, nobody waits.
impl Answers for () {
    fn answer(&self, _record: &WakuRecord) {}
}

/// Tells of every message that somebody waits for, and releases all.
#[derive(Debug)]
pub struct Answer(Arc<dyn Answers>);

impl Answer {
    /// A stage that tells `answers`.
    pub fn new(answers: Arc<dyn Answers>) -> Self {
        Self(answers)
    }
}

impl Stage<WakuRecord> for Answer {
    fn ports(&self) -> &'static [&'static str] {
        &[]
    }

    fn batch_limit(&self) -> BatchLimit {
        crate::HEADERS_ONLY
    }

    fn process(&mut self, batch: &mut Messages<'_>, _ports: &mut Ports<'_>) {
        batch.take_each(|envelope| {
            let record = envelope.record();
            if record.ticket != 0 {
                self.0.answer(record);
            }
        });
    }
}
