//! A node's topology.
//!
//! ```text
//!  connections → inbound → chunk_parse → admit → chunk_hash → policy → archive → reply → answers → connections
//!                               └ get ──────────→ fetch ───────────────────────────┘
//! ```
//!
//! What is refused leaves each stage for `reply`. `policy`, `archive` and `fetch` block, so each has a worker of its own; the
//! others share one.

use std::sync::Arc;
use std::time::Duration;

use levada_engine::{
    Arena, Drained, LinkConfig, Policy as LinkPolicy, Running, Sink, Source, TopologyBuilder, TopologyError, Wait,
    Waker,
};

use crate::stages::{
    Admission, Admit, ChunkArchive, ChunkFiles, ChunkHash, ChunkParse, ChunkRecord, Fetch, PaymentVerifier, Policy,
    Replies, Reply,
};

/// Links hold few messages: what bounds them is the arena.
const LINK: LinkConfig = LinkConfig { capacity: 256, policy: LinkPolicy::Reliable };

/// The running stages and their ends.
#[derive(Debug)]
pub(super) struct Path {
    running: Running,
    pub source: Source<ChunkRecord>,
}

/// What the stages share with the rest of the node.
#[derive(Debug)]
pub(super) struct Shared {
    pub files: Arc<ChunkFiles>,
    pub admission: Arc<Admission>,
    pub replies: Arc<Replies>,
    pub requires_signature: bool,
}

impl Path {
    /// Starts the workers; `waker` is told of each batch of answers.
    pub fn start(
        arena: Arc<Arena<ChunkRecord>>,
        shared: &Shared,
        verifier: Box<dyn PaymentVerifier>,
        waker: Waker,
    ) -> Result<(Self, Sink<ChunkRecord>), TopologyError> {
        let mut drawing = TopologyBuilder::new(arena);
        drawing.default_wait(Wait::Eco);
        let [path, policy, archive, fetch] =
            ["path", "policy", "archive", "fetch"].map(|name| drawing.blocking_worker(name));
        let files = || shared.files.clone();
        let parse = drawing.stage(path, "chunk_parse", ChunkParse::new(shared.requires_signature));
        let admit = drawing.stage(path, "admit", Admit::new(shared.admission.clone()));
        let hash = drawing.stage(path, "chunk_hash", ChunkHash::checking());
        let policy = drawing.stage(policy, "policy", Policy::new(files(), verifier));
        let archive = drawing.stage(archive, "archive", ChunkArchive::new(files()));
        let fetch = drawing.stage(fetch, "fetch", Fetch::new(files()));
        let reply = drawing.stage(path, "reply", Reply::new(shared.admission.clone(), shared.replies.clone()));
        for (from, port, to) in [
            (parse, "put", admit),
            (parse, "get", fetch),
            (parse, "answered", reply),
            (admit, "next", hash),
            (admit, "answered", reply),
            (hash, "next", policy),
            (hash, "answered", reply),
            (policy, "next", archive),
            (policy, "answered", reply),
            (archive, "next", reply),
            (fetch, "next", reply),
        ] {
            drawing.link_with(from, port, to, LINK);
        }
        let source = drawing.source("inbound", parse, LINK.capacity);
        let sink = drawing.sink("answers", reply, "answers", LINK, waker);
        Ok((Self { running: drawing.build()?.run()?, source }, sink))
    }

    /// Refuses new messages and lets those inside go all the way.
    pub fn begin_drain(&self) {
        self.running.begin_drain();
    }

    /// Ends the workers, after `limit` at the latest.
    pub fn drain(self, limit: Duration) -> Drained {
        self.running.drain(limit)
    }
}
