//! What the hash stages of a worker hash with, so that their jobs share the lanes of one kernel.
//!
//! A message needs its id before it is known to be new, and its message hash only then, so it has one job at a time. But while
//! some messages wait for their ids, others have just been found new: what `message_hash` is given in a turn in which `id_hash`
//! hashed, it leaves here, and `id_hash` takes it along in the next turn. If no id is to be hashed then, `message_hash` does
//! not wait any longer. It keeps nothing back where ids come with the messages, as those of peers do in a node: its network
//! needs them earlier.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use levada_engine::{BatchLimit, Envelope, Held};
use levada_wire::hash::{Digest, Job, Scratch, WINDOW, hash_many};
use levada_wire::waku::{TopicTable, WakuRecord};

use crate::{Messages, Ports};

/// A backlog that fills the lanes; more at once would keep the first message waiting without speeding up any. It bounds what a
/// stage is given, and what both have hashed together.
pub(crate) const HASH_LIMIT: BatchLimit = BatchLimit { envelopes: WINDOW, payload_bytes: 8_000_000 };

/// Lanes for the hash stages of one worker, which each get a clone. Stages on different workers have a unit each: with a
/// common one they would wait for each other.
#[derive(Debug, Clone)]
pub struct HashUnit(Arc<Mutex<State>>);

impl HashUnit {
    /// Uses the kernels that suit this CPU and what waits. Knows the pubsub topics by their numbers in `topics`.
    pub fn new(topics: Arc<TopicTable>) -> Self {
        Self::with_scratch(topics, Scratch::new())
    }

    /// The same with the kernels of `scratch`, for measurements that compare them within one process.
    pub fn with_scratch(topics: Arc<TopicTable>, scratch: Scratch) -> Self {
        Self(Arc::new(Mutex::new(State {
            topics,
            scratch,
            jobs: Vec::with_capacity(WINDOW),
            digests: Box::new([[0; 32]; WINDOW]),
            left: Vec::with_capacity(WINDOW),
            left_hashes: Box::new([[0; 32]; WINDOW]),
            left_hashed: 0,
            ids_come: false,
        })))
    }

    /// Nobody else holds the lock for long: the other stage is on the same worker. After a panic in the middle the worst that is
    /// left is a message to be hashed again.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory for jobs and digests, kept so that none is allocated or moved for a batch, and what was left here.
#[derive(Debug)]
pub(crate) struct State {
    topics: Arc<TopicTable>,
    scratch: Scratch,
    /// Empty between batches: only its memory is kept.
    jobs: Vec<Job<'static>>,
    digests: Box<[Digest; WINDOW]>,
    /// Messages that wait for their message hash, or for being passed on with it.
    left: Vec<Held<WakuRecord>>,
    left_hashes: Box<[Digest; WINDOW]>,
    /// Those of them that have their hash: the first ones.
    left_hashed: usize,
    /// Ids were hashed since `message_hash` last ran.
    ids_come: bool,
}

impl State {
    /// Hashes the ids of those messages of `batch` that have none, side by side with as much of what was left here as the limit
    /// allows. They are the first of [`digests`](Self::digests), in order.
    pub fn hash_ids(&mut self, batch: &Messages<'_>) {
        let mut unknown = batch.peek().filter(|view| !view.record.id_known).peekable();
        if unknown.peek().is_some() {
            self.ids_come = true;
            self.hash(|_| unknown.map(|view| Job::message_id(view.payload)));
        }
    }

    /// Hashes the messages of `batch`, side by side with what was left here and has no hash yet, or after it where the limit does
    /// not allow both. Theirs are the first of [`digests`](Self::digests), in order.
    pub fn hash_messages(&mut self, batch: &Messages<'_>) {
        let mut room = Room::new();
        batch.peek().for_each(|view| room.take(view.payload.len()));
        if !self.unhashed().iter().all(|held| room.admit(held.payload().len())) {
            self.hash_left();
        }
        self.hash(|topics| batch.peek().map(|view| message_job(topics, view.payload, view.record)));
    }

    /// Hashes all that was left here and has no hash yet: it came in one batch.
    pub fn hash_left(&mut self) {
        if !self.unhashed().is_empty() {
            self.hash(|_| std::iter::empty());
        }
    }

    fn unhashed(&self) -> &[Held<WakuRecord>] {
        &self.left[self.left_hashed..]
    }

    fn hash<'a, J: Iterator<Item = Job<'a>>>(&'a mut self, jobs: impl FnOnce(&'a TopicTable) -> J) {
        let mut batch = emptied(std::mem::take(&mut self.jobs));
        batch.extend(jobs(&self.topics).take(WINDOW));
        let (others, mut room) = (batch.len(), Room::new());
        batch.iter().for_each(|job| room.take(job.bytes() as usize));
        let left = self.left[self.left_hashed..].iter().take_while(|held| room.admit(held.payload().len()));
        batch.extend(left.map(|held| message_job(&self.topics, held.payload(), &held.record())));
        let digests = &mut self.digests[..batch.len()];
        hash_many(&batch, digests, &mut self.scratch);
        self.jobs = emptied(batch);
        let hashed = self.left_hashed..self.left_hashed + digests.len() - others;
        self.left_hashed = hashed.end;
        self.left_hashes[hashed].copy_from_slice(&digests[others..]);
    }

    /// What was hashed last.
    pub fn digests(&self) -> &[Digest] {
        &self.digests[..]
    }

    /// Leaves the batch here if ids are likely to come next turn, and says whether it did.
    pub fn leave(&mut self, batch: &mut Messages<'_>) -> bool {
        let leaves = std::mem::take(&mut self.ids_come) && self.left.is_empty();
        if leaves {
            self.left.extend(batch.take(WINDOW).map(Envelope::hold));
            self.left_hashed = 0;
        }
        leaves
    }

    /// Passes on by `port` what was left here and has its hash by now.
    pub fn pass_left(&mut self, ports: &mut Ports<'_>, port: usize) {
        let arena = ports.arena();
        let hashed = std::mem::take(&mut self.left_hashed);
        for (held, hash) in self.left.drain(..hashed).zip(self.left_hashes.iter()) {
            let mut envelope = held.attach(arena).expect("a worker has one arena");
            let record = crate::record(&mut envelope);
            (record.hash, record.hashed) = (*hash, true);
            ports.send(port, envelope);
        }
    }
}

/// What one call of the kernel may still be given, as [`HASH_LIMIT`] counts: nothing more once so many jobs or bytes are in.
struct Room {
    jobs: usize,
    bytes: usize,
}

impl Room {
    fn new() -> Self {
        Self { jobs: HASH_LIMIT.envelopes, bytes: HASH_LIMIT.payload_bytes }
    }

    fn take(&mut self, bytes: usize) {
        (self.jobs, self.bytes) = (self.jobs.saturating_sub(1), self.bytes.saturating_sub(bytes));
    }

    /// Takes a job of so many bytes if there is room for one.
    fn admit(&mut self, bytes: usize) -> bool {
        let admits = self.jobs > 0 && self.bytes > 0;
        if admits {
            self.take(bytes);
        }
        admits
    }
}

fn message_job<'a>(topics: &'a TopicTable, data: &'a [u8], record: &WakuRecord) -> Job<'a> {
    let topic = topics.name(record.topic).expect("ingress interns the topic of every message");
    let [payload, content_topic, meta] = [record.payload, record.content_topic, record.meta].map(|span| span.of(data));
    Job::message_hash(topic, payload, content_topic, meta, record.timestamp)
}

/// The memory of a vector, for jobs of another lifetime. The standard library collects a vector of the same layout in
/// place; `benches/tests/micro.rs` shows that nothing is allocated.
fn emptied<'b>(mut jobs: Vec<Job<'_>>) -> Vec<Job<'b>> {
    jobs.clear();
    jobs.into_iter().map(|_| unreachable!("the vector is empty")).collect()
}

#[cfg(test)]
mod tests {
    use levada_engine::{
        Arena, ArenaConfig, ClassConfig, Invoker, LinkConfig, Policy, Sink, Source, TopologyBuilder, Waker,
    };
    use levada_wire::Span;
    use levada_wire::hash::{message_hash, message_id};

    use super::*;
    use crate::id_hash::IdHash;
    use crate::message_hash::MessageHash;

    const TOPIC: &str = "/waku/2/rs/0/0";

    /// The two hash stages, one after the other.
    struct Path {
        arena: Arc<Arena<WakuRecord>>,
        unit: HashUnit,
        source: Source<WakuRecord>,
        sink: Sink<WakuRecord>,
        invoker: Invoker<WakuRecord>,
    }

    impl Path {
        fn new() -> Self {
            let classes = vec![ClassConfig { payload_bytes: 128, slots: 512 }];
            let arena = Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).expect("small slots");
            let topics = Arc::new(TopicTable::new(1));
            assert_eq!(topics.intern(TOPIC), Ok(0));
            let unit = HashUnit::new(topics);
            let mut drawing = TopologyBuilder::new(arena.clone());
            let worker = drawing.worker("path");
            let id_hash = drawing.stage(worker, "id_hash", IdHash::new(unit.clone()));
            let message_hash = drawing.stage(worker, "message_hash", MessageHash::new(unit.clone()));
            drawing.link(id_hash, "next", message_hash);
            let source = drawing.source("in", id_hash, 512);
            let link = LinkConfig { capacity: 512, policy: Policy::Reliable };
            let sink = drawing.sink("out", message_hash, "next", link, Waker::from_callback(|| {}));
            Self { arena, unit, source, sink, invoker: drawing.build().expect("the drawing is sound").invoker() }
        }

        /// Brings in messages of these numbers, with their ids or without.
        fn push(&self, numbers: std::ops::Range<u8>, id_known: bool) {
            for number in numbers {
                let mut slot = self.arena.claim(100).expect("a slot is free");
                slot.fill(&[number; 100][..usize::from(number)]);
                let (payload, id) =
                    (Span { start: 0, len: number.into() }, message_id(&[number; 100][..number.into()]));
                *slot.record_mut() =
                    WakuRecord { payload, id: if id_known { id } else { [0; 32] }, id_known, ..WakuRecord::default() };
                assert!(self.source.push(slot.share()).is_ok());
            }
        }

        /// The numbers that came out, after their digests were found right.
        fn out(&mut self) -> Vec<u8> {
            std::iter::from_fn(|| self.sink.pop())
                .map(|held| {
                    let (data, record) = (held.payload(), held.record());
                    let hash = message_hash(TOPIC, data, "", b"", record.timestamp);
                    assert_eq!((record.id, record.hash, record.hashed), (message_id(data), hash, true));
                    data.len() as u8
                })
                .collect()
        }

        /// Messages left in the unit, and those of them that are hashed.
        fn left(&self) -> (usize, usize) {
            let unit = self.unit.lock();
            (unit.left.len(), unit.left_hashed)
        }
    }

    #[test]
    fn messages_found_new_are_hashed_with_the_ids_of_those_that_come_next() {
        let mut path = Path::new();
        path.push(1..4, false);
        assert!(path.invoker.turn());
        assert_eq!((path.out(), path.left()), (vec![], (3, 0)), "they wait for the next turn");
        path.push(4..30, false);
        assert!(path.invoker.turn());
        assert_eq!(path.out(), [1, 2, 3], "hashed along with ids, since others were left in their place");
        assert_eq!(path.left(), (26, 0));
        path.invoker.turn_until_idle();
        assert_eq!((path.out(), path.left()), ((4..30).collect(), (0, 0)), "and when no more come, at once");
        assert_eq!(path.arena.slots_in_use(), 0);
    }

    #[test]
    fn nothing_waits_once_nothing_else_is_ready() {
        let mut path = Path::new();
        path.push(1..20, false);
        assert!(path.invoker.turn());
        // The next turn finds no id to hash: whatever is left is hashed in it, and the one after has nothing to do.
        assert!(path.invoker.turn());
        assert_eq!((path.out(), path.left()), ((1..20).collect(), (0, 0)));
        assert!(!path.invoker.turn());
    }

    #[test]
    fn both_stages_together_hash_no_more_than_a_batch_at_once() {
        let mut path = Path::new();
        path.push(1..41, false);
        path.invoker.turn();
        assert_eq!(path.left(), (40, 0));
        path.push(41..91, false);
        path.invoker.turn();
        let out = path.out();
        assert_eq!(out[..14], (1..15).collect::<Vec<_>>(), "beside fifty ids fourteen find room");
        path.invoker.turn_until_idle();
        assert_eq!([out, path.out()].concat(), (1..91).collect::<Vec<_>>(), "and all keep their order");
        assert_eq!(path.left(), (0, 0));

        let (mut room, megabytes) = (Room::new(), 1_000_000);
        room.take(7 * megabytes);
        assert!(room.admit(megabytes / 2) && room.admit(megabytes) && !room.admit(1), "no more once 8 MB are in");
    }

    #[test]
    fn messages_whose_ids_are_known_are_not_kept_back() {
        let mut path = Path::new();
        path.push(1..50, true);
        path.invoker.turn();
        assert_eq!(path.out(), (1..50).collect::<Vec<_>>());
        // Left, and then overtaken by none that come with their ids.
        path.push(50..60, false);
        path.invoker.turn();
        path.push(60..70, true);
        path.invoker.turn();
        assert_eq!(path.out(), (50..70).collect::<Vec<_>>());
    }

    #[test]
    fn a_drain_passes_on_what_was_left() {
        let mut path = Path::new();
        path.push(1..30, false);
        path.invoker.turn();
        assert_eq!(path.left(), (29, 0));
        assert!(path.invoker.drain());
        assert_eq!(path.out(), (1..30).collect::<Vec<_>>());
    }
}
