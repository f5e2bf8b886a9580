//! What a connection is asked to do, and how often and how long it did.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use levada_engine::Counter;

/// One answer of the database, to a statement or to a few that belong together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// Looking at the tables, making them, and preparing statements.
    Prepare,
    /// Making partitions.
    Partitions,
    /// Which messages of a batch are there already.
    Keys,
    /// Writing messages, and the commit.
    Insert,
    /// A page of a query.
    Select,
    /// How many messages there are.
    Count,
    /// A step of retention.
    Retention,
    /// Undoing a transaction, or removing everything.
    Undo,
}

/// What was counted of one task.
#[derive(Clone, Copy, Debug)]
pub struct TaskTimes {
    /// Which, in one word.
    pub query: &'static str,
    /// How often it succeeded.
    pub count: u64,
    /// How long the last one waited until the thread of the client took it, in seconds.
    pub sending_s: f64,
    /// How long the answer to the last one took from there, in seconds.
    pub waiting_s: f64,
}

struct Tally {
    query: &'static str,
    count: Counter,
    sending_ns: AtomicU64,
    waiting_ns: AtomicU64,
}

/// In the order of [`Task`].
static TALLIES: [Tally; 8] = [
    Tally::new("prepare"),
    Tally::new("partitions"),
    Tally::new("keys"),
    Tally::new("insert"),
    Tally::new("select"),
    Tally::new("count"),
    Tally::new("retention"),
    Tally::new("undo"),
];

impl Tally {
    const fn new(query: &'static str) -> Self {
        Self { query, count: Counter::new(), sending_ns: AtomicU64::new(0), waiting_ns: AtomicU64::new(0) }
    }
}

impl Task {
    /// Counts one that succeeded.
    pub(super) fn count(self, sending: Duration, waiting: Duration) {
        let tally = &TALLIES[self as usize];
        tally.count.add(1);
        tally.sending_ns.store(sending.as_nanos() as u64, Relaxed);
        tally.waiting_ns.store(waiting.as_nanos() as u64, Relaxed);
    }
}

/// Of every task.
pub(crate) fn times() -> impl Iterator<Item = TaskTimes> {
    let seconds = |nanoseconds: &AtomicU64| nanoseconds.load(Relaxed) as f64 / 1e9;
    TALLIES.iter().map(move |Tally { query, count, sending_ns, waiting_ns }| TaskTimes {
        query,
        count: count.value(),
        sending_s: seconds(sending_ns),
        waiting_s: seconds(waiting_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::{TALLIES, Task};

    #[test]
    fn every_task_has_the_tally_of_its_name() {
        let all = [
            Task::Prepare,
            Task::Partitions,
            Task::Keys,
            Task::Insert,
            Task::Select,
            Task::Count,
            Task::Retention,
            Task::Undo,
        ];
        for (task, tally) in all.into_iter().zip(&TALLIES) {
            assert_eq!(format!("{task:?}").to_lowercase(), tally.query);
        }
        assert_eq!(all.len(), TALLIES.len());
    }
}
