//! Relaying allocates nothing once the tables have grown. Alone in its file: other tests allocate.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::System;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use levada_engine::heap::{CountingAllocator, allocations_total};
use levada_router::{
    Actions, Config, Incoming, Moment, PeerIndex, PeerInfo, Protocol, Received, Rng, Router, TopicIndex, Verdict,
};

#[global_allocator]
static HEAP: CountingAllocator<System> = CountingAllocator(System);

const PEERS: u8 = 20;
const MESSAGES_PER_SECOND: u64 = 500;

struct Relay {
    router: Router<Rc<()>>,
    out: Actions<Rc<()>>,
    peers: Vec<PeerIndex>,
    topic: TopicIndex,
    payload: Rc<()>,
    next: u64,
}

impl Relay {
    fn new() -> Self {
        let mut config = Config::default();
        // Small enough that both are full and turn over when the count begins.
        config.limits.seen_max = 4_096;
        config.limits.mcache_bytes_max = 1_000_000;
        let mut router = Router::new(config, Rng::new(1)).unwrap();
        let mut out = Actions::new();
        let (topic, _) = router.join("/waku/2/rs/1/0", Moment::ZERO, &mut out).unwrap();
        let connect = |number: u8| {
            let info = PeerInfo {
                key: [number; 32],
                protocol: Protocol::Waku,
                direct: number == 0,
                outbound: number.is_multiple_of(2),
                ip: Some(IpAddr::from([10, 0, 0, number])),
            };
            let peer = router.connected(info, &mut out).unwrap();
            router.subscription(peer, "/waku/2/rs/1/0", true, Moment::ZERO, &mut out);
            peer
        };
        let peers = (0..PEERS).map(connect).collect();
        Self { router, out, peers, topic, payload: Rc::new(()), next: 0 }
    }

    /// One message from three peers, declined by a fourth, accepted and forwarded.
    fn relay(&mut self) {
        let Self { router, out, peers, topic, payload, next } = self;
        *next += 1;
        let now = Moment::from_nanos(*next * 1_000_000_000 / MESSAGES_PER_SECOND);
        let mut id = [0; 32];
        id[..8].copy_from_slice(&next.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        let place = *next as usize;
        for copy in 0..3 {
            let from = peers[(place + copy) % peers.len()];
            let incoming = Incoming { id, topic: *topic, bytes: 1_000, anonymous: true, handle: payload.clone() };
            let expected = if copy == 0 { Received::New } else { Received::Duplicate };
            assert_eq!(router.received(from, incoming, now, out), expected);
        }
        router.idontwant(peers[(place + 3) % peers.len()], [&id[..]], out);
        assert!(router.verdict(&id, Verdict::Accept, now, out));
        assert!(!out.is_empty());
        out.clear();
    }

    fn second(&mut self) {
        (0..MESSAGES_PER_SECOND).for_each(|_| self.relay());
    }

    fn heartbeat(&mut self) {
        let now = Moment::from_nanos(self.next * 1_000_000_000 / MESSAGES_PER_SECOND);
        self.router.heartbeat(now.after(Duration::from_nanos(1)), &mut self.out);
        self.out.clear();
    }
}

#[test]
fn a_relayed_message_allocates_nothing() {
    let before = allocations_total();
    let mut relay = Relay::new();
    assert!(allocations_total() > before, "the counter counts");
    for _ in 0..60 {
        relay.second();
        relay.heartbeat();
    }
    // The test harness allocates in threads of its own: once in a few attempts it does not.
    let counts = (0..20).map(|_| {
        let before = allocations_total();
        relay.second();
        let count = allocations_total() - before;
        relay.heartbeat();
        count
    });
    assert_eq!(counts.min(), Some(0), "in a second of {MESSAGES_PER_SECOND} messages");
    assert!(relay.router.counters().mcache_evicted > 0);
    assert!(relay.router.counters().idontwant_saved > 0);
}
