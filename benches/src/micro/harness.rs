//! One run of the micro scenario: fill the slots, warm up, repeat rounds, and measure the yardstick between them.

use std::path::Path;
use std::sync::Arc;

use levada_archive::{Archive as _, DatabaseUrl, StoreIo, write_bare};
use levada_engine::{Arena, Drained, Placement, heap};
use levada_stages::event::Interest;
use levada_stages::unix_ns;
use levada_wire::hash::{Digest, Kernel, messages_by_kernel, sha256};
use levada_wire::waku::WakuRecord;

use crate::micro::arrivals::Arrivals;
use crate::micro::counts::Counts;
use crate::micro::error::BenchError;
use crate::micro::histogram::Histogram;
use crate::micro::options::{ArchiveChoice, Configuration, Options};
use crate::micro::round::{Message, Round, STALL_LIMIT};
use crate::micro::series::Series;
use crate::micro::topology::{self, ArchivePlace, DRAIN_LIMIT, Shared, SharedArchive};
use crate::micro::{memory, yardstick};
use crate::slots::{arena_for, fill};
use crate::workload;

/// What one run measured.
#[derive(Debug, Clone)]
pub struct Run {
    /// Rounds, each over all messages.
    pub rounds: usize,
    /// Wall time of all rounds, in nanoseconds.
    pub measured_ns: u64,
    /// In an open loop, the time in which all messages arrived, in nanoseconds.
    pub scheduled_ns: u64,
    /// Time of each message from taken to done, in an open loop from when it was due, in nanoseconds.
    pub latencies_ns: Histogram,
    /// Counters of one round; the same in every round.
    pub counts: Counts,
    /// SHA-256 over the digests of the payloads, in order: two runs with one value did the same work.
    pub work: Digest,
    /// Allocations in each round, while the clock ran.
    pub allocations: Histogram,
    /// The yardstick's wall time over as many messages, in nanoseconds.
    pub sha2_ns: u64,
    /// Bytes the yardstick hashed.
    pub sha2_bytes: u64,
    /// What writing as many messages bare to the archive's disk took, in nanoseconds; 0 where there is no disk.
    pub disk_ns: u64,
    /// Bytes written so.
    pub disk_bytes: u64,
    /// Most bytes on the heap plus most bytes of slots in use.
    pub heap_bytes_max: u64,
    /// The kernel that the batches of most messages were begun with.
    pub kernel: Kernel,
    /// Payload memory of the arena.
    pub arena_bytes: u64,
    /// How much of the arena lies in huge pages.
    pub huge_bytes: u64,
    /// Resident memory of the process at the end of the rounds.
    pub rss_bytes: u64,
    /// Bytes still on the heap or in slots after the path has drained and let go.
    pub retained_bytes: u64,
}

/// Runs one configuration once.
pub fn run(options: &Options, configuration: &Configuration, series: &Series) -> Result<Run, BenchError> {
    heap::track_bytes(true);
    let run = run_tracked(options, configuration, series);
    heap::track_bytes(false);
    run
}

fn run_tracked(options: &Options, configuration: &Configuration, series: &Series) -> Result<Run, BenchError> {
    let sizes = workload::payload_sizes(options.seed, options.messages);
    let warmup_sizes = workload::payload_sizes(options.seed.wrapping_add(1), options.warmup);
    let arena = arena_for(sizes.iter().chain(&warmup_sizes))?;
    let shared = Shared::new(&arena);
    let archive = open(configuration, options)?;
    let round = Round::new(options.messages.max(options.warmup), options.window, STALL_LIMIT);
    let running = topology::start(&arena, &round, &shared, archive.clone(), options.layout(configuration))?;
    series.watch(&arena);

    let topic = shared.topic;
    let mut warmup = fill(&arena, options.seed, options.messages, &warmup_sizes, topic);
    let mut messages = fill(&arena, options.seed, 0, &sizes, topic);
    drop((sizes, warmup_sizes));
    let slot_bytes = slot_bytes(&arena);
    let archive = archive.map(|(archive, _)| archive);
    let disk = disk_of(configuration);
    let mut bench = Bench { round: &round, shared: &shared, arena: &arena, archive, disk, topic, arrivals: None };
    bench.round(&mut warmup)?;
    drop(warmup);
    bench.arrivals = options.rate_msg_per_s.map(|rate| Arrivals::new(options.seed, rate));
    let work = work_of(&messages);
    let mut run = bench.rounds(&mut messages, options.measured_ns_min)?;

    run.work = work;
    run.heap_bytes_max = heap::tracked_bytes().1.max(0) as u64 + slot_bytes;
    run.arena_bytes = arena.bytes() as u64;
    run.rss_bytes = memory::resident_bytes();
    run.huge_bytes = memory::huge_bytes(messages.iter().map(|message| message.payload().as_ptr() as u64).collect());
    bench.clear()?;
    drop((bench, messages));
    if running.drain(DRAIN_LIMIT) != Drained::Complete {
        return Err(BenchError::NotDrained { seconds: DRAIN_LIMIT.as_secs() });
    }
    drop((round, shared));
    run.retained_bytes = retained_bytes(arena, &run, series)?;
    Ok(run)
}

/// What the path still has of heap and slots; what the run itself reports does not count.
fn retained_bytes(arena: Arc<Arena<WakuRecord>>, run: &Run, series: &Series) -> Result<u64, BenchError> {
    series.unwatch()?;
    let slots = slot_bytes(&arena);
    drop(arena);
    let heap = heap::tracked_bytes().0 - (run.latencies_ns.heap_bytes() + run.allocations.heap_bytes()) as i64;
    Ok(heap.max(0) as u64 + slots)
}

/// Bytes of the slots lent out now.
fn slot_bytes(arena: &Arena<WakuRecord>) -> u64 {
    arena.usage().map(|class| class.slots_in_use * class.payload_bytes as u64).sum()
}

/// The digest of the workload, by hashes that no counter counts.
fn work_of(messages: &[Message]) -> Digest {
    messages.iter().fold(Digest::default(), |work, message| {
        let (data, mut both) = (message.payload(), [0; 64]);
        // What lies behind the payload holds the timestamp, which differs from run to run.
        both[..32].copy_from_slice(&work);
        both[32..].copy_from_slice(&sha256(&data[..data.len() - workload::STAMPED_BYTES]));
        sha256(&both)
    })
}

struct Bench<'a> {
    round: &'a Round,
    shared: &'a Shared,
    arena: &'a Arc<Arena<WakuRecord>>,
    archive: Option<SharedArchive>,
    /// The path of an archive on the disk.
    disk: Option<&'a Path>,
    topic: u32,
    /// The open loop's schedule, if it is one.
    arrivals: Option<Arrivals>,
}

impl Bench<'_> {
    /// Repeats the messages until `measured_ns_min` were measured; in between, the yardstick runs over the same slots, and these are
    /// written bare to the archive's disk, in groups as large as its transactions were.
    fn rounds(&mut self, messages: &mut Vec<Message>, measured_ns_min: u64) -> Result<Run, BenchError> {
        let mut run = Run {
            rounds: 0,
            measured_ns: 0,
            scheduled_ns: 0,
            latencies_ns: Histogram::default(),
            counts: Counts::default(),
            work: Digest::default(),
            allocations: Histogram::default(),
            sha2_ns: 0,
            sha2_bytes: 0,
            disk_ns: 0,
            disk_bytes: 0,
            heap_bytes_max: 0,
            kernel: Kernel::Sha2,
            arena_bytes: 0,
            huge_bytes: 0,
            rss_bytes: 0,
            retained_bytes: 0,
        };
        let hashed_before = messages_by_kernel();
        while run.measured_ns < measured_ns_min.max(1) {
            let transactions = self.shared.archive_counters.transactions.value();
            let (wall_ns, counts) = self.round(messages)?;
            let transactions = self.shared.archive_counters.transactions.value() - transactions;
            if run.rounds > 0 && counts.path() != run.counts.path() {
                return Err(BenchError::counters(&run.counts, &counts));
            }
            run.measured_ns += wall_ns;
            if self.arrivals.is_some() {
                run.scheduled_ns += self.round.scheduled_ns(messages.len());
            }
            run.counts = counts;
            run.allocations.add(counts.allocations);
            run.rounds += 1;
            self.round.latencies_ns(messages.len()).for_each(|latency_ns| run.latencies_ns.add(latency_ns));
            let yardstick = yardstick::hash_all(messages);
            run.sha2_ns += yardstick.wall_ns;
            run.sha2_bytes += yardstick.bytes;
            if let Some(path) = self.disk {
                let group = messages.len().div_ceil(transactions.max(1) as usize);
                let payloads: Vec<&[u8]> = messages.iter().map(|message| message.payload()).collect();
                let bare = write_bare(path, StoreIo::Auto, &payloads, group)?;
                run.disk_ns += bare.elapsed.as_nanos() as u64;
                run.disk_bytes += bare.bytes;
            }
        }
        let hashed = messages_by_kernel().into_iter().zip(hashed_before);
        let most = hashed.max_by_key(|((_, after), (_, before))| after - before);
        run.kernel = most.map_or(Kernel::Sha2, |((kernel, _), _)| kernel);
        Ok(run)
    }

    /// One round: fresh timestamps, an empty archive, then the clock and the counters.
    fn round(&mut self, messages: &mut Vec<Message>) -> Result<(u64, Counts), BenchError> {
        self.clear()?;
        restamp(self.arena, messages);
        let counters = &self.shared.archive_counters;
        let (before, stored) = (Counts::now(), counters.stored.value());
        let wall_ns = self.round.run(messages, self.arrivals.as_mut())?;
        let counts = Counts::now().since(&before);
        if self.archive.is_some() {
            let (stored, messages) = (counters.stored.value() - stored, messages.len() as u64);
            if stored != messages {
                return Err(BenchError::NotArchived { stored, messages });
            }
        }
        let (synced, messages) =
            (self.shared.sync.counts().iter().map(|(_, count)| count).sum(), messages.len() as u64);
        if synced != messages {
            return Err(BenchError::NotSynced { synced, messages });
        }
        Ok((wall_ns, counts))
    }

    /// Lets go of what the last round left behind: handles to slots in the REST cache, messages in the archive, and their keys.
    fn clear(&mut self) -> Result<(), BenchError> {
        self.shared.cache.take(Interest::Topic(self.topic));
        self.shared.sync.prune_before(unix_ns());
        self.archive.as_mut().map_or(Ok(()), |archive| Ok(archive.clear()?))
    }
}

fn disk_of(configuration: &Configuration) -> Option<&Path> {
    match &configuration.archive {
        ArchiveChoice::Database(DatabaseUrl::Sqlite(path)) => Some(path),
        _ => None,
    }
}

fn open(configuration: &Configuration, options: &Options) -> Result<Option<(SharedArchive, ArchivePlace)>, BenchError> {
    let ArchiveChoice::Database(url) = &configuration.archive else { return Ok(None) };
    let archive = levada_archive::open(url)?;
    let messages = archive.message_count()?;
    if messages > 0 {
        return Err(BenchError::ArchiveInUse { location: archive.location(), messages });
    }
    let one_worker = configuration.workers == 1 && options.placement == Placement::PerCore;
    let inline = matches!(url, DatabaseUrl::Memory) && one_worker;
    let place = if inline { ArchivePlace::Path } else { ArchivePlace::Own };
    Ok(Some((SharedArchive::new(archive), place)))
}

/// Puts the messages back in order, as if just arrived: timestamps from now on, one nanosecond apart, records fresh.
fn restamp(arena: &Arc<Arena<WakuRecord>>, messages: &mut Vec<Message>) {
    messages.sort_by_key(|message| message.record().ticket);
    let start = unix_ns();
    let restamp_one = |(position, message): (usize, Message)| {
        let envelope = message.attach(arena).expect("the messages lie in this arena");
        let bytes = envelope.payload().len();
        let mut slot = envelope.into_unique().expect("nobody else holds a message between two rounds");
        workload::restamp(&mut slot.payload_mut()[..bytes], start + position as i64);
        let record = *slot.record_mut();
        *slot.record_mut() = WakuRecord { topic: record.topic, ticket: record.ticket, ..WakuRecord::default() };
        slot.share().hold()
    };
    *messages = std::mem::take(messages).into_iter().enumerate().map(restamp_one).collect();
}
