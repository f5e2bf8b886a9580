//! The path of a message through the node, drawn in one place.
//!
//! ```text
//!            ┌ path:N (one worker per lane) ─────────────────────────────────────────────────────────────────┐
//! ingress:N ─→ id_hash → seen → decode → validate → message_hash → relay ─→ trace → filter → event → backlog ──┐
//!            │            └─────────┴─────────┴────── refused ────→  │ │                              │skip  │ │
//! egress:N  ←┼───────────────────────────────────────────────────────┘ └ refused ──→ answer ←─────────┘      │ │
//!            └───────────────────────────────────────────────────────────────────────────────────────────────┘ │
//!            ┌ archive (one worker, blocks on the disk) ┐                                                      │
//!            │ answer ←─── sync ←── archive ←──────────────────────────────────────────────────────────────────┘
//!            │    └────── failed ──────┘                │
//!            └──────────────────────────────────────────┘
//! ```
//! Without an archive, `event` leads to `answer` directly. The one behind the archive is named `answer_stored`: the metrics tell stages
//! apart by their names. What is fetched from other archives has a way in of its own (`resume.rs`).

mod resume;

use std::sync::Arc;

use levada_archive::{Archive, RetentionPolicy, SyncIndex};
use levada_engine::{
    Affinity, Arena, LinkConfig, Policy, Sink, Source, StageId, Topology, TopologyBuilder, TopologyError, Wait, Waker,
    WorkerId,
};
use levada_stages::HashUnit;
use levada_stages::answer::{Answer, Answers};
use levada_stages::archive::{ArchiveCounters, ArchiveStage, GroupCommit};
use levada_stages::backlog::{Backlog, BacklogStage};
use levada_stages::decode::Decode;
use levada_stages::event::{Event, EventCache};
use levada_stages::filter::{self, Filter, HASHES_MAX, Subscriptions};
use levada_stages::id_hash::IdHash;
use levada_stages::message_hash::MessageHash;
use levada_stages::relay::Relay;
use levada_stages::seen::{IDS_MAX, Seen, SeenSet, WINDOW};
use levada_stages::shelves::Shelves;
use levada_stages::signed::{Signed, SignedShards};
use levada_stages::sync::{self, SyncStage};
use levada_stages::trace::{TopicTraffic, Trace};
use levada_stages::validate::{Validate, ValidateCounters};
use levada_wire::waku::{TopicCounts, TopicTable, WakuRecord};

/// Messages that may wait between the network and a lane, and on the way back.
const LINK_ENVELOPES: usize = 1_024;

/// Messages that may wait for the archive, if their bytes allow it.
const ARCHIVE_LINK_ENVELOPES: usize = 8_192;

/// Room in the archive's link for what is admitted while it is nearly full: a batch of each lane, twice.
const ARCHIVE_LINK_MARGIN: usize = 1_024;

/// Bytes of slots that may wait for the disk, if the arena is large enough.
const BACKLOG_BYTES_MAX: usize = 256 << 20;

/// Bytes of slots that each of the two REST caches may keep, if the arena is large enough.
const CACHE_BYTES_MAX: usize = 16 << 20;

/// Pubsub topics a node can take part in: the shards of a cluster (51/WAKU2-RELAY-SHARDING).
pub const TOPICS_MAX: usize = 1_024;

/// What the stages share with the rest of the node.
#[derive(Debug, Clone)]
pub struct Shared {
    /// The pubsub topics and their numbers.
    pub topics: Arc<TopicTable>,
    /// The ids seen lately.
    pub seen: Arc<SeenSet>,
    /// Messages by the validators' outcome.
    pub validated: Arc<ValidateCounters>,
    /// The shards on which messages must be signed; none unless set before the path is drawn.
    pub signed: Arc<SignedShards>,
    /// Messages and bytes per pubsub topic.
    pub traffic: Arc<TopicTraffic>,
    /// Filter criteria.
    pub subscriptions: Arc<Subscriptions>,
    /// The hashes of the messages pushed to filter subscribers lately.
    pub pushed: Arc<SeenSet>,
    /// The REST cache of relay.
    pub events: Arc<EventCache>,
    /// The REST cache of filter's client side.
    pub shelves: Arc<Shelves>,
    /// What waits for the archive.
    pub backlog: Arc<Backlog>,
    /// What the archive stage did.
    pub archived: Arc<ArchiveCounters>,
    /// Messages that are in the archive since the start, by topic.
    pub kept: Arc<TopicCounts>,
    /// The keys of the newest stored messages, by the numbers of their topics.
    pub sync: Arc<SyncIndex>,
}

impl Shared {
    /// Empty tables; the REST cache of relay holds `cache_messages_max` messages, and filter has these limits.
    ///
    /// Backlog and caches together never hold more than seven sixteenths of the arena's bytes, which is less than its class
    /// of largest slots has: whatever waits for a slow disk, or for a REST client that never comes, peers are still read.
    pub fn new(cache_messages_max: usize, arena_bytes: usize, filter: filter::Limits) -> Self {
        let topics = Arc::new(TopicTable::new(TOPICS_MAX));
        let cache_bytes = CACHE_BYTES_MAX.min(arena_bytes / 32);
        let backlog_envelopes = (ARCHIVE_LINK_ENVELOPES - ARCHIVE_LINK_MARGIN) as u64;
        Self {
            seen: Arc::new(SeenSet::new(IDS_MAX, WINDOW)),
            validated: Arc::default(),
            signed: Arc::default(),
            traffic: Arc::new(TopicTraffic::new(topics.clone())),
            kept: Arc::new(TopicCounts::new(topics.clone())),
            topics,
            subscriptions: Arc::new(Subscriptions::new(filter)),
            pushed: Arc::new(SeenSet::new(HASHES_MAX, WINDOW)),
            events: Arc::new(EventCache::new(cache_messages_max, cache_bytes)),
            shelves: Arc::new(Shelves::new(cache_bytes)),
            backlog: Arc::new(Backlog::new(BACKLOG_BYTES_MAX.min(arena_bytes / 8 * 3) as u64, backlog_envelopes)),
            archived: Arc::default(),
            sync: Arc::new(SyncIndex::new(TOPICS_MAX, sync::INDEX_BYTES_MAX)),
        }
    }
}

/// The workers of the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathWorkers {
    /// Lanes, each on a worker of its own.
    pub lanes: usize,
    /// How they wait, and the archive's.
    pub wait: Wait,
    /// Which core each of them runs on; the archive's worker is not pinned.
    pub affinity: Affinity,
}

impl PathWorkers {
    /// So many lanes, waiting and placed as the engine does unless told.
    pub fn new(lanes: usize) -> Self {
        Self { lanes, wait: Wait::default(), affinity: Affinity::default() }
    }
}

/// How the path is laid out.
pub struct Plan {
    /// Who runs it.
    pub workers: PathWorkers,
    /// Largest encoded message, in bytes.
    pub message_bytes_max: usize,
    /// The archive to store to, if any.
    pub archive: Option<Box<dyn Archive>>,
    /// What it keeps.
    pub retention: RetentionPolicy,
    /// When it commits what has come.
    pub commit: GroupCommit,
    /// Whether it also takes what is fetched from other archives.
    pub resume: bool,
    /// Who tells publishers what became of their messages.
    pub answers: Arc<dyn Answers>,
}

/// The ends of the path that the node holds.
#[derive(Debug, Default)]
pub struct Ends {
    /// One way in per lane.
    pub ingress: Vec<Source<WakuRecord>>,
    /// Verdicts and messages to publish, one per lane.
    pub egress: Vec<Sink<WakuRecord>>,
    /// Messages that filter subscribers want, one per lane.
    pub wanted: Vec<Sink<WakuRecord>>,
    /// The way in of what is fetched from other archives, if the plan has one.
    pub resume: Option<Source<WakuRecord>>,
}

/// Who is woken when there is something in the sinks of these names.
#[derive(Debug, Clone)]
pub struct Wakers {
    /// Of [`Ends::egress`].
    pub egress: Waker,
    /// Of [`Ends::wanted`].
    pub wanted: Waker,
}

/// Draws the path.
///
/// # Errors
/// [`TopologyError`] when the workers ask for cores that the process does not have. A test rules out every other refusal.
pub fn draw(
    arena: Arc<Arena<WakuRecord>>,
    shared: &Shared,
    plan: Plan,
    wakers: &Wakers,
) -> Result<(Topology<WakuRecord>, Ends), TopologyError> {
    let PathWorkers { lanes, wait, affinity } = plan.workers;
    let mut drawing = TopologyBuilder::new(arena);
    drawing.default_wait(wait);
    drawing.affinity(affinity);
    let mut ends = Ends::default();
    let kept = plan.archive.map(|archive| (archive, plan.retention, plan.commit));
    let store = kept.map(|kept| draw_archive(&mut drawing, shared, kept, &plan.answers));
    if let Some(store) = store.filter(|_| plan.resume) {
        let source = resume::draw(&mut drawing, shared, store, plan.message_bytes_max, &plan.answers);
        ends.resume = Some(source);
    }
    for lane in 0..lanes {
        let worker = drawing.worker(&format!("path:{lane}"));
        let mut pen = Pen { drawing: &mut drawing, shared, worker, lane };
        let (entry, relay) = pen.up_to_relay(plan.message_bytes_max);
        let answer = pen.stage("answer", Answer::new(plan.answers.clone()));
        let filter = pen.consumers(relay, answer, store);
        let sink = LinkConfig { capacity: LINK_ENVELOPES, policy: Policy::Reliable };
        ends.ingress.push(drawing.source(&format!("ingress:{lane}"), entry, LINK_ENVELOPES));
        let mut ends_at = |name: &str, stage, port, waker: &Waker| {
            drawing.sink(&format!("{name}:{lane}"), stage, port, sink, waker.clone())
        };
        ends.egress.push(ends_at("egress", relay, "egress", &wakers.egress));
        ends.wanted.push(ends_at("wanted", filter, "wanted", &wakers.wanted));
    }
    Ok((drawing.build()?, ends))
}

type Drawing = TopologyBuilder<WakuRecord>;

fn draw_archive(
    drawing: &mut Drawing,
    shared: &Shared,
    (archive, retention, commit): (Box<dyn Archive>, RetentionPolicy, GroupCommit),
    answers: &Arc<dyn Answers>,
) -> StageId {
    let worker = drawing.blocking_worker("archive");
    let (topics, backlog, counters) = (shared.topics.clone(), shared.backlog.clone(), shared.archived.clone());
    let stage = ArchiveStage::new(archive, topics, backlog, counters);
    let stage = stage.with_retention(retention).with_commit(commit).counting_topics(shared.kept.clone());
    let store = drawing.stage(worker, "archive", stage);
    let sync = drawing.stage(worker, "sync", SyncStage::new(shared.sync.clone(), sync::WINDOW));
    let answer = drawing.stage(worker, "answer_stored", Answer::new(answers.clone()));
    let link = LinkConfig { capacity: ARCHIVE_LINK_ENVELOPES, policy: Policy::Reliable };
    drawing.link_with(store, "next", sync, link);
    drawing.link_with(sync, "next", answer, link);
    // What the archive has not is not told to other nodes as something they can fetch here.
    drawing.link_with(store, "failed", answer, link);
    store
}

/// The validators of a path that counts their outcomes here.
fn rules(shared: &Shared, message_bytes_max: usize, counters: &Arc<ValidateCounters>) -> Validate {
    let Shared { signed, topics, .. } = shared;
    let rules = Validate::standard(message_bytes_max, counters.clone());
    if signed.is_empty() { rules } else { rules.and(Signed::new(signed.clone(), topics.clone(), counters.clone())) }
}

/// Draws one lane.
struct Pen<'a> {
    drawing: &'a mut Drawing,
    shared: &'a Shared,
    worker: WorkerId,
    lane: usize,
}

impl Pen<'_> {
    fn stage(&mut self, name: &str, stage: impl levada_engine::Stage<WakuRecord> + 'static) -> StageId {
        self.drawing.stage(self.worker, &format!("{name}:{}", self.lane), stage)
    }

    /// From the way in to the verdict; returns the first stage and the relay stage.
    fn up_to_relay(&mut self, message_bytes_max: usize) -> (StageId, StageId) {
        let unit = HashUnit::new(self.shared.topics.clone());
        let id_hash = self.stage("id_hash", IdHash::new(unit.clone()));
        let seen = self.stage("seen", Seen::new(self.shared.seen.clone()));
        let decode = self.stage("decode", Decode);
        let validate = self.stage("validate", rules(self.shared, message_bytes_max, &self.shared.validated));
        let message_hash = self.stage("message_hash", MessageHash::new(unit));
        let relay = self.stage("relay", Relay);
        self.drawing.link(id_hash, "next", seen);
        self.drawing.link(seen, "new", decode);
        self.drawing.link(decode, "decoded", validate);
        self.drawing.link(validate, "accepted", message_hash);
        self.drawing.link(message_hash, "next", relay);
        self.drawing.link(seen, "duplicate", relay);
        self.drawing.link(decode, "rejected", relay);
        self.drawing.link(validate, "rejected", relay);
        (id_hash, relay)
    }

    /// From the verdict to the local consumers and the answer; returns the filter stage.
    fn consumers(&mut self, relay: StageId, answer: StageId, store: Option<StageId>) -> StageId {
        let trace = self.stage("trace", Trace::new(self.shared.traffic.clone()));
        let matching =
            Filter::new(self.shared.subscriptions.clone(), self.shared.topics.clone(), self.shared.pushed.clone());
        let filter = self.stage("filter", matching);
        let event = Event::new(self.shared.events.clone()).with_shelves(self.shared.shelves.clone());
        let event = self.stage("event", event);
        self.drawing.link(relay, "refused", answer);
        self.drawing.link(relay, "accepted", trace);
        self.drawing.link(trace, "next", filter);
        self.drawing.link(filter, "next", event);
        let Some(store) = store else {
            self.drawing.link(event, "next", answer);
            return filter;
        };
        let backlog = self.stage("backlog", BacklogStage::new(self.shared.backlog.clone()));
        self.drawing.link(event, "next", backlog);
        self.drawing.link(backlog, "skip", answer);
        let link = LinkConfig { capacity: ARCHIVE_LINK_ENVELOPES, policy: Policy::Reliable };
        self.drawing.link_with(backlog, "store", store, link);
        filter
    }
}

#[cfg(test)]
mod tests;
