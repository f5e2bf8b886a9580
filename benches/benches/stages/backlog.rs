//! `backlog` beside the rule it applies and two plain numbers.

use std::hint::black_box;
use std::sync::Arc;

use criterion::Criterion;
use levada_archive::eligible;
use levada_stages::backlog::{Backlog, BacklogStage};
use levada_stages::unix_ns;

use crate::comparison::Comparison;
use crate::repeat::repeat;
use crate::through::{SMALL, Slots, Through, ticket};

pub fn backlog(criterion: &mut Criterion) {
    let mut comparison = Comparison::new(criterion, "stage_backlog", SMALL.len() as u64);
    let mut plain = Slots::new(&SMALL).plain();
    // Nothing is taken off the account here, and it must not fill.
    let account = Arc::new(Backlog::new(u64::MAX, u64::MAX));
    let mut stage = Through::new(Slots::new(&SMALL), BacklogStage::new(account));
    comparison.bench("stage", move |iterations| {
        repeat(iterations, || {
            let now = unix_ns();
            stage.pass(|record| record.timestamp = now, ticket)
        })
    });
    let mut empty = Through::empty(Slots::new(&SMALL));
    comparison.bench("empty_stage", move |iterations| {
        repeat(iterations, || {
            let now = unix_ns();
            empty.pass(|record| record.timestamp = now, ticket)
        })
    });
    comparison.bench("direct_calls", move |iterations| {
        repeat(iterations, || {
            let now = unix_ns();
            let (mut work, mut bytes, mut waiting) = (0, 0, 0);
            for message in &mut plain {
                message.record.timestamp = now;
                let fits = bytes < black_box(u64::MAX) && waiting < black_box(u64::MAX);
                if fits && eligible(message.record.timestamp, message.record.ephemeral, now).is_ok() {
                    (bytes, waiting) = (bytes + message.data.len() as u64, waiting + 1);
                    work += message.record.ticket;
                }
            }
            work
        })
    });
    comparison.finish();
}
