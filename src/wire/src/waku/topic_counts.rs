//! A count for each pubsub topic, which any thread may add to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::TopicTable;

/// Counts by the numbers of a [`TopicTable`]; to add to one allocates nothing.
#[derive(Debug)]
pub struct TopicCounts {
    topics: Arc<TopicTable>,
    counts: Box<[AtomicU64]>,
}

impl TopicCounts {
    /// A zero for every topic that `topics` has room for.
    pub fn new(topics: Arc<TopicTable>) -> Self {
        let counts = (0..topics.capacity()).map(|_| AtomicU64::new(0)).collect();
        Self { topics, counts }
    }

    /// Adds to the count of a topic; a number that no topic can have counts nowhere.
    #[inline]
    pub fn add(&self, topic: u32, amount: u64) {
        if let Some(count) = self.counts.get(topic as usize) {
            count.fetch_add(amount, Relaxed);
        }
    }

    /// Every topic that has a number, and its count.
    pub fn rows(&self) -> impl Iterator<Item = (&str, u64)> + '_ {
        let name = |number: usize| self.topics.name(u32::try_from(number).ok()?);
        self.counts.iter().enumerate().map_while(move |(number, count)| Some((name(number)?, count.load(Relaxed))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_counted_apart_and_strangers_not_at_all() {
        let topics = Arc::new(TopicTable::new(3));
        let counts = TopicCounts::new(topics.clone());
        assert_eq!(counts.rows().count(), 0);
        let [one, other] = ["one", "other"].map(|name| topics.intern(name).expect("there is room"));
        counts.add(one, 3);
        counts.add(other, 1);
        counts.add(one, 4);
        counts.add(3, 9);
        counts.add(u32::MAX, 9);
        assert_eq!(counts.rows().collect::<Vec<_>>(), [("one", 7), ("other", 1)]);
    }
}
