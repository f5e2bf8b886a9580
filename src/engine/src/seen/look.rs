//! Looking at keys without inserting any.

use std::sync::atomic::Ordering::Relaxed;

use super::bucket::{Bucket, Found, Place};
use super::{Set, words};

impl Set {
    /// The marks of `key`, if the set remembers it.
    pub fn get(&self, key: &[u8; 32]) -> Option<u8> {
        self.find(key).map(|(_, place)| place.word.marks())
    }

    /// Adds `marks` to those of `key`, and gives those it had; none, and nothing is changed, if the set does not remember it.
    pub fn mark(&self, key: &[u8; 32], marks: u8) -> Option<u8> {
        loop {
            let (bucket, place) = self.find(key)?;
            if bucket.mark(place, marks) {
                return Some(place.word.marks());
            }
        }
    }

    fn find(&self, key: &[u8; 32]) -> Option<(&Bucket, Place)> {
        let key = words(key);
        let hash = self.secret.hash(&key);
        let bucket = &self.buckets[(hash >> 32) as usize & (self.buckets.len() - 1)];
        let horizon = self.horizon.load(Relaxed);
        match bucket.find(hash as u8, |position| position >= horizon && self.log.holds(position, &key)) {
            Found::Here(place) => Some((bucket, place)),
            Found::Nowhere { .. } => None,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::seen::{Set, Sight};

    #[test]
    fn marks_are_seen_and_added_and_nothing_is_inserted() {
        let (set, [known, unknown]) = (Set::new(256), [[1; 32], [2; 32]]);
        assert_eq!(set.insert(&known, 1), Sight::New);
        assert_eq!((set.get(&known), set.get(&unknown)), (Some(1), None));
        assert_eq!((set.mark(&known, 6), set.mark(&unknown, 6)), (Some(1), None));
        assert_eq!((set.get(&known), set.get(&unknown)), (Some(7), None));
        set.rotate();
        set.rotate();
        assert_eq!((set.get(&known), set.mark(&known, 8)), (None, None));
        assert_eq!(set.insert(&unknown, 0), Sight::New, "looking had not made it known");
    }
}
