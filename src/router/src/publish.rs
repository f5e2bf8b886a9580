//! A message of this node's own.

use crate::action::{Action, Actions, Message, Reason};
use crate::error::PublishError;
use crate::index::{PeerIndex, TopicIndex};
use crate::router::Router;
use crate::seen::Fate;
use crate::time::Moment;

impl<H: Clone> Router<H> {
    /// Publishes a message that has passed the validators. The topic need not be joined.
    ///
    /// # Errors
    /// [`PublishError`]; the message then counts as not seen, so that it can be published again.
    pub fn publish(&mut self, message: Message<H>, now: Moment, out: &mut Actions<H>) -> Result<(), PublishError> {
        let bytes_max = self.message_bytes_max(message.topic);
        if message.bytes > bytes_max {
            return Err(PublishError::TooLarge { bytes: message.bytes, bytes_max });
        }
        if self.seen.get(&message.id).is_some() || self.pending.contains(&message.id) {
            return Err(PublishError::Duplicate);
        }
        self.choose_recipients(message.topic, message.bytes, now);
        if self.chosen.is_empty() {
            return Err(PublishError::NoPeers);
        }
        let (peers, saved) = (&self.peers, &mut self.counters.idontwant_saved);
        let wants = |index: &PeerIndex| {
            let is_spared = peers.get(*index).is_some_and(|peer| peer.dont_want.contains(&message.id));
            *saved += u64::from(is_spared);
            !is_spared
        };
        if let Some(to) = out.add_peers(self.chosen.iter().copied().filter(wants)) {
            out.push(Action::Send { message: message.clone(), reason: Reason::Published, to });
        }
        self.counters.messages_published += 1;
        self.seen.insert(&message.id, Fate::Own);
        self.counters.mcache_evicted += self.mcache.put(message, now, self.config.limits.mcache_bytes_max) as u64;
        Ok(())
    }

    /// Fills `chosen` with the peers that a message of this node's own goes to: those who are sent everything, the mesh or the
    /// fanout, and others as far as flooding goes. Where there is neither mesh nor flooding, D others make do.
    fn choose_recipients(&mut self, topic: TopicIndex, bytes: u32, now: Moment) {
        if !self.config.flood_publish && self.topics.joined(topic).is_none() {
            self.use_fanout(topic, now);
        }
        self.chosen.clear();
        let Some(known) = self.topics.get(topic) else { return };
        let publish = self.config.thresholds.publish;
        let is_good = |index: &&PeerIndex| {
            self.peers.get(**index).is_some_and(|peer| peer.info.direct || peer.score() >= publish)
        };
        let full = known.fanout.as_ref().map_or(&known.mesh, |fanout| &fanout.peers);
        self.chosen.extend(known.always.iter().chain(full).filter(is_good));
        let first = self.chosen.len();
        let count = match (self.config.flood_publish, full.is_empty()) {
            (true, _) => self.flood_peers_max(bytes).saturating_sub(first),
            (false, true) => self.config.mesh.degrees.target,
            (false, false) => 0,
        };
        if count > 0 {
            let others = known.gossipers.iter().filter(|index| !full.contains(index));
            self.chosen.extend(others.filter(is_good));
            let chosen = self.rng.choose(&mut self.chosen[first..], count).len();
            self.chosen.truncate(first + chosen);
        }
    }

    /// How many peers a message may be sent to at once: what the bandwidth carries within a heartbeat, but at least D_lo.
    fn flood_peers_max(&self, bytes: u32) -> usize {
        let bits_per_heartbeat = u128::from(self.config.flood_bits_per_s) * self.config.heartbeat.as_millis() / 1_000;
        let peers = bits_per_heartbeat / (u128::from(bytes) * 8).max(1);
        usize::try_from(peers).unwrap_or(usize::MAX).max(self.config.mesh.degrees.low)
    }
}
