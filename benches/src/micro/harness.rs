//! One run of the micro scenario: fill the slots, warm up, repeat rounds, and measure the yardstick between them.

use std::sync::Arc;

use levada_engine::{Arena, ArenaConfig, ClassConfig, heap};
use levada_stages::event::Interest;
use levada_stages::unix_ns;
use levada_wire::waku::WakuRecord;

use crate::micro::counts::Counts;
use crate::micro::error::BenchError;
use crate::micro::options::{ArchiveChoice, Options};
use crate::micro::round::{Message, Round};
use crate::micro::series::Series;
use crate::micro::topology::{self, ArchivePlace, DRAIN_LIMIT, Shared, SharedArchive};
use crate::micro::{memory, yardstick};
use crate::workload;

/// What one run measured.
#[derive(Debug, Clone)]
pub struct Run {
    /// Rounds, each over all messages.
    pub rounds: usize,
    /// Wall time of all rounds, in nanoseconds.
    pub measured_ns: u64,
    /// Time of each message from taken to done, sorted, in nanoseconds.
    pub latencies_ns: Vec<u64>,
    /// Counters of one round; the same in every round.
    pub counts: Counts,
    /// Allocations in all rounds.
    pub allocations: u64,
    /// The yardstick's wall time over as many messages, in nanoseconds.
    pub sha2_ns: u64,
    /// Bytes the yardstick hashed.
    pub sha2_bytes: u64,
    /// Most bytes on the heap plus most bytes of slots in use.
    pub heap_bytes_max: u64,
    /// Payload memory of the arena.
    pub arena_bytes: u64,
    /// Resident memory of the process at the end of the rounds.
    pub rss_bytes: u64,
    /// Bytes still on the heap or in slots after the path has drained and let go.
    pub retained_bytes: u64,
}

/// Room for timestamp, topic and field headers around a payload.
const ENVELOPE_BYTES: usize = 256;

/// Runs one configuration once.
pub fn run(options: &Options, archive: &ArchiveChoice, series: &mut Series) -> Result<Run, BenchError> {
    heap::track_bytes(true);
    let total = options.messages + options.warmup;
    let sizes = workload::payload_sizes(options.seed, options.messages);
    let warmup_sizes = workload::payload_sizes(options.seed.wrapping_add(1), options.warmup);
    let arena = arena_for(sizes.iter().chain(&warmup_sizes))?;
    let shared = Shared::new(total);
    let archive = open(archive, options.workers)?;
    let round = Round::new(options.messages.max(options.warmup), options.window);
    let running = topology::start(&arena, &round, &shared, archive.clone(), options.workers)?;
    series.watch(&arena);

    let topic = shared.topic;
    let mut warmup = fill(&arena, options.seed, options.messages, &warmup_sizes, topic);
    let mut messages = fill(&arena, options.seed, 0, &sizes, topic);
    let slot_bytes: u64 = arena.usage().map(|class| class.slots_in_use * class.payload_bytes as u64).sum();
    let mut bench =
        Bench { round: &round, shared: &shared, arena: &arena, archive: archive.map(|(archive, _)| archive), topic };
    bench.round(&mut warmup)?;
    drop(warmup);
    let mut run = bench.rounds(&mut messages, options.measured_ns_min)?;

    run.heap_bytes_max = heap::tracked_bytes().1.max(0) as u64 + slot_bytes;
    run.arena_bytes = arena.bytes() as u64;
    run.rss_bytes = memory::resident_bytes();
    drop(messages);
    running.drain(DRAIN_LIMIT);
    drop(bench);
    drop(round);
    shared.cache.close(Interest::Topic(topic));
    drop(shared);
    // What the run itself reports is not retained by the path.
    let reported = (run.latencies_ns.capacity() * size_of::<u64>()) as i64;
    let slots: u64 = arena.usage().map(|class| class.slots_in_use * class.payload_bytes as u64).sum();
    series.unwatch();
    drop(arena);
    run.retained_bytes = (heap::tracked_bytes().0 - reported).max(0) as u64 + slots;
    heap::track_bytes(false);
    Ok(run)
}

struct Bench<'a> {
    round: &'a Round,
    shared: &'a Shared,
    arena: &'a Arc<Arena<WakuRecord>>,
    archive: Option<SharedArchive>,
    topic: u32,
}

impl Bench<'_> {
    /// Repeats the messages until `measured_ns_min` were measured; the yardstick runs over the same slots in between.
    fn rounds(&mut self, messages: &mut Vec<Message>, measured_ns_min: u64) -> Result<Run, BenchError> {
        let mut run = Run {
            rounds: 0,
            measured_ns: 0,
            latencies_ns: Vec::new(),
            counts: Counts::default(),
            allocations: 0,
            sha2_ns: 0,
            sha2_bytes: 0,
            heap_bytes_max: 0,
            arena_bytes: 0,
            rss_bytes: 0,
            retained_bytes: 0,
        };
        while run.measured_ns < measured_ns_min.max(1) {
            let before = Counts::now();
            run.measured_ns += self.round(messages)?;
            let counts = Counts::now().since(&before);
            if run.rounds > 0 && counts.path() != run.counts.path() {
                let (first, other) = (format!("{:?}", run.counts), format!("{counts:?}"));
                return Err(BenchError::Counters { first, other });
            }
            run.counts = counts;
            run.allocations += counts.allocations;
            run.rounds += 1;
            run.latencies_ns.extend(self.round.latencies_ns(messages.len()));
            let yardstick = yardstick::hash_all(messages);
            run.sha2_ns += yardstick.wall_ns;
            run.sha2_bytes += yardstick.bytes;
        }
        run.latencies_ns.sort_unstable();
        Ok(run)
    }

    /// One round: fresh timestamps, an empty archive, then the clock.
    fn round(&mut self, messages: &mut Vec<Message>) -> Result<u64, BenchError> {
        // The REST cache of the last round still holds some of the slots.
        self.shared.cache.take(Interest::Topic(self.topic));
        restamp(self.arena, messages);
        if let Some(archive) = &mut self.archive {
            levada_archive::Archive::clear(archive)?;
        }
        let counters = &self.shared.archive_counters;
        let stored = counters.stored.value();
        let wall_ns = self.round.run(messages)?;
        if self.archive.is_some() {
            let (stored, messages) = (counters.stored.value() - stored, messages.len() as u64);
            if stored != messages {
                return Err(BenchError::NotArchived { stored, messages });
            }
        }
        Ok(wall_ns)
    }
}

fn open(choice: &ArchiveChoice, workers: usize) -> Result<Option<(SharedArchive, ArchivePlace)>, BenchError> {
    let ArchiveChoice::Database(url) = choice else { return Ok(None) };
    let archive = levada_archive::open(url)?;
    let messages = archive.message_count()?;
    if messages > 0 {
        return Err(BenchError::ArchiveInUse { location: archive.location(), messages });
    }
    let inline = matches!(url, levada_archive::DatabaseUrl::Memory) && workers == 1;
    let place = if inline { ArchivePlace::Path } else { ArchivePlace::Own };
    Ok(Some((SharedArchive::new(archive), place)))
}

/// One slot per message, touched before the clock starts.
fn arena_for<'a>(sizes: impl Iterator<Item = &'a usize> + Clone) -> Result<Arc<Arena<WakuRecord>>, BenchError> {
    let mut classes: Vec<ClassConfig> = Vec::new();
    let mut floor = 0;
    for (bytes, _) in workload::PROFILE {
        let payload_bytes = (bytes + ENVELOPE_BYTES).next_multiple_of(4_096);
        let slots = sizes.clone().filter(|size| (floor..=bytes).contains(*size)).count();
        floor = bytes + 1;
        if slots > 0 {
            classes.push(ClassConfig { payload_bytes, slots: slots as u32 });
        }
    }
    Ok(Arena::new(&ArenaConfig { classes, huge_pages: true, prefault: true })?)
}

/// Encodes the messages into slots, numbered from `first`.
fn fill(arena: &Arc<Arena<WakuRecord>>, seed: u64, first: usize, sizes: &[usize], topic: u32) -> Vec<Message> {
    let mut payload = vec![0; workload::PROFILE[workload::PROFILE.len() - 1].0];
    let fill_one = |(position, size): (usize, &usize)| {
        let payload = &mut payload[..*size];
        workload::fill_payload(seed, (first + position) as u64, payload);
        let message = workload::message(payload, unix_ns());
        let mut slot = arena.claim(message.encoded_len()).expect("the arena has a slot for each message");
        let bytes = message.encode_into(slot.payload_mut()).expect("the slot was claimed by the encoded length");
        slot.set_len(bytes);
        // Collect files the latency under the ticket.
        *slot.record_mut() = WakuRecord { topic, ticket: position as u64, ..WakuRecord::default() };
        slot.share().hold()
    };
    sizes.iter().enumerate().map(fill_one).collect()
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
