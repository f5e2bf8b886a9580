//! `relay` beside a shared buffer in two queues.

use std::collections::VecDeque;

use bytes::Bytes;
use criterion::Criterion;
use levada_stages::relay::Relay;

use crate::comparison::Comparison;
use crate::repeat::repeat;
use crate::through::{SMALL, Slots, Through, as_it_is, ticket};

pub fn relay(criterion: &mut Criterion) {
    let mut comparison = Comparison::new(criterion, "stage_relay", SMALL.len() as u64);
    let plain = Slots::new(&SMALL).plain();
    let shared: Vec<(Bytes, u64)> = plain.into_iter().map(|plain| (plain.data.into(), plain.record.ticket)).collect();
    let mut stage = Through::new(Slots::new(&SMALL), Relay);
    comparison.bench("stage", move |iterations| repeat(iterations, || stage.pass(as_it_is, ticket)));
    let mut empty = Through::empty(Slots::new(&SMALL));
    // What goes out twice counts twice.
    comparison.bench("empty_stage", move |iterations| repeat(iterations, || 2 * empty.pass(as_it_is, ticket)));
    let (mut out, mut on) = (VecDeque::with_capacity(shared.len()), VecDeque::with_capacity(shared.len()));
    comparison.bench("bytes_in_two_queues", move |iterations| {
        repeat(iterations, || {
            for message in &shared {
                out.push_back(message.clone());
                on.push_back(message.clone());
            }
            out.drain(..).chain(on.drain(..)).map(|(_, ticket)| ticket).sum()
        })
    });
    comparison.finish();
}
