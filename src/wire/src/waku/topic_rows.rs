//! A row for each pubsub topic, which any thread may reach by the topic's number.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::TopicTable;

/// Rows by the numbers of a [`TopicTable`]; to reach one allocates nothing.
#[derive(Debug)]
pub struct TopicRows<T> {
    topics: Arc<TopicTable>,
    rows: Box<[T]>,
}

impl<T: Default> TopicRows<T> {
    /// An empty row for every topic that `topics` has room for.
    pub fn new(topics: Arc<TopicTable>) -> Self {
        let rows = (0..topics.capacity()).map(|_| T::default()).collect();
        Self { topics, rows }
    }

    /// The row of a topic; `None` for a number that no topic can have.
    #[inline]
    pub fn get(&self, topic: u32) -> Option<&T> {
        self.rows.get(topic as usize)
    }

    /// Every topic that has a number, and its row.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &T)> + '_ {
        let name = |number: usize| self.topics.name(u32::try_from(number).ok()?);
        self.rows.iter().enumerate().map_while(move |(number, row)| Some((name(number)?, row)))
    }
}

/// A count for each pubsub topic.
#[derive(Debug)]
pub struct TopicCounts(TopicRows<AtomicU64>);

impl TopicCounts {
    /// A zero for every topic that `topics` has room for.
    pub fn new(topics: Arc<TopicTable>) -> Self {
        Self(TopicRows::new(topics))
    }

    /// Adds to the count of a topic; a number that no topic can have counts nowhere.
    #[inline]
    pub fn add(&self, topic: u32, amount: u64) {
        if let Some(count) = self.0.get(topic) {
            count.fetch_add(amount, Relaxed);
        }
    }

    /// Every topic that has a number, and its count.
    pub fn rows(&self) -> impl Iterator<Item = (&str, u64)> + '_ {
        self.0.rows().map(|(topic, count)| (topic, count.load(Relaxed)))
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
