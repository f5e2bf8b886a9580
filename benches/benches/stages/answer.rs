//! `answer` beside the filter it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use criterion::Criterion;
use levada_stages::answer::{Answer, Answers};
use levada_wire::waku::WakuRecord;

use crate::comparison::Comparison;
use crate::repeat::repeat;
use crate::through::{SMALL, Slots, Through, as_it_is, ticket};

/// Adds up the tickets it is told.
#[derive(Debug, Default)]
struct Sum(AtomicU64);

impl Answers for Sum {
    fn answer(&self, record: &WakuRecord) {
        self.0.store(self.0.load(Relaxed).wrapping_add(record.ticket), Relaxed);
    }
}

pub fn answer(criterion: &mut Criterion) {
    let plain = Slots::new(&SMALL).plain();
    let mut waiting = Vec::with_capacity(plain.len());
    let mut comparison = Comparison::new(criterion, "stage_answer", SMALL.len() as u64);
    let sum = Arc::<Sum>::default();
    let mut stage = Through::new(Slots::new(&SMALL), Answer::new(sum.clone()));
    comparison.bench("stage", move |iterations| {
        repeat(iterations, || {
            stage.end();
            sum.0.swap(0, Relaxed)
        })
    });
    let mut empty = Through::empty(Slots::new(&SMALL));
    comparison.bench("empty_stage", move |iterations| repeat(iterations, || empty.pass(as_it_is, ticket)));
    comparison.bench("direct_calls", |iterations| {
        repeat(iterations, || {
            waiting.extend(plain.iter().filter(|message| message.record.ticket != 0));
            waiting.drain(..).map(|message| message.record.ticket).sum()
        })
    });
    comparison.finish();
}
