//! What the readers of a run have got, and how long it took.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;

use super::Order;

/// A run that stands still for so long has lost a message.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the readers have got.
pub(super) struct Tally {
    order: Order,
    started: Instant,
    readers: u64,
    /// Pushes read, of all readers.
    pushes: AtomicU64,
    more: Notify,
    /// One cell for each push that counts, in microseconds.
    latencies: Box<[AtomicU64]>,
    taken: AtomicUsize,
}

impl Tally {
    pub(super) fn new(order: Order) -> Self {
        let readers = order.subscribers as u64 - u64::from(order.one_paused);
        let latencies = (0..readers * order.messages).map(|_| AtomicU64::new(0)).collect();
        let (pushes, taken) = (AtomicU64::new(0), AtomicUsize::new(0));
        Self { order, started: Instant::now(), readers, pushes, more: Notify::new(), latencies, taken }
    }

    pub(super) fn now_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    /// A reader has got message `number`, which was published at `sent_us`.
    pub(super) fn read(&self, number: u64, sent_us: u64) {
        if number >= self.order.warmup {
            let cell = self.latencies.get(self.taken.fetch_add(1, Relaxed)).expect("each message is pushed once");
            cell.store(self.now_us().saturating_sub(sent_us), Relaxed);
        }
        if (self.pushes.fetch_add(1, Relaxed) + 1).is_multiple_of(self.readers) {
            self.more.notify_one();
        }
    }

    /// Messages that every reader has got, if all are equally far.
    fn complete(&self) -> u64 {
        self.pushes.load(Relaxed) / self.readers
    }

    pub(super) async fn wait_for(&self, messages: u64) {
        while self.complete() < messages {
            timeout(PATIENCE, self.more.notified()).await.expect("every reader gets every message");
        }
    }

    pub(super) fn p99_us(&self) -> f64 {
        let mut all: Vec<u64> = self.latencies.iter().map(|cell| cell.load(Relaxed)).collect();
        all.sort_unstable();
        all[all.len() * 99 / 100] as f64
    }
}
