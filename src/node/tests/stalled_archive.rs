//! A disk that stands still: relaying goes on, and when it moves again everything that waited is stored.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use levada::bench_service::stall::latency_p99_us;
use levada::topology::{Ends, PathWorkers, Plan, Shared, Wakers, draw};
use levada_archive::{
    Archive, ArchiveError, ArchiveMessage, ArchiveReader, DatabaseUrl, InsertOutcome, Query, RetentionPolicy,
};
use levada_engine::{Arena, ArenaConfig, Drained, Waker};
use levada_stages::archive::GroupCommit;
use levada_stages::{filter, unix_ns};
use levada_wire::waku::message::Message;
use levada_wire::waku::{Origin, Verdict, WakuRecord};
use rusqlite::Connection;

const TOPIC: &str = "/waku/2/rs/0/0";
const MESSAGE_BYTES_MAX: usize = 150 << 10;
const MESSAGES: u64 = 500;
/// A test that hangs is ended by then.
const PATIENCE: Duration = Duration::from_secs(120);

/// Lets nobody through until it is opened, and tells whether somebody stands before it.
#[derive(Default)]
struct Gate {
    state: Mutex<(bool, bool)>,
    moved: Condvar,
}

impl Gate {
    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.1 = true;
        self.moved.notify_all();
        drop(self.moved.wait_while(state, |state| !state.0).unwrap());
    }

    fn wait_until_reached(&self) {
        let state = self.state.lock().unwrap();
        let (_state, waited) = self.moved.wait_timeout_while(state, PATIENCE, |state| !state.1).unwrap();
        assert!(!waited.timed_out(), "the archive was never asked to store anything");
    }

    fn open(&self) {
        self.state.lock().unwrap().0 = true;
        self.moved.notify_all();
    }
}

/// An archive that stores a batch when its gate is open.
struct Stalled {
    archive: Box<dyn Archive>,
    gate: Arc<Gate>,
}

impl Archive for Stalled {
    fn insert_batch<'a>(
        &mut self,
        batch: &mut dyn Iterator<Item = ArchiveMessage<'a>>,
    ) -> Result<InsertOutcome, ArchiveError> {
        self.gate.pass();
        self.archive.insert_batch(batch)
    }

    fn reader(&self) -> Result<Box<dyn ArchiveReader>, ArchiveError> {
        self.archive.reader()
    }

    fn clear(&mut self) -> Result<(), ArchiveError> {
        self.archive.clear()
    }

    fn message_count(&self) -> Result<u64, ArchiveError> {
        self.archive.message_count()
    }

    fn location(&self) -> String {
        self.archive.location()
    }

    fn close(self: Box<Self>) -> Result<(), ArchiveError> {
        self.archive.close()
    }
}

fn encode(number: u64) -> Vec<u8> {
    let mut payload = vec![0; 10_000];
    payload[..8].copy_from_slice(&number.to_be_bytes());
    let message =
        Message { payload: &payload, content_topic: "/t/1/a/proto", timestamp: unix_ns(), ..Message::default() };
    let mut data = vec![0; message.encoded_len()];
    message.encode_into(&mut data).unwrap();
    data
}

#[test]
fn relaying_goes_on_while_the_archive_stands_still_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let archive = levada_archive::open(&DatabaseUrl::Sqlite(folder.path().join("levada.sqlite3"))).unwrap();
    let (gate, mut reader) = (Arc::new(Gate::default()), archive.reader().unwrap());
    let archive: Box<dyn Archive> = Box::new(Stalled { archive, gate: gate.clone() });
    let arena = Arena::new(&ArenaConfig::with_budget(64 << 20, MESSAGE_BYTES_MAX)).unwrap();
    let shared = Shared::new(50, 64 << 20, filter::Limits::default());
    let topic = shared.topics.intern(TOPIC).unwrap();
    let plan = Plan {
        workers: PathWorkers::new(1),
        message_bytes_max: MESSAGE_BYTES_MAX,
        archive: Some(archive),
        retention: RetentionPolicy::default(),
        commit: GroupCommit::default(),
        resume: false,
        answers: Arc::new(()),
    };
    let quiet = Waker::from_callback(|| {});
    let wakers = Wakers { egress: quiet.clone(), wanted: quiet };
    let (topology, Ends { ingress, mut egress, .. }) = draw(arena.clone(), &shared, plan, &wakers).unwrap();
    let running = topology.run().unwrap();
    let (mut sent, mut accepted) = (0, 0);
    let started = Instant::now();
    while accepted < MESSAGES {
        assert!(started.elapsed() < PATIENCE, "{accepted} of {sent} messages came through");
        if sent < MESSAGES {
            let data = encode(sent);
            let mut slot = arena.claim(data.len()).unwrap();
            slot.fill(&data);
            *slot.record_mut() = WakuRecord { topic, peer: 7, origin: Origin::Gossip, ..WakuRecord::default() };
            assert!(ingress[0].push(slot.share()).is_ok());
            sent += 1;
        }
        while let Some(held) = egress[0].pop() {
            assert_eq!(held.record().verdict, Verdict::Accept);
            accepted += 1;
        }
    }
    gate.wait_until_reached();
    assert_eq!((shared.archived.stored.value(), shared.backlog.full.value()), (0, 0));
    gate.open();
    assert_eq!(running.drain(PATIENCE), Drained::Complete);
    assert_eq!((shared.archived.stored.value(), shared.backlog.full.value()), (MESSAGES, 0));
    let mut query = Query { page_size: Some(100), ..Query::default() };
    let mut found = 0;
    loop {
        let page = reader.query(&query).unwrap();
        found += page.messages.len() as u64;
        query.cursor = page.cursor;
        if query.cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, MESSAGES);
}

/// What the comparison's row measures, for a second: whole nodes relay while another program holds the index, and nothing is lost.
#[test]
fn whole_nodes_go_on_relaying() {
    let folder = tempfile::tempdir().unwrap();
    let hold = |index: &Path| {
        let conn = Connection::open(index).unwrap();
        conn.busy_timeout(PATIENCE).unwrap();
        conn.execute_batch("BEGIN IMMEDIATE").unwrap();
        conn
    };
    assert!(latency_p99_us(folder.path(), 1, hold) > 0.0);
}
