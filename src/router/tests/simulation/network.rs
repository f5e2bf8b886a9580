//! The simulated network: links with latency and loss, routers, and validators that take their time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::hash::{DefaultHasher, Hash};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use levada_router::{
    Action, Actions, Config, Incoming, Message, MessageId, Moment, PeerIndex, PeerInfo, Protocol, Rng, Router, Verdict,
};

pub const TOPIC: &str = "/waku/2/rs/1/0";
const HEARTBEAT: Duration = Duration::from_secs(1);

/// What travels over a link.
#[derive(Clone, Debug, Hash)]
pub enum Frame {
    Subscribe(Rc<str>, bool),
    Message { number: u32 },
    Graft(Rc<str>),
    Prune(Rc<str>, Option<u64>),
    IHave(Rc<str>, Rc<[MessageId]>),
    IWant(Rc<[MessageId]>),
    IDontWant(Rc<[MessageId]>),
}

impl Frame {
    /// Only what routers can do without is ever lost; control of the mesh travels on a reliable stream.
    fn may_be_lost(&self) -> bool {
        matches!(self, Self::Message { .. } | Self::IHave(..) | Self::IWant(_) | Self::IDontWant(_))
    }
}

#[derive(Debug)]
enum Event {
    Arrive { from: usize, to: usize, connection: u64, frame: Frame },
    Judge { node: usize, number: u32 },
    Heartbeat { node: usize },
}

/// A message of the simulation; its number is the routers' handle.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub bytes: u32,
    pub is_valid: bool,
}

/// An end of a link.
struct Link {
    peer: PeerIndex,
    connection: u64,
    latency: Duration,
    /// Frames keep their order.
    last_arrival: Moment,
}

pub struct Node {
    pub router: Router<u32>,
    /// Hostile nodes have a router only to be addressed by; what they say is written by the scenario, and what they are told is
    /// only counted.
    pub is_hostile: bool,
    pub told: u64,
    pub delivered: Vec<bool>,
    /// Messages that came again although they had come.
    pub copies: u64,
    links: BTreeMap<usize, Link>,
    remote: HashMap<PeerIndex, usize>,
}

pub struct Network {
    pub nodes: Vec<Node>,
    pub now: Moment,
    pub messages: Vec<Sent>,
    /// The share of frames that are lost.
    pub loss: f64,
    pub rng: Rng,
    pub trace: DefaultHasher,
    events: BinaryHeap<Reverse<(Moment, u64)>>,
    waiting: HashMap<u64, Event>,
    next_event: u64,
    next_connection: u64,
    out: Actions<u32>,
}

/// The id of a message: its number, and bytes that depend on nothing else.
pub fn id(number: u32) -> MessageId {
    let mut rng = Rng::new(number.into());
    let mut id = [0; 32];
    id.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&rng.next_u64().to_le_bytes()));
    id[28..].copy_from_slice(&number.to_le_bytes());
    id
}

impl Network {
    pub fn new(seed: u64, nodes: usize, change: impl Fn(usize, &mut Config)) -> Self {
        let mut network = Self {
            nodes: Vec::new(),
            now: Moment::ZERO.after(HEARTBEAT),
            messages: Vec::new(),
            loss: 0.0,
            rng: Rng::new(seed),
            trace: DefaultHasher::new(),
            events: BinaryHeap::new(),
            waiting: HashMap::new(),
            next_event: 0,
            next_connection: 0,
            out: Actions::new(),
        };
        for node in 0..nodes {
            let mut config = Config::default();
            // More than any run has messages, in a network of a hundred nodes.
            config.limits.seen_max = 16_384;
            change(node, &mut config);
            network.add(config, false);
        }
        network
    }

    pub fn add(&mut self, config: Config, is_hostile: bool) -> usize {
        let router = Router::new(config, Rng::new(self.rng.next_u64())).unwrap();
        let (links, remote) = (BTreeMap::new(), HashMap::new());
        let delivered = vec![false; self.messages.len()];
        self.nodes.push(Node { router, is_hostile, told: 0, delivered, copies: 0, links, remote });
        let node = self.nodes.len() - 1;
        if !is_hostile {
            let offset = self.chance(HEARTBEAT);
            self.schedule(self.now.after(offset), Event::Heartbeat { node });
        }
        node
    }

    /// A time below `bound`.
    pub fn chance(&mut self, bound: Duration) -> Duration {
        Duration::from_nanos(self.rng.below(bound.as_nanos() as usize) as u64)
    }

    fn schedule(&mut self, at: Moment, event: Event) {
        self.next_event += 1;
        self.events.push(Reverse((at, self.next_event)));
        self.waiting.insert(self.next_event, event);
    }

    pub fn join_all(&mut self) {
        for node in 0..self.nodes.len() {
            if !self.nodes[node].is_hostile {
                self.act(node, |router, now, out| {
                    router.join(TOPIC, now, out).unwrap();
                });
            }
        }
    }

    /// Gives every node some links that it has opened itself, to nodes chosen at random.
    pub fn connect_randomly(&mut self, links: usize) {
        let count = self.nodes.len();
        for node in 0..count {
            let mut others: Vec<usize> = (0..count).filter(|other| *other != node).collect();
            for other in self.rng.choose(&mut others, links).to_vec() {
                self.connect(node, other);
            }
        }
    }

    /// `dialler` opens a connection, if there is none.
    pub fn connect(&mut self, dialler: usize, listener: usize) {
        if dialler == listener || self.nodes[dialler].links.contains_key(&listener) {
            return;
        }
        self.next_connection += 1;
        let connection = self.next_connection;
        let latency = Duration::from_millis(2) + self.chance(Duration::from_millis(60));
        for (node, other, outbound) in [(dialler, listener, true), (listener, dialler, false)] {
            let [.., a, b] = (other as u32).to_be_bytes();
            let mut key = [0; 32];
            key[..8].copy_from_slice(&(other as u64).to_le_bytes());
            let info = PeerInfo {
                key,
                protocol: Protocol::Waku,
                direct: false,
                outbound,
                ip: Some(IpAddr::from([10, 0, a, b])),
            };
            let last_arrival = self.now;
            let mut out = std::mem::take(&mut self.out);
            let peer = self.nodes[node].router.connected(info, &mut out).unwrap();
            self.nodes[node].links.insert(other, Link { peer, connection, latency, last_arrival });
            self.nodes[node].remote.insert(peer, other);
            self.carry_out(node, out);
        }
    }

    pub fn disconnect(&mut self, a: usize, b: usize) {
        for (node, other) in [(a, b), (b, a)] {
            if let Some(link) = self.nodes[node].links.remove(&other) {
                self.nodes[node].remote.remove(&link.peer);
                self.nodes[node].router.disconnected(link.peer, self.now);
            }
        }
    }

    pub fn linked(&self, a: usize, b: usize) -> bool {
        self.nodes[a].links.contains_key(&b)
    }

    pub fn links(&self, node: usize) -> Vec<usize> {
        self.nodes[node].links.keys().copied().collect()
    }

    /// The index under which `node` knows `other`.
    pub fn peer(&self, node: usize, other: usize) -> Option<PeerIndex> {
        self.nodes[node].links.get(&other).map(|link| link.peer)
    }

    /// The other ends of a node's mesh.
    pub fn mesh(&self, node: usize) -> Vec<usize> {
        let node = &self.nodes[node];
        let Some(topic) = node.router.topic(TOPIC) else { return Vec::new() };
        node.router.mesh(topic).iter().filter_map(|peer| node.remote.get(peer).copied()).collect()
    }

    /// Lets a router do something and carries out what follows.
    pub fn act(&mut self, node: usize, event: impl FnOnce(&mut Router<u32>, Moment, &mut Actions<u32>)) {
        let mut out = std::mem::take(&mut self.out);
        event(&mut self.nodes[node].router, self.now, &mut out);
        self.carry_out(node, out);
    }

    fn carry_out(&mut self, node: usize, mut out: Actions<u32>) {
        for action in &out {
            let name = |topic| Rc::from(self.nodes[node].router.topic_name(topic).unwrap_or_default());
            let (frame, to) = match action {
                Action::Send { message, to, .. } => (Frame::Message { number: message.handle }, out.peers(*to)),
                Action::Announce { topic, joined, to } => (Frame::Subscribe(name(*topic), *joined), out.peers(*to)),
                Action::Graft { topic, to } => (Frame::Graft(name(*topic)), std::slice::from_ref(to)),
                Action::Prune { topic, backoff_s, to } => {
                    (Frame::Prune(name(*topic), *backoff_s), std::slice::from_ref(to))
                }
                Action::IHave { topic, ids, to } => (Frame::IHave(name(*topic), out.ids(*ids).into()), out.peers(*to)),
                Action::IWant { ids, to } => (Frame::IWant(out.ids(*ids).into()), std::slice::from_ref(to)),
                Action::IDontWant { id, to } => (Frame::IDontWant(Rc::new([*id])), out.peers(*to)),
                Action::Disconnect { peer } => {
                    if let Some(other) = self.nodes[node].remote.get(peer).copied() {
                        self.disconnect(node, other);
                    }
                    continue;
                }
                // Frames on their way cannot be called back.
                Action::Cancel { .. } => continue,
                other => panic!("an action that the simulation does not know: {other:?}"),
            };
            for peer in to {
                if let Some(other) = self.nodes[node].remote.get(peer).copied() {
                    self.send(node, other, frame.clone());
                }
            }
        }
        out.clear();
        self.out = out;
    }

    /// Puts a frame on the link from one node to another.
    pub fn send(&mut self, from: usize, to: usize, frame: Frame) {
        let is_lost = frame.may_be_lost() && (self.rng.below(1_000_000) as f64) < self.loss * 1e6;
        let jitter = self.chance(Duration::from_millis(3));
        let now = self.now;
        let Some(link) = self.nodes[from].links.get_mut(&to).filter(|_| !is_lost) else { return };
        let arrival = now.after(link.latency + jitter).max(link.last_arrival);
        link.last_arrival = arrival;
        let connection = link.connection;
        self.schedule(arrival, Event::Arrive { from, to, connection, frame });
    }

    /// A message for publishing or for sending by a hostile node.
    pub fn new_message(&mut self, bytes: u32, is_valid: bool) -> u32 {
        self.messages.push(Sent { bytes, is_valid });
        self.nodes.iter_mut().for_each(|node| node.delivered.push(false));
        (self.messages.len() - 1) as u32
    }

    /// A node publishes a valid message.
    pub fn publish(&mut self, node: usize, bytes: u32) -> u32 {
        let number = self.new_message(bytes, true);
        self.nodes[node].delivered[number as usize] = true;
        self.act(node, |router, now, out| {
            let topic = router.topic(TOPIC).unwrap();
            router.publish(Message { id: id(number), topic, bytes, handle: number }, now, out).unwrap();
        });
        number
    }

    pub fn run_for(&mut self, time: Duration) {
        let end = self.now.after(time);
        while let Some(Reverse((at, number))) = self.events.peek().copied().filter(|Reverse((at, _))| *at <= end) {
            self.events.pop();
            self.now = at;
            let event = self.waiting.remove(&number).expect("every number in the heap has its event");
            self.happen(event);
        }
        self.now = end;
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrive { from, to, connection, frame } => {
                let Some(link) = self.nodes[to].links.get(&from).filter(|link| link.connection == connection) else {
                    return;
                };
                let peer = link.peer;
                (self.now.nanos(), from, to, &frame).hash(&mut self.trace);
                if self.nodes[to].is_hostile {
                    self.nodes[to].told += 1;
                } else {
                    self.arrive(to, peer, frame);
                }
            }
            Event::Judge { node, number } => {
                let verdict = if self.messages[number as usize].is_valid { Verdict::Accept } else { Verdict::Reject };
                self.act(node, |router, now, out| _ = router.verdict(&id(number), verdict, now, out));
            }
            Event::Heartbeat { node } => {
                self.act(node, |router, now, out| router.heartbeat(now, out));
                self.schedule(self.now.after(HEARTBEAT), Event::Heartbeat { node });
            }
        }
    }

    fn arrive(&mut self, node: usize, peer: PeerIndex, frame: Frame) {
        let ids = |ids: &Rc<[MessageId]>| ids.clone();
        match frame {
            Frame::Message { number } => self.arrive_message(node, peer, number),
            Frame::Subscribe(topic, joined) => {
                self.act(node, |router, now, out| _ = router.subscription(peer, &topic, joined, now, out));
            }
            Frame::Graft(name) => self.act(node, |router, now, out| {
                if let Some(topic) = router.topic(&name) {
                    router.graft(peer, topic, now, out);
                }
            }),
            Frame::Prune(name, backoff_s) => self.act(node, |router, now, _| {
                if let Some(topic) = router.topic(&name) {
                    router.prune(peer, topic, backoff_s, now);
                }
            }),
            Frame::IHave(name, list) => self.act(node, |router, now, out| {
                if let Some(topic) = router.topic(&name) {
                    router.ihave(peer, topic, ids(&list).iter().map(|id| &id[..]), now, out);
                }
            }),
            Frame::IWant(list) => {
                self.act(node, |router, _, out| router.iwant(peer, list.iter().map(|id| &id[..]), out));
            }
            Frame::IDontWant(list) => {
                self.act(node, |router, _, out| router.idontwant(peer, list.iter().map(|id| &id[..]), out));
            }
        }
    }

    fn arrive_message(&mut self, node: usize, peer: PeerIndex, number: u32) {
        let bytes = self.messages[number as usize].bytes;
        let mut is_new = false;
        self.act(node, |router, now, out| {
            if let Some(topic) = router.topic(TOPIC) {
                let incoming = Incoming { id: id(number), topic, bytes, anonymous: true, handle: number };
                is_new = router.received(peer, incoming, now, out) == levada_router::Received::New;
            }
        });
        if is_new {
            self.nodes[node].delivered[number as usize] = true;
            let at = Duration::from_millis(1) + self.chance(Duration::from_millis(5));
            self.schedule(self.now.after(at), Event::Judge { node, number });
        } else {
            self.nodes[node].copies += 1;
        }
    }
}
