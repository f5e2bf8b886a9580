//! What is remembered of peers that have left, so that a reconnect washes nothing off.

use std::collections::{HashMap, VecDeque};

use crate::index::{PeerIndex, PeerKey};
use crate::peer::Standing;
use crate::time::Moment;

/// Peers that left last and whose messages may still be judged. A verdict takes milliseconds, so this is long for any churn.
const DEPARTED_MAX: usize = 1_024;

struct Retained {
    standing: Standing,
    until: Moment,
}

/// The standing of peers that have left.
///
/// Memory: at most [`crate::Limits::retained_max`] entries of about 250 bytes, with at most 16 topics of 72 bytes and a backoff of
/// 16 bytes per joined topic each: 6 MB with the defaults and a few topics; and 48 kB of departed peers.
#[derive(Default)]
pub(crate) struct RetainedPeers {
    peers: HashMap<PeerKey, Retained>,
    departed: VecDeque<(PeerIndex, PeerKey)>,
}

impl RetainedPeers {
    /// Remembers a peer. When there is no room, the entry with the best score goes: bad ones are what this is for.
    pub(crate) fn insert(&mut self, key: PeerKey, standing: Standing, until: Moment, retained_max: usize) {
        if standing.score.is_blank() && standing.backoffs.is_empty() {
            return;
        }
        self.peers.insert(key, Retained { standing, until });
        if self.peers.len() > retained_max {
            // Ties are broken by key, so that a run can be repeated.
            let score = |(key, retained): &(&PeerKey, &Retained)| (retained.standing.score.value(), **key);
            let best = self.peers.iter().max_by(|a, b| {
                let ((a_score, a_key), (b_score, b_key)) = (score(a), score(b));
                a_score.total_cmp(&b_score).then(a_key.cmp(&b_key))
            });
            if let Some(key) = best.map(|(key, _)| *key) {
                self.peers.remove(&key);
            }
        }
    }

    /// Remembers who the index stood for.
    pub(crate) fn depart(&mut self, index: PeerIndex, key: PeerKey) {
        if self.departed.len() >= DEPARTED_MAX {
            self.departed.pop_front();
        }
        self.departed.push_back((index, key));
    }

    /// Who the index stood for, if that peer is among the last that left.
    pub(crate) fn key_of(&self, index: PeerIndex) -> Option<PeerKey> {
        self.departed.iter().rev().find(|(departed, _)| *departed == index).map(|(_, key)| *key)
    }

    /// The peer has come back.
    pub(crate) fn take(&mut self, key: &PeerKey) -> Standing {
        self.peers.remove(key).map_or_else(Standing::default, |retained| retained.standing)
    }

    pub(crate) fn expire(&mut self, now: Moment) {
        self.peers.retain(|_, retained| retained.until > now);
    }

    pub(crate) fn len(&self) -> usize {
        self.peers.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::topics::Topics;

    fn standing(behaviour: f64) -> Standing {
        let mut standing = Standing::default();
        standing.score.penalise(behaviour);
        standing.score.refresh(&Config::default().score, &Topics::default(), 1);
        standing
    }

    #[test]
    fn a_blank_standing_is_not_kept_and_a_bad_one_is() {
        let mut retained = RetainedPeers::default();
        retained.insert([1; 32], Standing::default(), Moment::from_nanos(10), 4);
        assert_eq!(retained.len(), 0);
        retained.insert([2; 32], standing(2.0), Moment::from_nanos(10), 4);
        retained.expire(Moment::from_nanos(9));
        assert_eq!(retained.take(&[2; 32]).score.value(), -40.0);
        assert_eq!(retained.take(&[2; 32]).score.value(), 0.0);
        retained.insert([2; 32], standing(2.0), Moment::from_nanos(10), 4);
        retained.expire(Moment::from_nanos(10));
        assert_eq!(retained.len(), 0);
    }

    #[test]
    fn the_last_that_left_are_known_by_their_old_index() {
        let index = |slot| PeerIndex { slot, generation: 3 };
        let mut retained = RetainedPeers::default();
        (0..=DEPARTED_MAX as u32).for_each(|slot| retained.depart(index(slot), [slot as u8; 32]));
        assert_eq!(retained.departed.len(), DEPARTED_MAX);
        assert_eq!((retained.key_of(index(0)), retained.key_of(index(1))), (None, Some([1; 32])));
    }

    #[test]
    fn a_crowd_of_mild_offenders_does_not_wash_off_a_bad_one() {
        let mut retained = RetainedPeers::default();
        retained.insert([0; 32], standing(9.0), Moment::from_nanos(10), 8);
        for number in 1..100 {
            retained.insert([number; 32], standing(1.0), Moment::from_nanos(10), 8);
        }
        assert_eq!(retained.len(), 8);
        assert_eq!(retained.take(&[0; 32]).score.value(), -810.0);
    }
}
