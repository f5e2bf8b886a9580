//! The path under measurement: nwaku's micro scenario on our stages.
//!
//! ```text
//! lane:N   feed → (id_hash →) decode → validate → message_hash → trace → filter → backlog ─┐
//! archive                                                                                  └→ archive → sync → event → collect
//! ```
//! Without an archive, and with an archive in memory on one worker, everything is on the lane's own worker; where every
//! stage has a worker to itself, nothing is. The id is hashed where two digests are asked for, as for a
//! message that is published at a node.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use levada_archive::{Archive, ArchiveError, ArchiveMessage, ArchiveReader, InsertOutcome, SyncIndex};
use levada_engine::{
    Arena, LinkConfig, Placement, Policy, Running, StageId, Topology, TopologyBuilder, TopologyError, Waker,
};
use levada_stages::HashUnit;
use levada_stages::archive::{ArchiveCounters, ArchiveStage};
use levada_stages::backlog::{Backlog, BacklogStage};
use levada_stages::decode::Decode;
use levada_stages::event::{Event, EventCache, Interest};
use levada_stages::filter::{Filter, HASHES_MAX, Subscriptions};
use levada_stages::id_hash::IdHash;
use levada_stages::message_hash::MessageHash;
use levada_stages::seen::{self, SeenSet};
use levada_stages::sync::{INDEX_BYTES_MAX, SyncStage, WINDOW};
use levada_stages::trace::{TopicTraffic, Trace};
use levada_stages::validate::{Validate, ValidateCounters};
use levada_wire::waku::filter::{FilterSubscribeRequest, FilterSubscribeType};
use levada_wire::waku::{TopicTable, WakuRecord};

use crate::micro::options::{Digests, Layout};
use crate::micro::round::{Collect, Feed, Round};
use crate::workload;

/// The size limit of the measured network: nwaku's default, which every message of the workload keeps.
pub const MESSAGE_BYTES_MAX: usize = 150 << 10;

/// Messages the REST cache keeps, nwaku's default.
const CACHE_MESSAGES_MAX: usize = 50;

/// Bytes of slots it keeps, a node's default.
const CACHE_BYTES_MAX: usize = 16 << 20;

/// An archive that the benchmark can empty between two rounds.
#[derive(Clone)]
pub struct SharedArchive(Arc<Mutex<Box<dyn Archive>>>);

impl SharedArchive {
    pub fn new(archive: Box<dyn Archive>) -> Self {
        Self(Arc::new(Mutex::new(archive)))
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn Archive>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Archive for SharedArchive {
    fn insert_batch<'a>(
        &mut self,
        batch: &mut dyn Iterator<Item = ArchiveMessage<'a>>,
    ) -> Result<InsertOutcome, ArchiveError> {
        self.lock().insert_batch(batch)
    }

    fn reader(&self) -> Result<Box<dyn ArchiveReader>, ArchiveError> {
        self.lock().reader()
    }

    fn clear(&mut self) -> Result<(), ArchiveError> {
        self.lock().clear()
    }

    fn message_count(&self) -> Result<u64, ArchiveError> {
        self.lock().message_count()
    }

    fn location(&self) -> String {
        self.lock().location()
    }

    /// The archive is closed when the last of its shares goes.
    fn close(self: Box<Self>) -> Result<(), ArchiveError> {
        Ok(())
    }
}

/// What the stages share, and what the run looks at afterwards.
pub struct Shared {
    pub topics: Arc<TopicTable>,
    /// The number of the one pubsub topic.
    pub topic: u32,
    pub subscriptions: Arc<Subscriptions>,
    pub cache: Arc<EventCache>,
    pub archive_counters: Arc<ArchiveCounters>,
    pub backlog: Arc<Backlog>,
    pub sync: Arc<SyncIndex>,
}

impl Shared {
    /// One pubsub topic, one subscription that matches every message and one that matches none.
    pub fn new(arena: &Arena<WakuRecord>) -> Self {
        let topics = Arc::new(TopicTable::new(1));
        let topic = topics.intern(workload::PUBSUB_TOPIC).expect("the table has room for one topic");
        let subscriptions = Arc::new(Subscriptions::default());
        for (client, content_topic) in [("a", workload::CONTENT_TOPIC), ("b", workload::OTHER_CONTENT_TOPIC)] {
            let request = FilterSubscribeRequest {
                request_id: client,
                kind: FilterSubscribeType::Subscribe,
                pubsub_topic: Some(workload::PUBSUB_TOPIC),
                content_topics: vec![content_topic],
            };
            let granted = subscriptions.request(client.as_bytes(), &request, Instant::now());
            granted.expect("two criteria are within the bounds");
        }
        let cache = Arc::new(EventCache::new(CACHE_MESSAGES_MAX, CACHE_BYTES_MAX));
        cache.open(Interest::Topic(topic));
        // The window bounds what waits for the archive; a message that passed it by would void the measurement.
        let backlog = Arc::new(Backlog::new(arena.bytes() as u64, u64::MAX));
        let sync = Arc::new(SyncIndex::new(1, INDEX_BYTES_MAX));
        Self { topics, topic, subscriptions, cache, archive_counters: Arc::default(), backlog, sync }
    }
}

/// Draws and starts the path.
pub fn start(
    arena: &Arc<Arena<WakuRecord>>,
    round: &Arc<Round>,
    shared: &Shared,
    archive: Option<(SharedArchive, ArchivePlace)>,
    layout: Layout,
) -> Result<Running, TopologyError> {
    let (topology, wakers) = draw(arena, round, shared, archive, layout)?;
    round.bind(wakers);
    topology.run()
}

/// Which worker the archive runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchivePlace {
    /// The path's own, for an archive that never blocks.
    Path,
    /// One of its own.
    Own,
}

fn draw(
    arena: &Arc<Arena<WakuRecord>>,
    round: &Arc<Round>,
    shared: &Shared,
    archive: Option<(SharedArchive, ArchivePlace)>,
    layout: Layout,
) -> Result<(Topology<WakuRecord>, Vec<Waker>), TopologyError> {
    let mut drawing = TopologyBuilder::placed(arena.clone(), layout.placement);
    let traffic = Arc::new(TopicTraffic::new(shared.topics.clone()));
    let validated = Arc::new(ValidateCounters::default());
    let pushed = Arc::new(SeenSet::new(HASHES_MAX, seen::WINDOW));
    let mut wakers = Vec::new();
    let mut lanes = Vec::new();
    for lane in 0..layout.workers {
        let feed = drawing.place(lane, "feed", Feed(round.clone()));
        let decode = drawing.place(lane, "decode", Decode);
        let rules = Validate::standard(MESSAGE_BYTES_MAX, validated.clone());
        let validate = drawing.place(lane, "validate", rules);
        let new_unit = || HashUnit::with_scratch(shared.topics.clone(), layout.hash.scratch());
        let unit = new_unit();
        let hash = drawing.place(lane, "message_hash", MessageHash::new(unit.clone()));
        let trace = drawing.place(lane, "trace", Trace::new(traffic.clone()));
        let filter = drawing.place(
            lane,
            "filter",
            Filter::new(shared.subscriptions.clone(), shared.topics.clone(), pushed.clone()),
        );
        // Nobody is connected to push to.
        drawing.discard(filter, "wanted");
        if layout.digests == Digests::IdAndHash {
            let unit = if layout.placement == Placement::Dedicated { new_unit() } else { unit };
            let id_hash = drawing.place(lane, "id_hash", IdHash::new(unit));
            drawing.link(feed, "next", id_hash);
            drawing.link(id_hash, "next", decode);
        } else {
            drawing.link(feed, "next", decode);
        }
        drawing.link(decode, "decoded", validate);
        drawing.link(validate, "accepted", hash);
        drawing.link(hash, "next", trace);
        drawing.link(trace, "next", filter);
        wakers.push(drawing.waker(drawing.worker_of(feed)));
        lanes.push(Lane { decode, validate, filter });
    }
    match archive {
        None => end_without_archive(&mut drawing, round, shared, &lanes),
        Some((archive, place)) => {
            let store = place_archive(&mut drawing, shared, &lanes, archive, place);
            end_with_archive(&mut drawing, round, shared, &lanes, store, layout.placement);
        }
    }
    Ok((drawing.build()?, wakers))
}

/// One lane of the path, up to where the archive decides how it goes on.
struct Lane {
    decode: StageId,
    validate: StageId,
    filter: StageId,
}

type Drawing = TopologyBuilder<WakuRecord>;

fn end_without_archive(drawing: &mut Drawing, round: &Arc<Round>, shared: &Shared, lanes: &[Lane]) {
    for (number, lane) in lanes.iter().enumerate() {
        let sync = drawing.place(number, "sync", SyncStage::new(shared.sync.clone(), WINDOW));
        let event = drawing.place(number, "event", Event::new(shared.cache.clone()));
        let collect = drawing.place(number, "collect", Collect(round.clone()));
        drawing.link(lane.filter, "next", sync);
        drawing.link(sync, "next", event);
        drawing.link(event, "next", collect);
        end_refused(drawing, lane, collect);
    }
}

fn place_archive(
    drawing: &mut Drawing,
    shared: &Shared,
    lanes: &[Lane],
    archive: SharedArchive,
    place: ArchivePlace,
) -> StageId {
    let worker = match place {
        ArchivePlace::Path => drawing.worker_of(lanes[0].filter),
        ArchivePlace::Own => drawing.blocking_worker("archive"),
    };
    let (topics, counters) = (shared.topics.clone(), shared.archive_counters.clone());
    let stage = ArchiveStage::new(Box::new(archive), topics, shared.backlog.clone(), counters);
    drawing.stage(worker, "archive", stage)
}

fn end_with_archive(
    drawing: &mut Drawing,
    round: &Arc<Round>,
    shared: &Shared,
    lanes: &[Lane],
    store: StageId,
    placement: Placement,
) {
    let beside_store = |name: &str| match placement {
        Placement::Dedicated => drawing.worker(name),
        _ => drawing.worker_of(store),
    };
    let [sync_worker, event_worker, collect_worker] = ["sync", "event", "collect"].map(beside_store);
    let sync = drawing.stage(sync_worker, "sync", SyncStage::new(shared.sync.clone(), WINDOW));
    let event = drawing.stage(event_worker, "event", Event::new(shared.cache.clone()));
    let collect = drawing.stage(collect_worker, "collect", Collect(round.clone()));
    drawing.link_with(store, "next", sync, ARCHIVE_LINK);
    // What the archive does not take voids the measurement by its count; here it only ends.
    drawing.link_with(store, "failed", collect, ARCHIVE_LINK);
    drawing.link_with(sync, "next", event, ARCHIVE_LINK);
    drawing.link(event, "next", collect);
    for (number, lane) in lanes.iter().enumerate() {
        let backlog = drawing.place(number, "backlog", BacklogStage::new(shared.backlog.clone()));
        drawing.link(lane.filter, "next", backlog);
        drawing.link_with(backlog, "store", store, ARCHIVE_LINK);
        drawing.link(backlog, "skip", collect);
        end_refused(drawing, lane, collect);
    }
}

/// The workload has no bad message; were one refused, it would come out unfinished and void the measurement.
fn end_refused(drawing: &mut Drawing, lane: &Lane, collect: StageId) {
    drawing.link(lane.decode, "rejected", collect);
    drawing.link(lane.validate, "rejected", collect);
}

/// The archive stage takes 256 messages at once, and a link holds eight batches.
const ARCHIVE_LINK: LinkConfig = LinkConfig { capacity: 2_048, policy: Policy::Reliable };

/// Time a drain at the end of a run may take; nothing is in flight then.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(10);
