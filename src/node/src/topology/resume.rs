//! The way of messages that another node's archive gives for this one's (`--store-resume`).
//!
//! ```text
//! resume ─→ decode → validate → message_hash → backlog ─→ archive → sync → answer_stored
//!              └ rejected ┴→ answer ←── skip ────┘
//! ```
//! It lies on the archive's worker and touches no other part of the path: such a message is told to no peer, no filter subscriber and no
//! REST client, it leaves the ids seen lately alone, which hours of history would push out, and it is counted with no relayed one.

use std::sync::Arc;

use levada_engine::{LinkConfig, Policy, Source, StageId};
use levada_stages::HashUnit;
use levada_stages::answer::{Answer, Answers};
use levada_stages::backlog::BacklogStage;
use levada_stages::decode::Decode;
use levada_stages::message_hash::MessageHash;
use levada_wire::waku::WakuRecord;

use super::{Drawing, LINK_ENVELOPES, Shared, rules};

/// Draws it, up to the archive stage `store`; its way in.
pub(super) fn draw(
    drawing: &mut Drawing,
    shared: &Shared,
    store: StageId,
    message_bytes_max: usize,
    answers: &Arc<dyn Answers>,
) -> Source<WakuRecord> {
    let worker = drawing.worker_of(store);
    let decode = drawing.stage(worker, "decode:resume", Decode);
    // Its outcomes are told one by one to who fetches; the metrics of the validators are about relayed messages.
    let validate = drawing.stage(worker, "validate:resume", rules(shared, message_bytes_max, &Arc::default()));
    let hash = MessageHash::new(HashUnit::new(shared.topics.clone()));
    let hash = drawing.stage(worker, "message_hash:resume", hash);
    let backlog = drawing.stage(worker, "backlog:resume", BacklogStage::new(shared.backlog.clone()));
    let answer = drawing.stage(worker, "answer:resume", Answer::new(answers.clone()));
    let link = LinkConfig { capacity: LINK_ENVELOPES, policy: Policy::Reliable };
    for (from, port, to) in [
        (decode, "decoded", validate),
        (decode, "rejected", answer),
        (validate, "accepted", hash),
        (validate, "rejected", answer),
        (hash, "next", backlog),
        (backlog, "skip", answer),
    ] {
        drawing.link_with(from, port, to, link);
    }
    // As long as the link that a lane has to it: a stage never gets more at once than it can pass on.
    drawing.link_with(backlog, "store", store, LinkConfig { capacity: super::ARCHIVE_LINK_ENVELOPES, ..link });
    drawing.source("resume", decode, LINK_ENVELOPES)
}
