//! `id_hash` and `message_hash` with a unit in common, beside a unit for each: 16 messages arrive in a turn, and all of them are
//! new, or one in four.

use criterion::Criterion;
use levada_benches::workload::payload_sizes;
use levada_engine::{Batch, Held, Invoker, LinkConfig, Outputs, Policy, Sink, Source, Stage, TopologyBuilder, Waker};
use levada_stages::HashUnit;
use levada_stages::id_hash::IdHash;
use levada_stages::message_hash::MessageHash;
use levada_wire::waku::WakuRecord;

use crate::comparison::Comparison;
use crate::hash::first_bytes;
use crate::repeat::repeat;
use crate::through::Slots;

/// Messages that arrive in a turn.
const ARRIVALS: usize = 16;

/// In the place of `seen`: of as many messages one is new.
struct Sieve(u64);

impl Stage<WakuRecord> for Sieve {
    fn ports(&self) -> &'static [&'static str] {
        &["new", "duplicate"]
    }

    fn process(&mut self, batch: &mut Batch<'_, WakuRecord>, outputs: &mut Outputs<'_, WakuRecord>) {
        for envelope in batch {
            let port = usize::from(envelope.record().ticket % self.0 != 0);
            outputs.send(port, envelope);
        }
    }
}

/// The two stages with the sieve between them.
struct Path {
    source: Source<WakuRecord>,
    sinks: [Sink<WakuRecord>; 2],
    invoker: Invoker<WakuRecord>,
    messages: Vec<Held<WakuRecord>>,
}

impl Path {
    fn new(one_in: u64, units: impl Fn(&Slots) -> [HashUnit; 2]) -> Self {
        let slots = Slots::new(&payload_sizes(42, 512));
        let [of_ids, of_messages] = units(&slots);
        let Slots { arena, messages, .. } = slots;
        let mut drawing = TopologyBuilder::new(arena);
        let worker = drawing.worker("path");
        let id_hash = drawing.stage(worker, "id_hash", IdHash::new(of_ids));
        let sieve = drawing.stage(worker, "sieve", Sieve(one_in));
        let message_hash = drawing.stage(worker, "message_hash", MessageHash::new(of_messages));
        drawing.link(id_hash, "next", sieve);
        drawing.link(sieve, "new", message_hash);
        let link = LinkConfig { capacity: 1_024, policy: Policy::Reliable };
        let sinks = [(message_hash, "next"), (sieve, "duplicate")]
            .map(|(stage, port)| drawing.sink(port, stage, port, link, Waker::from_callback(|| {})));
        let source = drawing.source("in", id_hash, 1_024);
        Self { source, sinks, invoker: drawing.build().expect("the drawing is sound").invoker(), messages }
    }

    fn pass(&mut self) -> u64 {
        for (number, message) in self.messages.drain(..).enumerate() {
            let mut envelope = message.attach(self.source.arena()).expect("the messages lie in this arena");
            let record = envelope.record_mut().expect("a message has one handle");
            (record.id_known, record.hash, record.hashed) = (false, [0; 32], false);
            assert!(self.source.push(envelope).is_ok(), "the link holds all messages");
            if number % ARRIVALS == ARRIVALS - 1 {
                self.invoker.turn();
            }
        }
        self.invoker.turn_until_idle();
        self.messages.extend(self.sinks.iter_mut().flat_map(|sink| std::iter::from_fn(|| sink.pop())));
        let digests = |message: &Held<WakuRecord>| {
            first_bytes(&message.record().id).wrapping_add(first_bytes(&message.record().hash))
        };
        self.messages.iter().map(digests).fold(0, u64::wrapping_add)
    }
}

pub fn shared_lanes(criterion: &mut Criterion) {
    for one_in in [1, 4] {
        let mut comparison = Comparison::new(criterion, &format!("shared_lanes_1_in_{one_in}_new"), 512);
        let mut shared = Path::new(one_in, |slots| {
            let unit = HashUnit::new(slots.topics.clone());
            [unit.clone(), unit]
        });
        comparison.bench("unit_in_common", move |iterations| repeat(iterations, || shared.pass()));
        let mut separate = Path::new(one_in, |slots| [(), ()].map(|()| HashUnit::new(slots.topics.clone())));
        comparison.bench("unit_for_each", move |iterations| repeat(iterations, || separate.pass()));
        comparison.finish();
    }
}
