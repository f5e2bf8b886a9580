//! `archive`: stores messages straight from their slots, a batch in one transaction (13/WAKU2-STORE).
//!
//! It blocks on the disk, so it has a worker of its own. An envelope that leaves it by `next` is in the archive. One
//! that is too large for it, or whose transaction failed, leaves by `failed`, and is counted: a failing disk costs the messages
//! it fails on and nothing else, an archive that another program holds costs none.
//! Cost: what the archive writes; no copy of ours.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use levada_archive::{Archive, ArchiveError, ArchiveMessage, Handle, RetentionPolicy};
use levada_engine::{BatchLimit, Counter, Envelope, Histogram, Stage, View};
use levada_wire::waku::{Origin, TopicCounts, TopicTable, WakuRecord};

use crate::backlog::Backlog;
use crate::{Messages, Ports};

/// When a transaction begins: what comes while another is under way waits for the next, and so shares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupCommit {
    /// Most messages in one transaction; as many do not wait for others. At most 256.
    pub messages: usize,
    /// How long fewer wait for others to share their transaction, unless somebody waits for one of them, or a fair part of the backlog's
    /// bound is taken.
    pub wait: Duration,
}

impl Default for GroupCommit {
    /// Up to 256, at once.
    fn default() -> Self {
        Self { messages: BatchLimit::ENVELOPES_MAX, wait: Duration::ZERO }
    }
}

/// How long messages that wait for others are left alone before the next look at them.
const WAIT_TURN: Duration = Duration::from_millis(1);

/// A transaction takes no further message once it holds this many bytes.
const TRANSACTION_BYTES_MAX: usize = 16 << 20;

/// Time between two log lines about a failing archive.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Time between two looks at what retention has to do.
const RETENTION_INTERVAL: Duration = Duration::from_secs(1);

/// Time until retention is tried again after a failure.
const RETENTION_RETRY: Duration = Duration::from_secs(60);

/// How long an idle archive takes steps of retention before it looks for messages again.
const RETENTION_TURN: Duration = Duration::from_millis(20);

/// What the archive stage counts.
#[derive(Debug, Default)]
pub struct ArchiveCounters {
    /// Messages stored: their transaction is on the disk.
    pub stored: Counter,
    /// Messages the archive had already.
    pub duplicates: Counter,
    /// Messages too large for the archive, which are not stored.
    pub dropped: Counter,
    /// Messages whose transaction failed.
    pub failed: Counter,
    /// Transactions put off because another program held the archive; their messages wait.
    pub put_off: Counter,
    /// Transactions.
    pub transactions: Counter,
    /// How long transactions took.
    pub inserts: Histogram,
}

/// Writes batches to the archive.
pub struct ArchiveStage {
    /// Present until the stage finishes and closes it.
    archive: Option<Box<dyn Archive>>,
    topics: Arc<TopicTable>,
    backlog: Arc<Backlog>,
    counters: Arc<ArchiveCounters>,
    /// Messages that the archive has, by topic.
    kept: Arc<TopicCounts>,
    logged: Option<Instant>,
    retention: RetentionPolicy,
    /// When retention is looked at again.
    retention_due: Instant,
    commit: GroupCommit,
    /// Since when messages wait for others.
    waiting_since: Option<Instant>,
}

impl ArchiveStage {
    /// The one writer of `archive`.
    pub fn new(
        archive: Box<dyn Archive>,
        topics: Arc<TopicTable>,
        backlog: Arc<Backlog>,
        counters: Arc<ArchiveCounters>,
    ) -> Self {
        let (retention, retention_due) = (RetentionPolicy::default(), Instant::now());
        let (commit, waiting_since) = (GroupCommit::default(), None);
        let (archive, kept) = (Some(archive), Arc::new(TopicCounts::new(topics.clone())));
        Self { archive, topics, backlog, counters, kept, logged: None, retention, retention_due, commit, waiting_since }
    }

    /// The same stage, which counts in `kept` what is in the archive, by topic: stored, or there before.
    pub fn counting_topics(mut self, kept: Arc<TopicCounts>) -> Self {
        self.kept = kept;
        self
    }

    /// The same stage, which gathers messages as `commit` says.
    pub fn with_commit(mut self, commit: GroupCommit) -> Self {
        self.commit = commit;
        self
    }

    /// The same stage, which drops what `policy` does not ask to keep.
    pub fn with_retention(mut self, policy: RetentionPolicy) -> Self {
        self.retention = policy;
        self
    }

    /// Whether the batch waits for others to share its transaction; time passes meanwhile.
    fn waits(&mut self, batch: &Messages<'_>) -> bool {
        let since = self.waiting_since.get_or_insert_with(Instant::now);
        let left = self.commit.wait.saturating_sub(since.elapsed());
        let is_full = || {
            let bytes: usize = batch.peek().map(|view| view.payload.len()).sum();
            batch.len() >= self.commit.messages || bytes >= TRANSACTION_BYTES_MAX
        };
        let is_awaited = || batch.peek().any(|view| view.record.ticket != 0);
        let waits = !left.is_zero() && !is_full() && !self.backlog.is_pressed() && !is_awaited();
        if waits {
            std::thread::sleep(left.min(WAIT_TURN));
        } else {
            self.waiting_since = None;
        }
        waits
    }

    /// Takes a step of retention if it is due; whether another one is.
    fn retain(&mut self) -> bool {
        let Some(archive) = &mut self.archive else { return false };
        if !self.retention.is_limited() || Instant::now() < self.retention_due {
            return false;
        }
        let dropped = archive.retain(&self.retention.at(crate::unix_ns()));
        let unfinished = dropped.as_ref().is_ok_and(|dropped| dropped.unfinished);
        let wait = match &dropped {
            Ok(_) if unfinished => Duration::ZERO,
            Ok(_) => RETENTION_INTERVAL,
            Err(error) => {
                tracing::error!(%error, "retention failed; the archive keeps more than it should");
                RETENTION_RETRY
            }
        };
        self.retention_due = Instant::now() + wait;
        unfinished
    }

    /// What became of the batch; nothing yet when it must be tried again later.
    fn store(&mut self, batch: &Messages<'_>) -> Option<Stored> {
        let Some(archive) = &mut self.archive else { return Some(Stored::Nothing) };
        let topics = &self.topics;
        let started = Instant::now();
        // A panic inside the archive costs this batch, as an error does, and not the account of what waits.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            archive.insert_batch(&mut batch.peek().map(|view| archive_message(topics, view)))
        }));
        self.counters.inserts.observe_duration(started.elapsed());
        self.counters.transactions.add(1);
        match outcome {
            Ok(Ok(outcome)) => {
                self.counters.stored.add(outcome.stored);
                self.counters.duplicates.add(outcome.duplicates);
                self.counters.dropped.add(outcome.dropped);
                archive.keep(&mut |number| handle(batch, number));
                return Some(if outcome.dropped == 0 { Stored::All } else { Stored::AllThatFit });
            }
            Ok(Err(error @ ArchiveError::Busy { .. })) => {
                self.counters.put_off.add(1);
                tracing::warn!(%error, messages = batch.len(), "messages wait for the archive");
                return None;
            }
            Ok(Err(error @ ArchiveError::BacklogFull { .. })) => {
                self.backlog.full.add(batch.len() as u64);
                self.log(batch.len(), &error.to_string());
            }
            Ok(Err(error)) => self.fail(batch.len(), &error.to_string()),
            Err(_) => self.fail(batch.len(), "the archive panicked"),
        }
        Some(Stored::Nothing)
    }

    /// Passes on what was stored, and what was not.
    fn pass(&self, stored: Stored, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        let settle = |envelope: &Envelope<'_, WakuRecord>| self.backlog.settle(1, envelope.slot_bytes() as u64);
        match (stored, &self.archive) {
            (Stored::All, _) => batch.pass(ports, NEXT, |envelope| {
                settle(envelope);
                self.kept.add(envelope.record().topic, 1);
            }),
            (Stored::AllThatFit, Some(archive)) => batch.take_each(|envelope| {
                settle(&envelope);
                let view = View { payload: envelope.payload(), record: envelope.record() };
                let is_kept = archive.takes(&archive_message(&self.topics, view));
                self.kept.add(envelope.record().topic, is_kept.into());
                ports.send(if is_kept { NEXT } else { FAILED }, envelope);
            }),
            _ => batch.pass(ports, FAILED, |envelope| {
                settle(envelope);
                tell_unstored(envelope);
            }),
        }
    }

    fn fail(&mut self, messages: usize, error: &str) {
        self.counters.failed.add(messages as u64);
        self.log(messages, error);
    }

    fn log(&mut self, messages: usize, error: &str) {
        if self.logged.is_none_or(|logged| logged.elapsed() >= LOG_INTERVAL) {
            self.logged = Some(Instant::now());
            tracing::error!(error, messages, "messages were relayed but not archived");
        }
    }
}

/// What became of a batch.
#[derive(Debug, Clone, Copy)]
enum Stored {
    /// It is in the archive.
    All,
    /// It is, but for messages that are too large.
    AllThatFit,
    /// The transaction failed.
    Nothing,
}

/// Who fetched a message from another archive has it again when this one works.
fn tell_unstored(envelope: &mut Envelope<'_, WakuRecord>) {
    if envelope.record().origin == Origin::Resume
        && let Some(record) = envelope.record_mut()
    {
        record.unstored = true;
    }
}

/// A share in the payload of a message of the batch.
fn handle(batch: &Messages<'_>, number: usize) -> Option<Handle> {
    let held = batch.hold(number)?;
    let (slot_bytes, span) = (held.slot_bytes(), held.record().payload);
    let data = held.into_bytes();
    let payload = data.slice_ref(span.of(&data));
    Some(Handle { payload, slot_bytes })
}

fn archive_message<'a>(topics: &'a TopicTable, view: View<'a, WakuRecord>) -> ArchiveMessage<'a> {
    let (data, record) = (view.payload, view.record);
    ArchiveMessage {
        hash: record.hash,
        pubsub_topic: topics.name(record.topic).unwrap_or_default(),
        content_topic: std::str::from_utf8(record.content_topic.of(data)).unwrap_or_default(),
        payload: record.payload.of(data),
        version: record.version,
        timestamp: record.timestamp,
        meta: record.meta.of(data),
    }
}

const NEXT: usize = 0;
const FAILED: usize = 1;

impl Stage<WakuRecord> for ArchiveStage {
    fn ports(&self) -> &'static [&'static str] {
        &["next", "failed"]
    }

    fn batch_limit(&self) -> BatchLimit {
        BatchLimit {
            envelopes: self.commit.messages.clamp(1, BatchLimit::ENVELOPES_MAX),
            payload_bytes: TRANSACTION_BYTES_MAX,
        }
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        if self.waits(batch) {
            return;
        }
        // What is not taken is presented again; what comes meanwhile waits within the backlog's bound.
        let Some(stored) = self.store(batch) else { return };
        self.pass(stored, batch, ports);
        self.retain();
    }

    fn housekeeping(&mut self) {
        let started = Instant::now();
        while self.retain() && started.elapsed() < RETENTION_TURN {}
    }

    /// Everything is stored: leaves the files as a reader wants to find them.
    fn finish(&mut self, _ports: &mut Ports<'_>) {
        if let Some(archive) = self.archive.take()
            && let Err(error) = archive.close()
        {
            tracing::error!(%error, "the archive could not be closed in order; its messages are safe");
        }
    }
}

#[cfg(test)]
mod tests {
    use levada_archive::MemoryArchive;
    use levada_engine::{Arena, ArenaConfig, ClassConfig, LinkConfig, Policy, TopologyBuilder, Waker};
    use levada_wire::Span;

    use super::*;
    use crate::backlog::BacklogStage;

    #[test]
    fn retention_keeps_what_its_policy_says() {
        let (mut archive, topics) = (Box::new(MemoryArchive::new(1 << 20)), Arc::new(TopicTable::new(1)));
        let mut reader = archive.reader().expect("a reader");
        let message = |number: u8| ArchiveMessage {
            hash: [number; 32],
            pubsub_topic: "/waku/2/rs/0/0",
            content_topic: "/test/1/retention/proto",
            payload: &[],
            version: 0,
            timestamp: crate::unix_ns() - i64::from(number) * 1_000_000_000_000,
            meta: &[],
        };
        archive.insert_batch(&mut (0..100).map(message)).expect("there is room");
        let backlog = Arc::new(Backlog::new(1 << 20, 8));
        let policy = "time:49500;capacity:80".parse().expect("a policy");
        let mut stage = ArchiveStage::new(archive, topics, backlog, Arc::default()).with_retention(policy);
        Stage::<WakuRecord>::housekeeping(&mut stage);
        let page = reader.query(&levada_archive::Query { page_size: Some(100), ..Default::default() });
        assert_eq!(page.expect("a page").messages.len(), 50);
    }

    #[test]
    fn what_is_too_large_for_the_archive_is_counted() {
        let classes = vec![ClassConfig { payload_bytes: 8_192, slots: 4 }];
        let arena =
            Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).expect("a few small slots");
        let (counters, topics) = (Arc::new(ArchiveCounters::default()), Arc::new(TopicTable::new(1)));
        let (archive, backlog) = (Box::new(MemoryArchive::new(4_000)), Arc::new(Backlog::new(1 << 20, 8)));
        let mut drawing = TopologyBuilder::new(arena.clone());
        let worker = drawing.worker("archive");
        let wait = drawing.stage(worker, "backlog", BacklogStage::new(backlog.clone()));
        let kept = Arc::new(TopicCounts::new(topics.clone()));
        topics.intern("a topic").expect("there is room");
        let stage = ArchiveStage::new(archive, topics, backlog.clone(), counters.clone()).counting_topics(kept.clone());
        let store = drawing.stage(worker, "archive", stage);
        let source = drawing.source("in", wait, 512);
        let link = LinkConfig { capacity: 4_096, policy: Policy::Reliable };
        drawing.link_with(wait, "store", store, link);
        let mut sink = drawing.sink("out", store, "next", link, Waker::from_callback(|| {}));
        let _skipped = drawing.sink("skipped", wait, "skip", link, Waker::from_callback(|| {}));
        let mut failed = drawing.sink("failed", store, "failed", link, Waker::from_callback(|| {}));
        let mut invoker = drawing.build().expect("the drawing is sound").invoker();
        for payload_bytes in [100, 8_000] {
            let mut slot = arena.claim(8_000).expect("a slot is free");
            slot.set_len(payload_bytes as usize);
            let payload = Span { start: 0, len: payload_bytes };
            let (hash, timestamp) = ([payload_bytes as u8; 32], crate::unix_ns());
            *slot.record_mut() = WakuRecord { payload, hash, timestamp, ..WakuRecord::default() };
            assert!(source.push(slot.share()).is_ok());
        }
        invoker.turn_until_idle();
        assert_eq!((counters.stored.value(), counters.dropped.value(), counters.failed.value()), (1, 1, 0));
        assert_eq!(kept.rows().collect::<Vec<_>>(), [("a topic", 1)]);
        assert_eq!(counters.inserts.observed().count(), counters.transactions.value());
        let bytes_of = |sink: &mut levada_engine::Sink<WakuRecord>| {
            std::iter::from_fn(|| sink.pop()).map(|held| held.payload().len()).collect::<Vec<_>>()
        };
        assert_eq!(
            (bytes_of(&mut sink), bytes_of(&mut failed)),
            (vec![100], vec![8_000]),
            "only what is stored goes on"
        );
        assert_eq!(backlog.bytes(), 0);
    }

    #[test]
    fn messages_wait_for_others_unless_somebody_waits_for_one() {
        let classes = vec![ClassConfig { payload_bytes: 1_024, slots: 16 }];
        let arena =
            Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).expect("a few small slots");
        let (counters, topics) = (Arc::new(ArchiveCounters::default()), Arc::new(TopicTable::new(1)));
        let (archive, backlog) = (Box::new(MemoryArchive::new(1 << 20)), Arc::new(Backlog::new(1 << 20, 16)));
        let commit = GroupCommit { messages: 4, wait: Duration::from_secs(3_600) };
        let stage = ArchiveStage::new(archive, topics, backlog.clone(), counters.clone()).with_commit(commit);
        let mut drawing = TopologyBuilder::new(arena.clone());
        let worker = drawing.worker("archive");
        let wait = drawing.stage(worker, "backlog", BacklogStage::new(backlog));
        let store = drawing.stage(worker, "archive", stage);
        let source = drawing.source("in", wait, 512);
        let link = LinkConfig { capacity: 512, policy: Policy::Reliable };
        drawing.link_with(wait, "store", store, link);
        let _skipped = drawing.sink("skipped", wait, "skip", link, Waker::from_callback(|| {}));
        let _stored = drawing.sink("out", store, "next", link, Waker::from_callback(|| {}));
        let _failed = drawing.sink("failed", store, "failed", link, Waker::from_callback(|| {}));
        let mut invoker = drawing.build().expect("the drawing is sound").invoker();
        let mut number = 0;
        let mut push = |ticket| {
            number += 1;
            let mut slot = arena.claim(8).expect("a slot is free");
            *slot.record_mut() =
                WakuRecord { ticket, hash: [number; 32], timestamp: crate::unix_ns(), ..WakuRecord::default() };
            assert!(source.push(slot.share()).is_ok());
        };
        let mut stored = |tickets: &[u64]| {
            tickets.iter().for_each(|ticket| push(*ticket));
            invoker.turn_until_idle();
            (counters.stored.value(), counters.transactions.value())
        };
        assert_eq!(stored(&[0, 0]), (0, 0), "they wait");
        assert_eq!(stored(&[7]), (3, 1), "somebody waits for the third");
        assert_eq!(stored(&[0, 0, 0]), (3, 1));
        assert_eq!(stored(&[0]), (7, 2), "four are enough");
    }
}
