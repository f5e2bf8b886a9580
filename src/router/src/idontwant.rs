//! IDONTWANT (gossipsub 1.2): large messages that have come need not come again.

use crate::action::{Action, Actions};
use crate::index::{MessageId, PeerIndex, TopicIndex};
use crate::router::Router;

impl<H: Clone> Router<H> {
    /// A peer has these messages already. What waits for it in the send queue is to be cancelled.
    pub fn idontwant<'a>(&mut self, from: PeerIndex, ids: impl IntoIterator<Item = &'a [u8]>, out: &mut Actions<H>) {
        if !self.hears(from) {
            return;
        }
        let ids_max = self.config.gossip.idontwant_ids_max;
        let Some(peer) = self.peers.get_mut(from) else { return };
        for id in ids {
            let Ok(id) = MessageId::try_from(id) else {
                self.counters.ids_malformed += 1;
                continue;
            };
            if !peer.dont_want.insert(&id, self.heartbeats, ids_max) {
                self.counters.idontwant_ignored += 1;
            } else if self.mcache.contains(&id) {
                out.push(Action::Cancel { id, to: from });
            }
        }
    }

    /// Tells the mesh and the direct peers, as nwaku does before it validates, that the message need not be sent again.
    pub(crate) fn send_idontwant(&mut self, topic: TopicIndex, id: MessageId, sender: PeerIndex, out: &mut Actions<H>) {
        let Some(known) = self.topics.get(topic) else { return };
        let peers = &self.peers;
        let understands = |index: &PeerIndex| {
            *index != sender && peers.get(*index).is_some_and(|peer| peer.info.protocol.knows_idontwant())
        };
        if let Some(to) = out.add_peers(known.mesh.iter().chain(&known.always).copied().filter(understands)) {
            out.push(Action::IDontWant { id, to });
        }
    }
}
