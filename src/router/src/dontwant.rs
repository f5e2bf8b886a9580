//! What a peer has said it does not want (gossipsub 1.2).

use std::collections::HashMap;

use crate::index::MessageId;

/// The IDONTWANTs of one peer.
///
/// Of an id its first eight bytes are kept. A peer that makes two ids begin alike loses messages of its own, nobody else's.
///
/// Memory: about 25 bytes an id. With the default limits a peer has at most 3 000, that is 75 kB.
#[derive(Clone, Debug, Default)]
pub(crate) struct DontWant {
    /// The heartbeat at which each was said last.
    ids: HashMap<u64, u32>,
    /// How many were said since the last heartbeat.
    recent: u32,
}

impl DontWant {
    /// Remembers the id until [`DontWant::expire`]; `false` if the peer has said too many since the last heartbeat.
    pub(crate) fn insert(&mut self, id: &MessageId, heartbeat: u32, ids_max: u32) -> bool {
        if self.recent >= ids_max {
            return false;
        }
        self.recent += 1;
        self.ids.insert(prefix(id), heartbeat);
        true
    }

    pub(crate) fn contains(&self, id: &MessageId) -> bool {
        !self.ids.is_empty() && self.ids.contains_key(&prefix(id))
    }

    /// The peer has asked for the message after all.
    pub(crate) fn remove(&mut self, id: &MessageId) {
        self.ids.remove(&prefix(id));
    }

    /// A heartbeat: forgets what was said `heartbeats` ago or earlier, and gives the peer a new allowance.
    pub(crate) fn expire(&mut self, heartbeat: u32, heartbeats: u32) {
        self.recent = 0;
        if !self.ids.is_empty() {
            self.ids.retain(|_, said| heartbeat.wrapping_sub(*said) < heartbeats);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }
}

fn prefix(id: &MessageId) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *id;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_limited_per_heartbeat_and_expire() {
        let mut dont_want = DontWant::default();
        assert!(dont_want.insert(&[1; 32], 0, 2) && dont_want.insert(&[2; 32], 0, 2));
        assert!(!dont_want.insert(&[3; 32], 0, 2));
        assert!(dont_want.contains(&[1; 32]) && !dont_want.contains(&[3; 32]));
        dont_want.expire(1, 3);
        assert!(dont_want.insert(&[3; 32], 1, 2));
        dont_want.expire(2, 3);
        assert_eq!(dont_want.len(), 3);
        dont_want.expire(3, 3);
        assert!(!dont_want.contains(&[1; 32]) && dont_want.contains(&[3; 32]));
        dont_want.remove(&[3; 32]);
        assert_eq!(dont_want.len(), 0);
    }
}
