//! The stretch of the order (timestamp, hash) that a query walks.

use std::ops::Bound;

use crate::{Direction, Hash, Query};

/// A message's place in the order of messages everywhere in the archive: its timestamp, in nanoseconds since the Unix epoch, and
/// its hash.
pub type Key = (i64, Hash);

/// The keys from `start_ns` to `end_ns`, both included, that lie behind `after` and before `before`, both excluded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyRange {
    start_ns: i64,
    end_ns: i64,
    after: Option<Key>,
    before: Option<Key>,
}

impl KeyRange {
    /// The range of `query`, whose cursor stands at `cursor`.
    pub(crate) fn new(query: &Query, cursor: Option<Key>) -> Self {
        let (after, before) = match query.direction {
            Direction::Forward => (cursor, None),
            Direction::Backward => (None, cursor),
        };
        let (start_ns, end_ns) = (query.time_start.unwrap_or(i64::MIN), query.time_end.unwrap_or(i64::MAX));
        Self { start_ns, end_ns, after, before }
    }

    /// Whether the range holds `key`.
    pub(crate) fn contains(&self, key: &Key) -> bool {
        (self.start_ns..=self.end_ns).contains(&key.0)
            && self.after.is_none_or(|after| *key > after)
            && self.before.is_none_or(|before| *key < before)
    }

    /// The bounds for an ordered map, or nothing if no key can lie between them (which an ordered map answers by a panic).
    pub(crate) fn bounds(&self) -> Option<(Bound<Key>, Bound<Key>)> {
        let lower = self.after.filter(|key| key.0 >= self.start_ns);
        let upper = self.before.filter(|key| key.0 <= self.end_ns);
        let low = lower.unwrap_or((self.start_ns, [0; 32]));
        let high = upper.unwrap_or((self.end_ns, [0xff; 32]));
        let lower = if lower.is_some() { Bound::Excluded(low) } else { Bound::Included(low) };
        let upper = if upper.is_some() { Bound::Excluded(high) } else { Bound::Included(high) };
        (low < high || (low == high && lower == Bound::Included(low) && upper == Bound::Included(high)))
            .then_some((lower, upper))
    }

    /// The key that every key of the range exceeds. Its second part is empty, hence below any hash, where only time bounds the range.
    pub(crate) fn below(&self) -> (i64, &[u8]) {
        match &self.after {
            Some(key) if key.0 >= self.start_ns => (key.0, &key.1),
            _ => (self.start_ns, &[]),
        }
    }

    /// The key that exceeds every key of the range. Its second part is longer than any hash and all ones, hence above any hash, where
    /// only time bounds the range.
    pub(crate) fn above(&self) -> (i64, &[u8]) {
        match &self.before {
            Some(key) if key.0 <= self.end_ns => (key.0, &key.1),
            _ => (self.end_ns, &[0xff; 33]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::RangeBounds;

    use super::{Key, KeyRange};

    /// Every range of a small world, by every way to ask it: the three views must agree about every key.
    #[test]
    fn views_agree() {
        let hashes = [[0; 32], [7; 32], [0xff; 32]];
        let keys: Vec<Key> = (0..4).flat_map(|time| hashes.map(|hash| (time, hash))).collect();
        let options = || keys.iter().copied().map(Some).chain([None]);
        for (start_ns, end_ns) in (0..5).flat_map(|start| (0..5).map(move |end| (start, end))) {
            for (after, before) in options().flat_map(|after| options().map(move |before| (after, before))) {
                let range = KeyRange { start_ns, end_ns, after, before };
                for key in &keys {
                    let view = (key.0, key.1.as_slice());
                    let expected = range.contains(key);
                    assert_eq!(
                        range.bounds().is_some_and(|bounds| bounds.contains(key)),
                        expected,
                        "{range:?} {key:?}"
                    );
                    assert_eq!(view > range.below() && view < range.above(), expected, "{range:?} {key:?}");
                }
                if let Some(bounds) = range.bounds() {
                    let map = std::collections::BTreeMap::from([((1, [7; 32]), ())]);
                    assert!(map.range(bounds).count() <= 1);
                }
            }
        }
    }
}
