//! A router under test, with a clock and peers that do what the test says.

use std::net::IpAddr;
use std::time::Duration;

use levada_router::{
    Action, Actions, Config, Incoming, Message, MessageId, Moment, PeerIndex, PeerInfo, Protocol, PublishError, Reason,
    Received, Rng, Router, TopicIndex, Verdict,
};

pub const TOPIC: &str = "/waku/2/rs/1/0";

/// An action with its lists in it.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    Send { id: u32, reason: Reason, to: Vec<PeerIndex> },
    Announce { topic: String, joined: bool, to: Vec<PeerIndex> },
    Graft { to: PeerIndex },
    Prune { backoff_s: Option<u64>, to: PeerIndex },
    IHave { ids: Vec<u32>, to: Vec<PeerIndex> },
    IWant { ids: Vec<u32>, to: PeerIndex },
    IDontWant { id: u32, to: Vec<PeerIndex> },
    Cancel { id: u32, to: PeerIndex },
    Disconnect { peer: PeerIndex },
}

pub struct Node {
    pub router: Router<u32>,
    pub out: Actions<u32>,
    pub now: Moment,
    connected: u32,
}

/// The id of message `number`.
pub fn id(number: u32) -> MessageId {
    let mut id = [0; 32];
    id[..4].copy_from_slice(&number.to_le_bytes());
    id
}

fn number(id: &MessageId) -> u32 {
    u32::from_le_bytes([id[0], id[1], id[2], id[3]])
}

impl Node {
    /// A node with Waku's parameters that has joined [`TOPIC`].
    pub fn new() -> Self {
        Self::with(|_| ())
    }

    /// The same with changed parameters.
    pub fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut node = Self::outside(change);
        node.router.join(TOPIC, node.now, &mut node.out).unwrap();
        node.out.clear();
        node
    }

    /// A node that has joined nothing.
    pub fn outside(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::default();
        change(&mut config);
        let router = Router::new(config, Rng::new(42)).unwrap();
        Self { router, out: Actions::new(), now: Moment::ZERO.after(Duration::from_secs(1)), connected: 0 }
    }

    /// Connects a peer of the given kind, with an address of its own.
    pub fn connect(&mut self, change: impl FnOnce(&mut PeerInfo)) -> PeerIndex {
        self.connected += 1;
        let [.., a, b, c] = self.connected.to_be_bytes();
        let ip = Some(IpAddr::from([10, a, b, c]));
        let mut info =
            PeerInfo { key: id(self.connected), protocol: Protocol::Waku, direct: false, outbound: false, ip };
        change(&mut info);
        self.router.connected(info, &mut self.out).unwrap()
    }

    /// Connects a peer that subscribes to [`TOPIC`]; what the router does about it is not looked at.
    pub fn peer(&mut self) -> PeerIndex {
        self.peer_with(|_| ())
    }

    pub fn peer_with(&mut self, change: impl FnOnce(&mut PeerInfo)) -> PeerIndex {
        let peer = self.connect(change);
        self.subscribe(peer, TOPIC);
        self.out.clear();
        peer
    }

    pub fn peers(&mut self, count: usize) -> Vec<PeerIndex> {
        (0..count).map(|_| self.peer()).collect()
    }

    /// Peers that are in the mesh because they asked to be.
    pub fn mesh_peers(&mut self, count: usize) -> Vec<PeerIndex> {
        let peers = self.peers(count);
        for peer in &peers {
            self.graft(*peer);
        }
        assert!(peers.iter().all(|peer| self.in_mesh(*peer)));
        self.out.clear();
        peers
    }

    pub fn subscribe(&mut self, peer: PeerIndex, topic: &str) {
        self.router.subscription(peer, topic, true, self.now, &mut self.out);
    }

    pub fn topic(&self) -> TopicIndex {
        self.router.topic(TOPIC).unwrap()
    }

    pub fn graft(&mut self, peer: PeerIndex) {
        self.router.graft(peer, self.topic(), self.now, &mut self.out);
    }

    pub fn prune(&mut self, peer: PeerIndex, backoff_s: Option<u64>) {
        self.router.prune(peer, self.topic(), backoff_s, self.now);
    }

    pub fn mesh(&self) -> &[PeerIndex] {
        self.router.mesh(self.topic())
    }

    pub fn in_mesh(&self, peer: PeerIndex) -> bool {
        self.mesh().contains(&peer)
    }

    /// A message of 1 000 bytes.
    pub fn receive(&mut self, from: PeerIndex, message: u32) -> Received {
        self.receive_bytes(from, message, 1_000)
    }

    pub fn receive_bytes(&mut self, from: PeerIndex, message: u32, bytes: u32) -> Received {
        let topic = self.topic();
        let incoming = Incoming { id: id(message), topic, bytes, anonymous: true, handle: message };
        self.router.received(from, incoming, self.now, &mut self.out)
    }

    pub fn judge(&mut self, message: u32, verdict: Verdict) -> bool {
        self.router.verdict(&id(message), verdict, self.now, &mut self.out)
    }

    /// A message that comes and is accepted.
    pub fn relay(&mut self, from: PeerIndex, message: u32) {
        assert_eq!(self.receive(from, message), Received::New);
        assert!(self.judge(message, Verdict::Accept));
    }

    /// Messages that come and are rejected.
    pub fn spam(&mut self, from: PeerIndex, messages: std::ops::Range<u32>) {
        for message in messages {
            assert_eq!(self.receive(from, message), Received::New);
            assert!(self.judge(message, Verdict::Reject));
        }
    }

    pub fn publish(&mut self, message: u32) -> Result<(), PublishError> {
        let topic = self.router.topic(TOPIC).ok_or(PublishError::NoPeers)?;
        let message = Message { id: id(message), topic, bytes: 1_000, handle: message };
        self.router.publish(message, self.now, &mut self.out)
    }

    pub fn ihave(&mut self, from: PeerIndex, messages: impl IntoIterator<Item = u32>) {
        let ids: Vec<MessageId> = messages.into_iter().map(id).collect();
        self.router.ihave(from, self.topic(), ids.iter().map(|id| &id[..]), self.now, &mut self.out);
    }

    pub fn iwant(&mut self, from: PeerIndex, messages: impl IntoIterator<Item = u32>) {
        let ids: Vec<MessageId> = messages.into_iter().map(id).collect();
        self.router.iwant(from, ids.iter().map(|id| &id[..]), &mut self.out);
    }

    pub fn idontwant(&mut self, from: PeerIndex, messages: impl IntoIterator<Item = u32>) {
        let ids: Vec<MessageId> = messages.into_iter().map(id).collect();
        self.router.idontwant(from, ids.iter().map(|id| &id[..]), &mut self.out);
    }

    pub fn wait(&mut self, seconds: u64) {
        self.now = self.now.after(Duration::from_secs(seconds));
    }

    /// A second and a heartbeat.
    pub fn beat(&mut self) {
        self.wait(1);
        self.router.heartbeat(self.now, &mut self.out);
    }

    pub fn beats(&mut self, count: u32) {
        (0..count).for_each(|_| self.beat());
    }

    pub fn score(&self, peer: PeerIndex) -> f64 {
        self.router.score(peer).unwrap()
    }

    /// What the router wants done since the last look.
    pub fn said(&mut self) -> Vec<Said> {
        let out = &self.out;
        let name = |topic: &TopicIndex| self.router.topic_name(*topic).unwrap_or_default().to_owned();
        let said = out.iter().map(|action| match action {
            Action::Send { message, reason, to } => {
                Said::Send { id: number(&message.id), reason: *reason, to: out.peers(*to).to_vec() }
            }
            Action::Announce { topic, joined, to } => {
                Said::Announce { topic: name(topic), joined: *joined, to: out.peers(*to).to_vec() }
            }
            Action::Graft { to, .. } => Said::Graft { to: *to },
            Action::Prune { backoff_s, to, .. } => Said::Prune { backoff_s: *backoff_s, to: *to },
            Action::IHave { ids, to, .. } => {
                Said::IHave { ids: out.ids(*ids).iter().map(number).collect(), to: out.peers(*to).to_vec() }
            }
            Action::IWant { ids, to } => Said::IWant { ids: out.ids(*ids).iter().map(number).collect(), to: *to },
            Action::IDontWant { id, to } => Said::IDontWant { id: number(id), to: out.peers(*to).to_vec() },
            Action::Cancel { id, to } => Said::Cancel { id: number(id), to: *to },
            Action::Disconnect { peer } => Said::Disconnect { peer: *peer },
            other => panic!("an action that the tests do not know: {other:?}"),
        });
        let said = said.collect();
        self.out.clear();
        said
    }

    /// Whom a message was sent to since the last look, in the order of the peers.
    pub fn sent(&mut self, message: u32) -> Vec<PeerIndex> {
        let said = self.said().into_iter();
        let mut to: Vec<PeerIndex> = said
            .filter_map(|said| match said {
                Said::Send { id, to, .. } if id == message => Some(to),
                _ => None,
            })
            .flatten()
            .collect();
        to.sort_unstable();
        to
    }

    /// Who was announced messages since the last look, and which.
    pub fn announced(&mut self) -> Vec<(Vec<u32>, Vec<PeerIndex>)> {
        let said = self.said().into_iter();
        let ihaves = said.filter_map(|said| match said {
            Said::IHave { mut ids, mut to } => {
                ids.sort_unstable();
                to.sort_unstable();
                Some((ids, to))
            }
            _ => None,
        });
        ihaves.collect()
    }

    /// What was asked for since the last look.
    pub fn asked(&mut self) -> Vec<u32> {
        let said = self.said().into_iter();
        let mut ids: Vec<u32> = said
            .filter_map(|said| match said {
                Said::IWant { ids, .. } => Some(ids),
                _ => None,
            })
            .flatten()
            .collect();
        ids.sort_unstable();
        ids
    }

    pub fn pruned(&mut self) -> Vec<PeerIndex> {
        let said = self.said().into_iter();
        said.filter_map(|said| if let Said::Prune { to, .. } = said { Some(to) } else { None }).collect()
    }

    pub fn grafted(&mut self) -> Vec<PeerIndex> {
        let said = self.said().into_iter();
        said.filter_map(|said| if let Said::Graft { to } = said { Some(to) } else { None }).collect()
    }
}
