//! Cuts a file into chunks: a thread reads each into a slot, and the engine's `chunk_hash` gives it its address.
//!
//! ```text
//!  file → slot (as soon as the gate and the arena let one in) → chunk_hash → addressed → fanout
//! ```

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use levada_engine::{
    Arena, ClaimError, Held, LinkConfig, Policy, PushError, Running, Sink, Source, TopologyBuilder, TopologyError,
    Wait, Waker,
};
use levada_wire::Span;
use levada_wire::autonomi::CHUNK_BYTES_MAX;
use tokio::sync::Notify;

use super::data_map::DataMap;
use super::gate::Gate;
use super::progress::Progress;
use crate::stages::{ChunkHash, ChunkRecord};

/// The link holds more chunks than are ever under way.
const LINK: LinkConfig = LinkConfig { capacity: 256, policy: Policy::Reliable };

/// Pause between two attempts to claim a slot that a slow peer's connection still keeps.
const CLAIM_AGAIN_AFTER: Duration = Duration::from_millis(1);

/// The hash stage with its ends.
#[derive(Debug)]
pub(super) struct Cutter {
    arena: Arc<Arena<ChunkRecord>>,
    source: Source<ChunkRecord>,
    sink: Sink<ChunkRecord>,
    ready: Arc<Notify>,
    _running: Running,
}

/// What the reading thread works on.
pub(super) struct Job {
    pub file: File,
    pub file_bytes: u64,
    pub gate: Arc<Gate>,
    pub progress: Arc<Progress>,
}

impl Cutter {
    pub fn start(arena: Arc<Arena<ChunkRecord>>) -> Result<Self, TopologyError> {
        let ready = Arc::new(Notify::new());
        let woken = ready.clone();
        let mut drawing = TopologyBuilder::new(arena.clone());
        drawing.default_wait(Wait::Eco);
        let worker = drawing.blocking_worker("hash");
        let hash = drawing.stage(worker, "chunk_hash", ChunkHash::naming());
        drawing.discard(hash, "answered");
        let source = drawing.source("chunks", hash, LINK.capacity);
        let sink = drawing.sink("addressed", hash, "next", LINK, Waker::from_callback(move || woken.notify_one()));
        Ok(Self { arena, source, sink, ready, _running: drawing.build()?.run()? })
    }

    /// The next chunk that has its address.
    pub async fn next(&mut self) -> Held<ChunkRecord> {
        loop {
            let notified = self.ready.notified();
            if let Some(chunk) = self.sink.pop() {
                return chunk;
            }
            notified.await;
        }
    }

    /// Reads the file's chunks one after another, each as soon as the gate lets it in, until the gate is closed; gives how many
    /// were read, and what ended it. Blocks.
    pub fn reading(&self) -> impl FnOnce(Job) -> (u64, io::Result<()>) + Send + 'static {
        let (arena, source) = (self.arena.clone(), self.source.clone());
        move |job| {
            let (read, outcome) = read_chunks(&arena, &source, &job);
            if outcome.is_err() {
                job.gate.close();
            }
            (read, outcome)
        }
    }
}

fn read_chunks(arena: &Arena<ChunkRecord>, source: &Source<ChunkRecord>, job: &Job) -> (u64, io::Result<()>) {
    let chunks = DataMap::chunks_of(job.file_bytes, CHUNK_BYTES_MAX);
    for number in 0..chunks {
        if !job.gate.enter() {
            return (number, Ok(()));
        }
        let bytes = DataMap::bytes_of(job.file_bytes, CHUNK_BYTES_MAX, number);
        let read = read_chunk(arena, source, job, number, bytes);
        if !matches!(read, Ok(true)) {
            job.gate.leave();
            return (number, read.map(|_| ()));
        }
    }
    (chunks, Ok(()))
}

/// Reads one chunk; false when the gate is closed before there is a slot for it.
fn read_chunk(
    arena: &Arena<ChunkRecord>,
    source: &Source<ChunkRecord>,
    job: &Job,
    number: u64,
    bytes: usize,
) -> io::Result<bool> {
    let mut slot = loop {
        match arena.claim(bytes) {
            Ok(slot) => break slot,
            Err(ClaimError::Full { .. }) if job.gate.is_closed() => return Ok(false),
            Err(ClaimError::Full { .. }) => std::thread::sleep(CLAIM_AGAIN_AFTER),
            Err(error) => return Err(io::Error::other(error)),
        }
    };
    job.file.read_exact_at(&mut slot.payload_mut()[..bytes], number * CHUNK_BYTES_MAX as u64)?;
    slot.set_len(bytes);
    let content = Span { start: 0, len: bytes as u32 };
    // The number of the chunk travels where a request's would.
    *slot.record_mut() = ChunkRecord { request_id: number, content, ..ChunkRecord::default() };
    job.progress.sets_out(bytes);
    let mut envelope = slot.share();
    loop {
        match source.push(envelope) {
            Ok(()) => return Ok(true),
            Err(PushError::Full(back)) => envelope = back,
            Err(PushError::Closed(_)) => return Err(io::Error::other("the hash stage has ended")),
        }
        std::thread::sleep(CLAIM_AGAIN_AFTER);
    }
}
