//! `event` beside a bounded queue behind a lock, of shared buffers and of copies.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use criterion::Criterion;
use levada_stages::event::{Event, EventCache, Interest};

use crate::comparison::Comparison;
use crate::repeat::repeat;
use crate::through::{SMALL, Slots, Through, as_it_is, ticket};

/// nwaku's default.
const MESSAGES_MAX: usize = 50;

/// Puts a message into a queue that drops its oldest.
fn keep<T>(queue: &Mutex<VecDeque<T>>, message: T) {
    let mut queue = queue.lock().expect("nobody panics");
    if queue.len() == MESSAGES_MAX {
        queue.pop_front();
    }
    queue.push_back(message);
}

/// Keeps what `make` makes of each message, and returns the sum of the tickets.
fn keep_all<T>(messages: &[(Bytes, u64)], queue: &Mutex<VecDeque<T>>, make: impl Fn(&Bytes) -> T) -> u64 {
    messages.iter().fold(0, |work, (data, ticket)| {
        keep(queue, make(data));
        work + ticket
    })
}

pub fn event(criterion: &mut Criterion) {
    let slots = Slots::new(&SMALL);
    let plain = slots.plain();
    let cache = Arc::new(EventCache::new(MESSAGES_MAX, 16 << 20));
    cache.open(Interest::Topic(plain[0].record.topic));
    let shared: Vec<(Bytes, u64)> = plain.into_iter().map(|plain| (plain.data.into(), plain.record.ticket)).collect();
    let (of_bytes, of_copies) = (Mutex::default(), Mutex::default());
    let mut comparison = Comparison::new(criterion, "stage_event", SMALL.len() as u64);
    let mut stage = Through::new(slots, Event::new(cache));
    comparison.bench("stage", move |iterations| repeat(iterations, || stage.pass(as_it_is, ticket)));
    let mut empty = Through::empty(Slots::new(&SMALL));
    comparison.bench("empty_stage", move |iterations| repeat(iterations, || empty.pass(as_it_is, ticket)));
    comparison.bench("queue_of_bytes", |iterations| repeat(iterations, || keep_all(&shared, &of_bytes, Bytes::clone)));
    comparison.bench("queue_of_copies", |iterations| {
        repeat(iterations, || keep_all(&shared, &of_copies, |data| data.to_vec()))
    });
    comparison.finish();
}
