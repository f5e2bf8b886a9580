//! One producer on one core, one consumer on another: nanoseconds per index.

use std::sync::Mutex;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};
use std::time::Instant;

use crossbeam::queue::ArrayQueue;
use disruptor::{ProcessorSettings as _, Producer as _};
use levada_engine::LinkConfig;
use levada_engine::ring::spsc;

use crate::engine::Effort;
use crate::engine::rivals::{DisruptorPush, Each, Pop, Push, ringbuf, write};
use crate::machine::involuntary_switches;
use crate::pair::{Sample, bind, spin, two};
use crate::row::{Contest, Row};

/// Indices in a sample: many times what the ring holds, and soon over, for a thread is seldom switched out meanwhile.
const INDICES: usize = 1 << 16;

/// At least 0.95 of the fastest rival.
const BAR: f64 = 0.95;

pub fn row(measure: &'static str, batch: usize, effort: Effort) -> Row {
    let count = INDICES / effort.less;
    // The capacity of a link unless it is told otherwise, and what the table is about.
    let capacity = LinkConfig::default().capacity;
    Contest::new(measure, "ns/index", BAR)
        .with("levada", move || transfer(spsc::ring(capacity), batch, count))
        .with("rtrb", move || transfer(rtrb::RingBuffer::new(capacity), batch, count))
        .with("disruptor poller", move || disruptor_poller(capacity, batch, count))
        .with("disruptor closure", move || disruptor_closure(capacity, batch, count))
        .with("ringbuf", move || transfer(ringbuf(capacity), batch, count))
        .with("crossbeam ArrayQueue", move || {
            let queue = ArrayQueue::new(capacity);
            transfer((&queue, &queue), batch, count)
        })
        .with("crossbeam channel", move || {
            let (sender, receiver) = crossbeam::channel::bounded(capacity);
            transfer(
                (Each(move |index| sender.try_send(index).is_ok()), Each(move || receiver.try_recv().ok())),
                batch,
                count,
            )
        })
        .with("crossfire", move || {
            let (sender, receiver) = crossfire::spsc::bounded_blocking::<u32>(capacity);
            transfer(
                (Each(move |index| sender.try_send(index).is_ok()), Each(move || receiver.try_recv().ok())),
                batch,
                count,
            )
        })
        .with("kanal", move || {
            let (sender, receiver) = kanal::bounded::<u32>(capacity);
            let push = Each(move |index| sender.try_send(index).unwrap_or(false));
            transfer((push, Each(move || receiver.try_recv().ok().flatten())), batch, count)
        })
        .with("std sync_channel", move || {
            let (sender, receiver) = std::sync::mpsc::sync_channel(capacity);
            transfer(
                (Each(move |index| sender.try_send(index).is_ok()), Each(move || receiver.try_recv().ok())),
                batch,
                count,
            )
        })
        .run(effort.rounds)
}

fn transfer((mut push, mut pop): (impl Push, impl Pop), batch: usize, count: usize) -> Sample {
    consume(&mut push, batch, count, move || sum(count, |indices| pop.pop(indices), batch))
}

/// Pushes `count` numbers on one core while `consume` adds them up on another.
fn consume(push: &mut impl Push, batch: usize, count: usize, consume: impl FnOnce() -> u64 + Send) -> Sample {
    let numbers: Vec<u32> = (0..count as u32).collect();
    let send = || {
        for batch in numbers.chunks(batch) {
            let mut left = batch;
            while !left.is_empty() {
                let pushed = push.push(left);
                left = &left[pushed..];
                if pushed == 0 {
                    spin();
                }
            }
        }
    };
    let (elapsed, switches) = two(send, || assert_eq!(consume(), expected(count), "every index comes through once"));
    Sample::per(count, elapsed, switches)
}

fn expected(count: usize) -> u64 {
    (0..count as u64).sum()
}

fn sum(count: usize, mut pop: impl FnMut(&mut [u32]) -> usize, batch: usize) -> u64 {
    let mut indices = vec![0; batch];
    let (mut popped, mut sum) = (0, 0);
    while popped < count {
        let some = pop(&mut indices);
        sum += indices[..some].iter().map(|index| u64::from(*index)).sum::<u64>();
        popped += some;
        if some == 0 {
            spin();
        }
    }
    sum
}

/// The poller takes all there is, whatever the batch: so it is documented.
fn disruptor_poller(capacity: usize, batch: usize, count: usize) -> Sample {
    let builder = disruptor::build_single_producer(capacity, || 0_u32, disruptor::BusySpin);
    let (mut poller, builder) = builder.new_event_poller();
    let mut push = DisruptorPush(builder.build());
    consume(&mut push, batch, count, move || {
        let (mut popped, mut sum) = (0, 0);
        while popped < count {
            match poller.poll() {
                Ok(mut events) => {
                    for event in &mut events {
                        sum += u64::from(*event);
                        popped += 1;
                    }
                }
                Err(_) => spin(),
            }
        }
        sum
    })
}

/// The closure runs on a thread of the disruptor's own, which it binds to the second core.
fn disruptor_closure(capacity: usize, batch: usize, count: usize) -> Sample {
    static STARTED: AtomicBool = AtomicBool::new(false);
    static ENDED: Mutex<Option<(Instant, u64, u64)>> = Mutex::new(None);
    STARTED.store(false, Release);
    let core = core_affinity::get_core_ids().unwrap_or_default().get(1).map_or(0, |core| core.id);
    // The first event only shows that the thread runs.
    let (mut popped, mut sum, mut switches) = (0, 0, 0);
    let consume = move |event: &u32, _: i64, _: bool| {
        if popped == 0 {
            switches = involuntary_switches();
            STARTED.store(true, Release);
        } else {
            sum += u64::from(*event);
        }
        popped += 1;
        if popped == count + 1 {
            let end = Instant::now();
            *ENDED.lock().expect("nobody panics with the lock") = Some((end, sum, involuntary_switches() - switches));
        }
    };
    let mut producer = disruptor::build_single_producer(capacity, || 0_u32, disruptor::BusySpin)
        .pin_at_core(core)
        .handle_events_with(consume)
        .build();
    let numbers: Vec<u32> = (0..count as u32).collect();
    let sending = std::thread::spawn(move || {
        bind(0);
        producer.publish(|event| *event = 0);
        while !STARTED.load(Acquire) {
            spin();
        }
        let (before, began) = (involuntary_switches(), Instant::now());
        for batch in numbers.chunks(batch) {
            match batch {
                [index] => producer.publish(|event| *event = *index),
                _ => producer.batch_publish(batch.len(), |events| write(events, batch)),
            }
        }
        let switches = involuntary_switches() - before;
        // Dropping the producer waits for the consumer.
        drop(producer);
        (began, switches)
    });
    let (began, sent_switches) = sending.join().expect("the sender does not panic");
    let (ended, sum, switches) =
        ENDED.lock().expect("nobody panics with the lock").take().expect("the consumer has seen everything");
    assert_eq!(sum, expected(count), "every index comes through once");
    Sample::per(count, ended - began, switches + sent_switches)
}
