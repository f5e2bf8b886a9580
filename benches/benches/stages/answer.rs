//! `answer` beside the filter it is.

use criterion::Criterion;
use levada_stages::answer::Answer;

use crate::comparison::Comparison;
use crate::repeat::repeat;
use crate::through::{SMALL, Slots, Through, as_it_is, ticket};

pub fn answer(criterion: &mut Criterion) {
    let plain = Slots::new(&SMALL).plain();
    let mut waiting = Vec::with_capacity(plain.len());
    let mut comparison = Comparison::new(criterion, "stage_answer", SMALL.len() as u64);
    let mut stage = Through::new(Slots::new(&SMALL), Answer);
    comparison.bench("stage", move |iterations| repeat(iterations, || stage.pass(as_it_is, ticket)));
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
