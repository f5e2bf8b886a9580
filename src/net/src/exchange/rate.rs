//! Rate limits as nwaku's `--rate-limit` has them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use libp2p::PeerId;

/// Peers whose requests are counted apart at one time; of more, any one begins anew.
const PEERS_MAX: usize = 16_384;

/// How many requests are answered in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests in a period.
    pub requests: u32,
    /// The period.
    pub period: Duration,
    /// Whose requests count together.
    pub scope: RateScope,
}

/// Whose requests count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateScope {
    /// Those of one peer, as nwaku's for filter.
    Peer,
    /// Those of all peers, of which one peer gets three quarters at most, as nwaku's for every other service. Both are counted over several
    /// periods: ten up to a second, three up to a minute, else two.
    Everybody,
}

impl RateLimit {
    fn periods(&self) -> u32 {
        match (self.scope, self.period) {
            (RateScope::Peer, _) => 1,
            (_, period) if period <= Duration::from_secs(1) => 10,
            (_, period) if period <= Duration::from_secs(60) => 3,
            _ => 2,
        }
    }

    /// What one peer gets, and in which time.
    fn per_peer(&self) -> (f64, Duration) {
        let (requests, periods) = (f64::from(self.requests), self.periods());
        let share = match self.scope {
            RateScope::Peer => requests,
            RateScope::Everybody => (requests * f64::from(periods) * 0.75).trunc(),
        };
        (share, self.period * periods)
    }
}

/// Counts requests against a limit.
#[derive(Debug)]
pub(super) struct RateLimiter {
    limit: RateLimit,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    peers: HashMap<PeerId, Window>,
    everybody: Option<Everybody>,
}

/// One peer's requests, all of which come back when the time is over.
#[derive(Debug, Clone, Copy)]
struct Window {
    left: f64,
    since: Instant,
}

/// All peers' requests, which come back evenly.
#[derive(Debug, Clone, Copy)]
struct Everybody {
    left: f64,
    at: Instant,
}

impl RateLimiter {
    pub(super) fn new(limit: RateLimit) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// Whether a request of `peer` is within the limit; it counts if it is.
    pub(super) fn admit(&self, peer: PeerId, now: Instant) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.admit_peer(peer, self.limit.per_peer(), now)
            && (self.limit.scope == RateScope::Peer || state.admit_anybody(&self.limit, now))
    }
}

impl State {
    fn admit_peer(&mut self, peer: PeerId, (requests, time): (f64, Duration), now: Instant) -> bool {
        if self.peers.len() >= PEERS_MAX && !self.peers.contains_key(&peer) {
            self.make_room(time, now);
        }
        let window = self.peers.entry(peer).or_insert(Window { left: requests, since: now });
        if now.duration_since(window.since) >= time {
            *window = Window { left: requests, since: now };
        }
        take(&mut window.left)
    }

    /// Forgets peers whose time is over, or else any one.
    fn make_room(&mut self, time: Duration, now: Instant) {
        self.peers.retain(|_, window| now.duration_since(window.since) < time);
        if self.peers.len() >= PEERS_MAX
            && let Some(any) = self.peers.keys().next().copied()
        {
            self.peers.remove(&any);
        }
    }

    fn admit_anybody(&mut self, limit: &RateLimit, now: Instant) -> bool {
        let requests = f64::from(limit.requests);
        let everybody = self.everybody.get_or_insert(Everybody { left: requests, at: now });
        let periods = now.duration_since(everybody.at).as_secs_f64() / limit.period.as_secs_f64();
        let left = everybody.left + periods * requests;
        *everybody = Everybody { left: left.min(requests * f64::from(limit.periods())), at: now };
        take(&mut everybody.left)
    }
}

fn take(left: &mut f64) -> bool {
    let admitted = *left >= 1.0;
    *left -= f64::from(u8::from(admitted));
    admitted
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn admitted(limiter: &RateLimiter, peer: PeerId, now: Instant) -> usize {
        (0..1_000).take_while(|_| limiter.admit(peer, now)).count()
    }

    #[test]
    fn thirty_a_minute_for_each_peer() {
        let limiter = RateLimiter::new(RateLimit { requests: 30, period: MINUTE, scope: RateScope::Peer });
        let (now, [one, other]) = (Instant::now(), [PeerId::random(), PeerId::random()]);
        assert_eq!((admitted(&limiter, one, now), admitted(&limiter, other, now)), (30, 30));
        assert_eq!(admitted(&limiter, one, now + MINUTE - Duration::from_nanos(1)), 0);
        assert_eq!(admitted(&limiter, one, now + MINUTE), 30);
    }

    #[test]
    fn all_peers_share_and_one_gets_three_quarters_of_three_periods() {
        let limiter = RateLimiter::new(RateLimit { requests: 10, period: MINUTE, scope: RateScope::Everybody });
        let (now, [one, other]) = (Instant::now(), [PeerId::random(), PeerId::random()]);
        assert_eq!(admitted(&limiter, one, now), 10, "the first period starts with what it says");
        assert_eq!(admitted(&limiter, other, now), 0);
        assert_eq!(admitted(&limiter, other, now + MINUTE / 2), 5, "half a period later half of it is back");
        let rested = now + MINUTE * 100;
        assert_eq!(admitted(&limiter, one, rested), 22, "75 % of 3 x 10");
        assert_eq!(admitted(&limiter, other, rested), 8);
    }

    #[test]
    fn periods_that_count_together() {
        let of = |period| RateLimit { requests: 4, period, scope: RateScope::Everybody }.per_peer();
        assert_eq!(of(Duration::from_secs(1)), (30.0, Duration::from_secs(10)));
        assert_eq!(of(MINUTE), (9.0, MINUTE * 3));
        assert_eq!(of(MINUTE * 60), (6.0, MINUTE * 120));
    }

    #[test]
    fn many_peers_are_not_all_remembered() {
        let limiter = RateLimiter::new(RateLimit { requests: 1, period: MINUTE, scope: RateScope::Peer });
        let now = Instant::now();
        (0..PEERS_MAX + 10).for_each(|_| assert!(limiter.admit(PeerId::random(), now)));
        assert_eq!(limiter.state.lock().expect("no panic").peers.len(), PEERS_MAX);
        assert!(limiter.admit(PeerId::random(), now + MINUTE));
        assert_eq!(limiter.state.lock().expect("no panic").peers.len(), 1, "the others' time is over");
    }
}
