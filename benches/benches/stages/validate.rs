//! `validate` beside two comparisons written where they are needed.

use std::hint::black_box;

use criterion::Criterion;
use levada_stages::validate::Validate;

use crate::comparison::Comparison;
use crate::repeat::repeat;
use crate::through::{SMALL, Slots, Through, as_it_is, ticket};

/// nwaku's default.
const MESSAGE_BYTES_MAX: usize = 150 << 10;

pub fn validate(criterion: &mut Criterion) {
    let mut comparison = Comparison::new(criterion, "stage_validate", SMALL.len() as u64);
    let plain = Slots::new(&SMALL).plain();
    let mut stage = Through::new(Slots::new(&SMALL), Validate::standard(MESSAGE_BYTES_MAX, Default::default()));
    comparison.bench("stage", move |iterations| repeat(iterations, || stage.pass(as_it_is, ticket)));
    let mut empty = Through::empty(Slots::new(&SMALL));
    comparison.bench("empty_stage", move |iterations| repeat(iterations, || empty.pass(as_it_is, ticket)));
    comparison.bench("direct_calls", move |iterations| {
        repeat(iterations, || {
            let bytes_max = black_box(MESSAGE_BYTES_MAX);
            let accepted = plain.iter().filter(|message| message.record.decoded && message.data.len() <= bytes_max);
            accepted.map(|message| message.record.ticket).sum()
        })
    });
    comparison.finish();
}
