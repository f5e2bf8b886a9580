//! `relay`: tells the network layer what became of a message, before any local consumer sees it.
//!
//! Every message that a peer sent goes to `egress` with its verdict; a published one only when accepted, and one that a
//! filter node pushed, or that came from another archive, never. An accepted message also goes on to the local consumers;
//! one that was not, and that somebody waits for, goes to be answered.
//! Cost: one more handle per message, no payload byte.

use levada_engine::{BatchLimit, Stage};
use levada_wire::waku::{Origin, Verdict, WakuRecord};

use crate::{Messages, Ports};

/// Splits the path: out to the peers, on to the local consumers.
#[derive(Debug, Default)]
pub struct Relay;

const EGRESS: usize = 0;
const ACCEPTED: usize = 1;
const REFUSED: usize = 2;

impl Stage<WakuRecord> for Relay {
    fn ports(&self) -> &'static [&'static str] {
        &["egress", "accepted", "refused"]
    }

    fn batch_limit(&self) -> BatchLimit {
        crate::HEADERS_ONLY
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        for envelope in batch {
            let accepted = envelope.record().verdict == Verdict::Accept;
            let concerns_peers = match envelope.record().origin {
                Origin::Gossip => true,
                Origin::Publish => accepted,
                Origin::Push | Origin::Resume => false,
            };
            if concerns_peers {
                ports.send(EGRESS, envelope.clone());
            }
            ports.send(if accepted { ACCEPTED } else { REFUSED }, envelope);
        }
    }
}
