//! `trace` beside a map by topic name behind a lock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use criterion::Criterion;
use levada_benches::workload::PUBSUB_TOPIC;
use levada_stages::trace::{TopicTraffic, Trace};

use crate::comparison::Comparison;
use crate::repeat::repeat;
use crate::through::{SMALL, Slots, Through, as_it_is, ticket};

pub fn trace(criterion: &mut Criterion) {
    let mut comparison = Comparison::new(criterion, "stage_trace", SMALL.len() as u64);
    let slots = Slots::new(&SMALL);
    let plain = slots.plain();
    let traffic = Arc::new(TopicTraffic::new(slots.topics.clone()));
    let mut stage = Through::new(slots, Trace::new(traffic));
    comparison.bench("stage", move |iterations| repeat(iterations, || stage.pass(as_it_is, ticket)));
    let mut empty = Through::empty(Slots::new(&SMALL));
    comparison.bench("empty_stage", move |iterations| repeat(iterations, || empty.pass(as_it_is, ticket)));
    let rows: Mutex<HashMap<String, (u64, u64)>> = Mutex::default();
    comparison.bench("map_behind_lock", move |iterations| {
        repeat(iterations, || {
            let mut work = 0;
            for message in &plain {
                let mut rows = rows.lock().expect("nobody panics");
                if !rows.contains_key(PUBSUB_TOPIC) {
                    rows.insert(PUBSUB_TOPIC.to_owned(), (0, 0));
                }
                let row = rows.get_mut(PUBSUB_TOPIC).expect("it was inserted");
                *row = (row.0 + 1, row.1 + message.data.len() as u64);
                work += message.record.ticket;
            }
            work
        })
    });
    comparison.finish();
}
