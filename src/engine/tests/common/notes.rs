//! A stage that notes what it gets, and a line of one stage, for the tests that turn a topology by hand.

use std::sync::{Arc, Mutex};

use levada_engine::{Arena, Batch, BatchLimit, Invoker, Outputs, Policy, Sink, Source, Stage, TopologyBuilder};

use crate::by_hand::{config, silent};
use crate::common::Pass;

/// Takes at most `per_call` of each batch and notes what it was given and what it took.
pub struct Notes {
    limit: BatchLimit,
    per_call: usize,
    pub taken: Arc<Mutex<Vec<u64>>>,
    pub batches: Arc<Mutex<Vec<usize>>>,
}

impl Notes {
    /// The limits of a batch, and how many of it to take.
    pub fn new(envelopes: usize, payload_bytes: usize, per_call: usize) -> Self {
        let limit = BatchLimit { envelopes, payload_bytes };
        Self { limit, per_call, taken: Arc::default(), batches: Arc::default() }
    }
}

impl Stage<u64> for Notes {
    fn ports(&self) -> &'static [&'static str] {
        &[]
    }

    fn batch_limit(&self) -> BatchLimit {
        self.limit
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>) {
        self.batches.lock().unwrap().push(batch.len());
        let peeked: Vec<u64> = batch.peek().map(|view| *view.record).collect();
        let taken: Vec<u64> = batch.take(self.per_call).map(|envelope| *envelope.record()).collect();
        assert_eq!(taken, peeked[..taken.len()]);
        self.taken.lock().unwrap().extend(taken);
    }
}

/// source "in" -> `Pass` "pass" -> sink "end" of 256.
pub fn line(arena: &Arc<Arena<u64>>, policy: Policy) -> (Source<u64>, Invoker<u64>, Sink<u64>) {
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker = drawing.worker("w0");
    let pass = drawing.stage(worker, "pass", Pass);
    let source = drawing.source("in", pass, 1024);
    let sink = drawing.sink("end", pass, "out", config(policy), silent());
    (source, drawing.build().unwrap().invoker(), sink)
}
