//! Random events of random peers: whatever comes, the router's lists agree with each other and nothing leaks.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use levada_router::{
    Action, Actions, Config, Incoming, Limits, Message, MessageId, Moment, PeerIndex, PeerInfo, Protocol, Rng, Router,
    Verdict,
};

use crate::fixture::id;

const EVENTS: usize = 20_000;
const TOPICS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const PROTOCOLS: [Protocol; 5] =
    [Protocol::Floodsub, Protocol::Gossipsub10, Protocol::Gossipsub11, Protocol::Gossipsub12, Protocol::Waku];

struct Chaos {
    router: Router<Rc<()>>,
    out: Actions<Rc<()>>,
    rng: Rng,
    now: Moment,
    payload: Rc<()>,
    /// Everybody who ever connected, so that indices of the departed are used too.
    peers: Vec<PeerIndex>,
}

fn limits() -> Limits {
    Limits {
        peers_max: 24,
        topics_max: 6,
        joined_max: 3,
        topics_per_peer_max: 3,
        pending_max: 20,
        seen_max: 200,
        mcache_bytes_max: 20_000,
        retained_max: 10,
        asked_max: 50,
        ..Limits::default()
    }
}

impl Chaos {
    fn new(seed: u64) -> Self {
        let mut config = Config { limits: limits(), flood_publish: seed.is_multiple_of(2), ..Config::default() };
        config.thresholds.opportunistic_graft = 1.0;
        config.mesh.opportunistic_heartbeats = 3;
        let router = Router::new(config, Rng::new(seed)).unwrap();
        let (payload, now) = (Rc::new(()), Moment::ZERO);
        Self { router, out: Actions::new(), rng: Rng::new(!seed), now, payload, peers: Vec::new() }
    }

    /// Mostly somebody who is connected, at times somebody who has left.
    fn any_peer(&mut self) -> Option<PeerIndex> {
        if self.rng.below(10) > 0 {
            let connected: Vec<_> = self.peers.iter().filter(|peer| self.router.peer(**peer).is_some()).collect();
            return connected.get(self.rng.below(connected.len())).map(|peer| **peer);
        }
        self.peers.get(self.rng.below(self.peers.len())).copied()
    }

    fn any_ids(&mut self) -> Vec<MessageId> {
        (0..self.rng.below(20)).map(|_| id(self.rng.below(400) as u32)).collect()
    }

    fn connect(&mut self) {
        let info = PeerInfo {
            key: [self.rng.below(40) as u8; 32],
            protocol: PROTOCOLS[self.rng.below(PROTOCOLS.len())],
            direct: self.rng.below(10) == 0,
            outbound: self.rng.below(2) == 0,
            ip: Some(IpAddr::from([10, 0, 0, self.rng.below(8) as u8])),
        };
        if let Ok(peer) = self.router.connected(info, &mut self.out) {
            self.peers.push(peer);
        }
    }

    fn own_event(&mut self) {
        let name = TOPICS[self.rng.below(TOPICS.len())];
        match self.rng.below(8) {
            0 => _ = self.router.join(name, self.now, &mut self.out),
            1 if self.rng.below(4) == 0 => {
                if let Some(topic) = self.router.topic(name) {
                    self.router.leave(topic, self.now, &mut self.out);
                }
            }
            2 => {
                self.now = self.now.after(Duration::from_millis(1_000));
                self.router.heartbeat(self.now, &mut self.out);
            }
            3 | 4 => {
                if let Some(topic) = self.router.topic(name) {
                    let bytes = self.rng.below(3_000) as u32;
                    let message =
                        Message { id: id(self.rng.below(400) as u32), topic, bytes, handle: self.payload.clone() };
                    let _ = self.router.publish(message, self.now, &mut self.out);
                }
            }
            _ => {
                let verdict = [Verdict::Accept, Verdict::Accept, Verdict::Reject, Verdict::Ignore][self.rng.below(4)];
                self.router.verdict(&id(self.rng.below(400) as u32), verdict, self.now, &mut self.out);
            }
        }
    }

    fn peer_event(&mut self, peer: PeerIndex) {
        let name = TOPICS[self.rng.below(TOPICS.len())];
        let list = self.any_ids();
        let ids = list.iter().map(|id| &id[..]);
        let (router, now, out) = (&mut self.router, self.now, &mut self.out);
        let topic = router.topic(name);
        match (self.rng.below(40), topic) {
            (0, _) => router.disconnected(peer, now),
            (1..=5, _) => _ = router.subscription(peer, name, true, now, out),
            (6, _) => _ = router.subscription(peer, name, false, now, out),
            (7..=9, Some(topic)) => router.graft(peer, topic, now, out),
            (10, Some(topic)) => router.prune(peer, topic, Some(self.rng.below(90) as u64), now),
            (11 | 12, Some(topic)) => router.ihave(peer, topic, ids, now, out),
            (13 | 14, _) => router.iwant(peer, ids, out),
            (15..=18, _) => router.idontwant(peer, ids, out),
            (_, Some(topic)) => {
                let number = self.rng.below(400) as u32;
                let anonymous = self.rng.below(50) != 0;
                let incoming =
                    Incoming { id: id(number), topic, bytes: number * 9, anonymous, handle: self.payload.clone() };
                router.received(peer, incoming, now, out);
            }
            _ => {}
        }
    }

    fn check(&self, context: &str) {
        let usage = self.router.usage();
        let limits = limits();
        assert_eq!(Rc::strong_count(&self.payload), 1 + usage.pending + usage.mcache, "{context}: {usage:?}");
        assert!(usage.peers <= limits.peers_max && usage.topics <= limits.topics_max, "{context}: {usage:?}");
        assert!(usage.pending <= limits.pending_max, "{context}: {usage:?}");
        assert!(usage.mcache_bytes <= limits.mcache_bytes_max, "{context}: {usage:?}");
        assert!(usage.retained <= limits.retained_max && usage.asked <= limits.asked_max, "{context}: {usage:?}");
        for topic in TOPICS.iter().filter_map(|name| self.router.topic(name)) {
            let subscribers: Vec<PeerIndex> = self.router.subscribers(topic).collect();
            let (mesh, fanout) = (self.router.mesh(topic), self.router.fanout(topic));
            assert!(mesh.is_empty() || self.router.is_joined(topic), "{context}: a mesh without membership");
            assert!(fanout.is_empty() || !self.router.is_joined(topic), "{context}: a fanout beside a mesh");
            for list in [mesh, fanout] {
                for (place, peer) in list.iter().enumerate() {
                    let info = self.router.peer(*peer).unwrap_or_else(|| panic!("{context}: a departed peer"));
                    assert!(!info.direct && info.protocol != Protocol::Floodsub, "{context}: {info:?}");
                    assert!(subscribers.contains(peer) && !list[..place].contains(peer), "{context}: {list:?}");
                }
            }
        }
    }

    /// Every peer that an action names is connected, and named once.
    fn check_actions(&self, context: &str) {
        for action in &self.out {
            let to = match action {
                Action::Send { to, .. } | Action::Announce { to, .. } => self.out.peers(*to),
                Action::IHave { to, .. } | Action::IDontWant { to, .. } => self.out.peers(*to),
                Action::Graft { to, .. } | Action::Prune { to, .. } => std::slice::from_ref(to),
                Action::IWant { to, .. } | Action::Cancel { to, .. } => std::slice::from_ref(to),
                Action::Disconnect { peer } => std::slice::from_ref(peer),
                other => panic!("{context}: {other:?}"),
            };
            assert!(!to.is_empty(), "{context}: an action for nobody");
            for (place, peer) in to.iter().enumerate() {
                assert!(self.router.peer(*peer).is_some(), "{context}: {action:?} names a departed peer");
                assert!(!to[..place].contains(peer), "{context}: {action:?} names a peer twice");
            }
        }
    }
}

#[test]
fn whatever_comes_the_state_stays_sound() {
    for seed in 1..=3 {
        let mut chaos = Chaos::new(seed);
        for event in 0..EVENTS {
            match chaos.rng.below(10) {
                0 => chaos.connect(),
                1..=3 => chaos.own_event(),
                _ => {
                    if let Some(peer) = chaos.any_peer() {
                        chaos.peer_event(peer);
                    }
                }
            }
            let context = format!("seed {seed}, event {event}");
            chaos.check_actions(&context);
            chaos.out.clear();
            chaos.check(&context);
        }
        let counters = chaos.router.counters();
        let reached = [
            counters.messages_accepted,
            counters.messages_rejected,
            counters.messages_published,
            counters.grafts_in_backoff,
            counters.iwant_answered,
            counters.promises_broken,
            counters.idontwant_saved,
            counters.mcache_evicted,
            counters.subscriptions_refused,
        ];
        assert!(reached.iter().all(|count| *count > 0), "seed {seed} misses a path: {counters:?}");
    }
}
