//! `sync`: enters stored messages into the index that store-sync reconciles with other nodes.
//!
//! It stands behind `archive` where there is one, so that a message is told to nobody before it can be fetched. Accepted
//! messages only; ephemeral ones are never synced. What has left the window is dropped about every 100 ms.
//! Cost: a lock per batch and a walk down a tree per message, no payload byte, no allocation once the index has grown to
//! its window.

use std::sync::Arc;
use std::time::Duration;

use levada_archive::SyncIndex;
use levada_engine::{BatchLimit, Stage};
use levada_wire::waku::{Verdict, WakuRecord};

use crate::{Messages, Ports};

/// How far back messages are kept in the index: the hour that nwaku reconciles, up to 20 s ago, and the 20 s by which clocks
/// may differ.
pub const WINDOW: Duration = Duration::from_secs(3_600 + 2 * 20);

/// Bytes of the index in a node: the hour at some 350 messages a second. Beyond that the oldest leave before their time.
pub const INDEX_BYTES_MAX: usize = 64 << 20;

/// The oldest timestamp within `window` of now, in nanoseconds since the Unix epoch.
pub fn window_start(window: Duration) -> i64 {
    crate::unix_ns().saturating_sub(i64::try_from(window.as_nanos()).unwrap_or(i64::MAX))
}

/// Inserts messages into the index.
#[derive(Debug)]
pub struct SyncStage {
    index: Arc<SyncIndex>,
    window: Duration,
}

impl SyncStage {
    /// A lane over the shared index, whose shards are the numbers of the pubsub topics. Messages are kept for `window`.
    pub fn new(index: Arc<SyncIndex>, window: Duration) -> Self {
        Self { index, window }
    }
}

const NEXT: usize = 0;

impl Stage<WakuRecord> for SyncStage {
    fn ports(&self) -> &'static [&'static str] {
        &["next"]
    }

    fn batch_limit(&self) -> BatchLimit {
        crate::HEADERS_ONLY
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        let records = batch.peek().map(|view| view.record);
        let synced = records.filter(|record| record.verdict == Verdict::Accept && record.hashed && !record.ephemeral);
        self.index.insert_batch(synced.map(|record| (record.topic, (record.timestamp, record.hash))));
        batch.pass(ports, NEXT, |_| ());
    }

    fn housekeeping(&mut self) {
        self.index.prune_before(window_start(self.window));
    }
}

#[cfg(test)]
mod tests {
    use levada_engine::{Arena, ArenaConfig, ClassConfig, LinkConfig, Policy, TopologyBuilder, Waker};

    use super::*;

    fn record(number: u8, timestamp: i64) -> WakuRecord {
        WakuRecord {
            topic: 1,
            timestamp,
            hash: [number; 32],
            hashed: true,
            verdict: Verdict::Accept,
            ..WakuRecord::default()
        }
    }

    #[test]
    fn only_accepted_messages_of_the_window_stay() {
        let classes = vec![ClassConfig { payload_bytes: 128, slots: 8 }];
        let arena =
            Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).expect("a few small slots");
        let index = Arc::new(SyncIndex::new(2, 1 << 20));
        let mut drawing = TopologyBuilder::new(arena.clone());
        let worker = drawing.worker("path");
        let sync = drawing.stage(worker, "sync", SyncStage::new(index.clone(), Duration::from_secs(60)));
        let source = drawing.source("in", sync, 512);
        let link = LinkConfig { capacity: 512, policy: Policy::Reliable };
        let mut sink = drawing.sink("out", sync, "next", link, Waker::from_callback(|| {}));
        let mut invoker = drawing.build().expect("the drawing is sound").invoker();

        let now = crate::unix_ns();
        let records = [
            record(1, now),
            record(1, now),
            WakuRecord { ephemeral: true, ..record(2, now) },
            WakuRecord { verdict: Verdict::Reject, ..record(3, now) },
            WakuRecord { hashed: false, ..record(4, now) },
            record(5, now - 120_000_000_000),
            WakuRecord { topic: 0, ..record(6, now) },
        ];
        for record in records {
            let mut slot = arena.claim(1).expect("a slot is free");
            *slot.record_mut() = record;
            assert!(source.push(slot.share()).is_ok());
        }
        invoker.turn_until_idle();
        assert_eq!(index.counts(), [(0, 1), (1, 2)]);
        invoker.housekeep();
        assert_eq!(index.counts(), [(0, 1), (1, 1)]);
        assert_eq!(index.keys(1, &((i64::MIN, [0; 32])..(i64::MAX, [0; 32])), 9), [(now, [1; 32])]);
        assert_eq!(std::iter::from_fn(|| sink.pop()).count(), records.len());
        assert_eq!(arena.slots_in_use(), 0);
    }
}
