use std::sync::{Arc, Mutex};

use levada_archive::{DatabaseUrl, Query, RetentionPolicy};
use levada_engine::{Arena, ArenaConfig, Invoker, Waker};
use levada_stages::answer::Answers;
use levada_stages::archive::GroupCommit;
use levada_stages::event::Interest;
use levada_stages::filter;
use levada_stages::unix_ns;
use levada_wire::hash;
use levada_wire::waku::message::Message;
use levada_wire::waku::{Origin, RejectReason, Verdict, WakuRecord};

use super::{Ends, PathWorkers, Plan, Shared, Wakers, draw};

const TOPIC: &str = "/waku/2/rs/0/0";
const MESSAGE_BYTES_MAX: usize = 150 << 10;

struct Path {
    arena: Arc<Arena<WakuRecord>>,
    shared: Shared,
    ends: Ends,
    told: Arc<Told>,
    invoker: Invoker<WakuRecord>,
    reader: Box<dyn levada_archive::ArchiveReader>,
    topic: u32,
}

/// The answers, in the order in which they were given.
#[derive(Debug, Default)]
struct Told(Mutex<Vec<WakuRecord>>);

impl Answers for Told {
    fn answer(&self, record: &WakuRecord) {
        self.0.lock().expect("nobody panics with it").push(*record);
    }
}

impl Path {
    fn new(lanes: usize) -> Self {
        let arena = Arena::new(&ArenaConfig::with_budget(64 << 20, MESSAGE_BYTES_MAX + (16 << 10))).expect("64 MiB");
        let shared = Shared::new(50, 64 << 20, filter::Limits::default());
        let topic = shared.topics.intern(TOPIC).expect("an empty table");
        let archive = levada_archive::open(&DatabaseUrl::SqliteMemory).expect("an archive in memory");
        let reader = archive.reader().expect("a reader");
        let retention = RetentionPolicy::default();
        let told = Arc::<Told>::default();
        let plan = Plan {
            workers: PathWorkers::new(lanes),
            message_bytes_max: MESSAGE_BYTES_MAX,
            archive: Some(archive),
            retention,
            commit: GroupCommit::default(),
            resume: true,
            answers: told.clone(),
        };
        let quiet = Waker::from_callback(|| {});
        let wakers = Wakers { egress: quiet.clone(), wanted: quiet };
        let (topology, ends) = draw(arena.clone(), &shared, plan, &wakers).expect("the drawing is sound");
        Self { arena, shared, ends, told, invoker: topology.invoker(), reader, topic }
    }

    fn send(&self, lane: usize, data: &[u8], origin: Origin, ticket: u64) {
        let mut slot = self.arena.claim(data.len()).expect("the arena has room");
        slot.fill(data);
        *slot.record_mut() = WakuRecord { topic: self.topic, peer: 7, origin, ticket, ..WakuRecord::default() };
        assert!(self.ends.ingress[lane].push(slot.share()).is_ok());
    }

    /// As it comes from another node's archive.
    fn resume(&self, data: &[u8], ticket: u64) {
        let mut slot = self.arena.claim(data.len()).expect("the arena has room");
        slot.fill(data);
        *slot.record_mut() = WakuRecord { topic: self.topic, origin: Origin::Resume, ticket, ..WakuRecord::default() };
        assert!(self.ends.resume.as_ref().expect("the plan has it").push(slot.share()).is_ok());
    }

    /// Turns the path, and gives what came out to the network and as answers.
    fn turn(&mut self) -> (Vec<WakuRecord>, Vec<WakuRecord>) {
        self.invoker.turn_until_idle();
        let drain = |sinks: &mut Vec<levada_engine::Sink<WakuRecord>>| {
            sinks.iter_mut().flat_map(|sink| std::iter::from_fn(|| sink.pop())).map(|held| held.record()).collect()
        };
        (drain(&mut self.ends.egress), std::mem::take(&mut self.told.0.lock().expect("nobody panics with it")))
    }
}

fn encode(payload: &[u8], timestamp: i64) -> Vec<u8> {
    let message = Message { payload, content_topic: "/t/1/a/proto", timestamp, ..Message::default() };
    let mut data = vec![0; message.encoded_len()];
    message.encode_into(&mut data).expect("the buffer fits");
    data
}

#[test]
fn a_received_message_is_accepted_cached_and_archived_once() {
    let mut path = Path::new(1);
    path.shared.events.open(Interest::Topic(path.topic));
    path.shared.events.open(Interest::ContentTopic(path.topic, "/t/1/a/proto"));
    let now = unix_ns();
    let data = encode(b"hello", now);
    path.send(0, &data, Origin::Gossip, 0);
    path.send(0, &data, Origin::Gossip, 0);
    let (egress, answers) = path.turn();
    let verdicts: Vec<_> = egress.iter().map(|record| record.verdict).collect();
    assert!(verdicts.contains(&Verdict::Accept) && verdicts.contains(&Verdict::Ignore), "{verdicts:?}");
    assert!(answers.is_empty(), "nobody waits");
    let hash = hash::message_hash(TOPIC, b"hello", "/t/1/a/proto", b"", now);
    let page = path.reader.query(&Query { include_data: true, ..Query::default() }).expect("the archive answers");
    assert_eq!(page.messages.iter().map(|message| message.hash).collect::<Vec<_>>(), [hash]);
    let everything = (i64::MIN, [0; 32])..(i64::MAX, [0; 32]);
    assert_eq!(path.shared.sync.keys(path.topic, &everything, 9), [(now, hash)]);
    let cached = path.shared.events.take(Interest::Topic(path.topic)).expect("the topic is open");
    assert_eq!(cached.len(), 1);
    assert_eq!(cached[0].payload(), data);
    let by_content = path.shared.events.take(Interest::ContentTopic(path.topic, "/t/1/a/proto"));
    assert_eq!(by_content.map(|cached| cached.len()), Some(1));
    drop(cached);
    assert_eq!(path.arena.slots_in_use(), 0);
}

#[test]
fn a_bad_message_is_rejected_and_takes_no_good_one_with_it() {
    let mut path = Path::new(2);
    let good = encode(b"good", unix_ns());
    let large = encode(&vec![1; MESSAGE_BYTES_MAX], unix_ns());
    path.send(0, b"\xff\xff\xff", Origin::Gossip, 0);
    path.send(0, &good, Origin::Gossip, 0);
    path.send(1, &large, Origin::Gossip, 0);
    path.send(1, b"", Origin::Gossip, 0);
    let (egress, _) = path.turn();
    let mut outcomes: Vec<_> = egress.iter().map(|record| (record.verdict, record.reject_reason)).collect();
    outcomes.sort_by_key(|outcome| format!("{outcome:?}"));
    let rejected = |reason| (Verdict::Reject, reason);
    let expected = [
        (Verdict::Accept, RejectReason::None),
        rejected(RejectReason::Malformed),
        rejected(RejectReason::Malformed),
        rejected(RejectReason::TooLarge),
    ];
    assert_eq!(outcomes, expected);
    assert_eq!(path.arena.slots_in_use(), 0);
}

#[test]
fn whoever_publishes_is_answered_whatever_happens() {
    let mut path = Path::new(1);
    let now = unix_ns();
    path.send(0, &encode(b"stored", now), Origin::Publish, 1);
    path.send(0, &encode(b"too old to store", now - 60_000_000_000), Origin::Publish, 2);
    path.send(0, b"\x07", Origin::Publish, 3);
    path.send(0, &encode(b"stored", now), Origin::Publish, 4);
    let (egress, mut answers) = path.turn();
    answers.sort_by_key(|record| record.ticket);
    let outcomes: Vec<_> = answers.iter().map(|record| (record.ticket, record.verdict)).collect();
    assert_eq!(outcomes, [(1, Verdict::Accept), (2, Verdict::Accept), (3, Verdict::Reject), (4, Verdict::Accept)]);
    assert_eq!(egress.len(), 3, "only accepted messages are published, and a repetition is one");
    assert_eq!((path.shared.archived.stored.value(), path.shared.backlog.too_old.value()), (1, 1));
    assert_eq!(path.shared.sync.counts(), [(path.topic, 1)], "what is not stored is not synced");
    assert_eq!(path.shared.backlog.bytes(), 0);
}

#[test]
fn what_another_archive_gives_goes_to_this_one_and_nowhere_else() {
    let mut path = Path::new(1);
    path.shared.events.open(Interest::Topic(path.topic));
    let now = unix_ns();
    let (old, young) = (encode(b"old", now - 3_000_000_000_000), encode(b"young", now));
    let ephemeral = [&young[..], &[0xf8, 1, 1]].concat();
    for (ticket, data) in (1..).zip([&old[..], &old, &ephemeral, b"\x07", &young, &vec![7; MESSAGE_BYTES_MAX + 1]]) {
        path.resume(data, ticket);
    }
    let (egress, mut answers) = path.turn();
    assert!(egress.is_empty(), "nothing is relayed");
    answers.sort_by_key(|record| record.ticket);
    let outcomes: Vec<_> = answers.iter().map(|record| (record.verdict, record.unstored)).collect();
    let (accepted, rejected) = ((Verdict::Accept, false), (Verdict::Reject, false));
    assert_eq!(outcomes, [accepted, accepted, accepted, rejected, accepted, rejected]);
    let cached = path.shared.events.take(Interest::Topic(path.topic)).expect("the topic is open");
    assert!(cached.is_empty() && path.shared.traffic.rows().all(|row| row.messages == 0));
    assert_eq!((path.shared.validated.accepted.value(), path.shared.validated.rejected.value()), (0, 0));
    let counts = |path: &Path| (path.shared.archived.stored.value(), path.shared.archived.duplicates.value());
    assert_eq!((counts(&path), path.shared.backlog.ephemeral.value()), ((2, 1), 1));
    assert_eq!(path.shared.sync.counts(), [(path.topic, 2)], "other nodes may have them from here");

    path.send(0, &young, Origin::Gossip, 0);
    let (egress, _) = path.turn();
    assert_eq!(
        egress.iter().map(|record| (record.verdict, record.repeated)).collect::<Vec<_>>(),
        [(Verdict::Accept, false)]
    );
    let cached = path.shared.events.take(Interest::Topic(path.topic)).expect("the topic is open");
    assert_eq!((cached.len(), counts(&path)), (1, (2, 2)), "from a peer it is as new as it was");
    drop(cached);
    assert_eq!((path.arena.slots_in_use(), path.shared.backlog.bytes()), (0, 0));
}

#[test]
fn a_drain_stores_what_was_accepted() {
    let mut path = Path::new(2);
    for number in 0..200_u32 {
        path.send(number as usize % 2, &encode(&number.to_be_bytes(), unix_ns()), Origin::Gossip, 0);
    }
    while !path.invoker.drain() {
        path.ends.egress.iter_mut().for_each(|sink| while sink.pop().is_some() {});
    }
    assert_eq!(path.shared.archived.stored.value(), 200);
    path.ends.egress.iter_mut().for_each(|sink| while sink.pop().is_some() {});
    assert!(path.ends.egress.iter().all(levada_engine::Sink::is_finished));
    assert_eq!(path.arena.slots_in_use(), 0);
}
