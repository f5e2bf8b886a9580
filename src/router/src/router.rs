//! The router's state, who is connected, and what a caller may ask.

use std::sync::Arc;

use levada_engine::seen::Set;

use crate::action::{Action, Actions};
use crate::config::Config;
use crate::counters::Counters;
use crate::error::{ConfigError, ConnectError};
use crate::index::{MessageId, PeerIndex, PeerKey, TopicIndex};
use crate::mcache::Mcache;
use crate::peer::{PeerInfo, Peers};
use crate::pending::Pending;
use crate::promises::Promises;
use crate::retained::RetainedPeers;
use crate::rng::Rng;
use crate::score::PeerScore;
use crate::seen::Seen;
use crate::size;
use crate::time::Moment;
use crate::topics::Topics;

/// A gossipsub router. `H` is the caller's reference to a payload; the router only clones and drops it.
///
/// Every call is one event, with the time at which it happened; times never go back. What follows from it is appended to the
/// caller's [`Actions`].
pub struct Router<H> {
    pub(crate) config: Config,
    pub(crate) rng: Rng,
    pub(crate) peers: Peers,
    pub(crate) topics: Topics,
    pub(crate) seen: Seen,
    pub(crate) pending: Pending<H>,
    pub(crate) mcache: Mcache<H>,
    pub(crate) promises: Promises,
    pub(crate) retained: RetainedPeers,
    pub(crate) counters: Counters,
    /// Heartbeats so far.
    pub(crate) heartbeats: u32,
    pub(crate) next_decay: Option<Moment>,
    /// Peers under consideration, kept for its memory.
    pub(crate) chosen: Vec<PeerIndex>,
    /// Ids under consideration, kept for its memory.
    pub(crate) ids: Vec<MessageId>,
    /// Announceable messages under consideration, kept for its memory.
    pub(crate) announced: Vec<(TopicIndex, MessageId)>,
}

/// How much a router holds now, for metrics and for tests of its bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Connected peers.
    pub peers: usize,
    /// Known topics.
    pub topics: usize,
    /// Messages that await a verdict.
    pub pending: usize,
    /// Their payload bytes.
    pub pending_bytes: usize,
    /// Messages in the message cache.
    pub mcache: usize,
    /// Bytes of the message cache.
    pub mcache_bytes: usize,
    /// Promises that are not due yet.
    pub promises: usize,
    /// Messages that were asked for and have not come.
    pub asked: usize,
    /// Ids that peers do not want.
    pub dont_want: usize,
    /// Peers that have left and whose standing is kept.
    pub retained: usize,
}

impl<H: Clone> Router<H> {
    /// A router without peers and topics. All chance comes from `rng`.
    ///
    /// # Errors
    /// [`ConfigError`] if the parameters contradict each other.
    pub fn new(config: Config, rng: Rng) -> Result<Self, ConfigError> {
        // From a copy, so that what the router draws does not depend on this.
        let mut dice = rng.clone();
        let ids = Set::with_secret(config.limits.seen_max, std::array::from_fn(|_| dice.next_u64()));
        Self::with_seen(config, rng, Seen::alone(ids))
    }

    /// The same with a set of seen ids that others use as well, for marks other than [`SEEN_MARKS`](crate::SEEN_MARKS); one of them
    /// forgets old ids, and its size is theirs to choose.
    ///
    /// # Errors
    /// [`ConfigError`] if the parameters contradict each other.
    pub fn sharing(config: Config, rng: Rng, ids: Arc<Set>) -> Result<Self, ConfigError> {
        Self::with_seen(config, rng, Seen::shared(ids))
    }

    fn with_seen(config: Config, rng: Rng, seen: Seen) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            rng,
            peers: Peers::default(),
            topics: Topics::default(),
            seen,
            pending: Pending::default(),
            mcache: Mcache::default(),
            promises: Promises::default(),
            retained: RetainedPeers::default(),
            counters: Counters::default(),
            heartbeats: 0,
            next_decay: None,
            chosen: Vec::new(),
            ids: Vec::new(),
            announced: Vec::new(),
        })
    }

    /// A peer has connected and its protocol is known. It is told the joined topics.
    ///
    /// # Errors
    /// [`ConnectError`]; the connection should then be closed.
    pub fn connected(&mut self, info: PeerInfo, out: &mut Actions<H>) -> Result<PeerIndex, ConnectError> {
        if self.peers.find(&info.key).is_some() {
            return Err(ConnectError::Connected);
        }
        let peers_max = self.config.limits.peers_max;
        if self.peers.len() >= peers_max {
            return Err(ConnectError::Full { peers_max });
        }
        let index = self.peers.insert(info, self.retained.take(&info.key), peers_max)?;
        self.refresh_score(index);
        for slot in 0..self.topics.places() {
            if let Some(topic) = self.topics.index_at(slot).filter(|topic| self.topics.joined(*topic).is_some())
                && let Some(to) = out.add_peers([index])
            {
                out.push(Action::Announce { topic, joined: true, to });
            }
        }
        Ok(index)
    }

    /// The connection to a peer is gone. Its score and backoffs are kept for a while. A peer that has left already is no error.
    pub fn disconnected(&mut self, index: PeerIndex, now: Moment) {
        let Some(peer) = self.peers.get_mut(index) else { return };
        for topic in std::mem::take(&mut peer.topics) {
            self.remove_from_topic(topic, index, now);
        }
        self.refresh_score(index);
        let Some(mut peer) = self.peers.remove(index) else { return };
        peer.standing.score.retire(&self.config.score, &self.topics);
        self.retained.depart(index, peer.info.key);
        let until = now.after(self.config.score.retain);
        self.retained.insert(peer.info.key, peer.standing, until, self.config.limits.retained_max);
    }

    /// The connected peer with this key.
    pub fn find_peer(&self, key: &PeerKey) -> Option<PeerIndex> {
        self.peers.find(key)
    }

    /// What is known of a connected peer.
    pub fn peer(&self, index: PeerIndex) -> Option<&PeerInfo> {
        self.peers.get(index).map(|peer| &peer.info)
    }

    /// The peer's score as of the last heartbeat or, if that was later, its last fault.
    pub fn score(&self, index: PeerIndex) -> Option<f64> {
        self.peers.get(index).map(|peer| peer.score())
    }

    /// Sets the application's part of a peer's score (P5).
    pub fn set_app_score(&mut self, index: PeerIndex, score: f64) {
        if let Some(peer) = self.peers.get_mut(index) {
            peer.standing.score.set_app(score);
            self.refresh_score(index);
        }
    }

    /// Adds misbehaviour that only the caller can see (P7), as a frame that does not parse or a send queue that ran full.
    pub fn penalise(&mut self, index: PeerIndex, amount: f64) {
        if let Some(peer) = self.peers.get_mut(index) {
            peer.standing.score.penalise(amount.max(0.0));
            self.refresh_score(index);
        }
    }

    /// Whether anything that the peer sends is heard: it is connected, and direct or not graylisted.
    pub fn accepts(&self, index: PeerIndex) -> bool {
        let graylist = self.config.thresholds.graylist;
        self.peers.get(index).is_some_and(|peer| peer.info.direct || peer.score() >= graylist)
    }

    /// Whether peers offered with a PRUNE by this peer may be dialled. The router itself neither offers nor takes any.
    pub fn accepts_px(&self, index: PeerIndex) -> bool {
        self.score(index).is_some_and(|score| score >= self.config.thresholds.accept_px)
    }

    /// [`Router::accepts`], counted if not.
    pub(crate) fn hears(&mut self, index: PeerIndex) -> bool {
        if self.accepts(index) {
            return true;
        }
        match self.peers.get(index) {
            Some(_) => self.counters.refused_graylisted += 1,
            None => self.counters.refused_unknown_peer += 1,
        }
        false
    }

    /// Blames a peer by its index, whether it is still connected, has left, or has left and come back: leaving before the verdict
    /// is no way out.
    pub(crate) fn blame(&mut self, index: PeerIndex, now: Moment, fault: impl FnOnce(&mut PeerScore)) {
        if let Some(peer) = self.peers.get_mut(index) {
            fault(&mut peer.standing.score);
            self.refresh_score(index);
            return;
        }
        let Some(key) = self.retained.key_of(index) else { return };
        match self.peers.find(&key) {
            Some(present) => self.blame(present, now, fault),
            None => {
                let mut standing = self.retained.take(&key);
                fault(&mut standing.score);
                standing.score.refresh(&self.config.score, &self.topics, 0);
                let until = now.after(self.config.score.retain);
                self.retained.insert(key, standing, until, self.config.limits.retained_max);
            }
        }
    }

    pub(crate) fn refresh_score(&mut self, index: PeerIndex) {
        let Some(ip) = self.peers.get(index).map(|peer| peer.info.ip) else { return };
        let is_exempt = ip.is_some_and(|ip| self.config.score.ip_colocation_exempt.contains(&ip));
        let neighbours = if is_exempt { 0 } else { self.peers.neighbours(ip) };
        if let Some(peer) = self.peers.get_mut(index) {
            peer.standing.score.refresh(&self.config.score, &self.topics, neighbours);
        }
    }

    /// The index of a topic by its name on the wire; none if nobody is in it, and control messages about it are then ignored.
    pub fn topic(&self, name: &str) -> Option<TopicIndex> {
        self.topics.find(name)
    }

    /// The name of a topic; none if it was forgotten.
    pub fn topic_name(&self, topic: TopicIndex) -> Option<&str> {
        self.topics.name(topic)
    }

    /// Whether this node has joined the topic.
    pub fn is_joined(&self, topic: TopicIndex) -> bool {
        self.topics.joined(topic).is_some()
    }

    /// The peers in the mesh of a topic.
    pub fn mesh(&self, topic: TopicIndex) -> &[PeerIndex] {
        self.topics.get(topic).map_or(&[], |topic| &topic.mesh)
    }

    /// The peers that full messages on a topic go to while it is not joined.
    pub fn fanout(&self, topic: TopicIndex) -> &[PeerIndex] {
        self.topics.get(topic).and_then(|topic| topic.fanout.as_ref()).map_or(&[], |fanout| &fanout.peers)
    }

    /// The connected peers that have subscribed to a topic.
    pub fn subscribers(&self, topic: TopicIndex) -> impl Iterator<Item = PeerIndex> {
        self.topics.get(topic).into_iter().flat_map(|topic| topic.gossipers.iter().chain(&topic.always)).copied()
    }

    /// Bytes of the largest message that fits a frame on a topic.
    pub fn message_bytes_max(&self, topic: TopicIndex) -> u32 {
        let name = self.topics.name(topic).unwrap_or_default();
        size::message_bytes_max(self.config.limits.rpc_bytes_max, name.len())
    }

    /// Lets the oldest messages of the message cache go until it holds at most `bytes`: for a caller whose arena is nearly full.
    /// They are no longer announced or answered.
    pub fn shrink_mcache(&mut self, bytes: usize) {
        self.counters.mcache_evicted += self.mcache.shrink_to(bytes) as u64;
    }

    /// The totals since the router was made.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How much is held now.
    pub fn usage(&self) -> Usage {
        let (pending, pending_bytes) = self.pending.size();
        let (mcache, mcache_bytes) = self.mcache.size();
        let (promises, asked) = self.promises.size();
        let dont_want = |index| self.peers.get(index).map_or(0, |peer| peer.dont_want.len());
        Usage {
            peers: self.peers.len(),
            topics: self.topics.len(),
            pending,
            pending_bytes,
            mcache,
            mcache_bytes,
            promises,
            asked,
            dont_want: self.peers.indices().map(dont_want).sum(),
            retained: self.retained.len(),
        }
    }
}
