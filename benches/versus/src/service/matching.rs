//! How long it takes to find who wants a message among ten thousand subscribers.

use std::hint::black_box;
use std::time::Instant;

use levada::bench_service::TOPIC;
use levada_stages::filter::{Limits, Subscriptions};

use crate::row::{Row, absolute};

const SUBSCRIBERS: usize = 10_000;

/// Nanoseconds that the bar leaves for a message.
const LIMIT_NS: f64 = 1_000.0;

/// Each subscriber has a content topic of its own; messages come to all of them in turns, and to as many that nobody wants.
pub fn row(measure: &'static str, quick: bool) -> Row {
    eprintln!("{measure} ..");
    let names: Vec<String> = (0..2 * SUBSCRIBERS).map(|number| format!("/levada/1/match-{number:05}/proto")).collect();
    let subscriptions = Subscriptions::new(Limits { subscribers_max: SUBSCRIBERS, ..Limits::default() });
    for (number, name) in names.iter().step_by(2).enumerate() {
        let granted = subscriptions.subscribe(&number.to_le_bytes(), TOPIC, name, Instant::now());
        granted.expect("there is room for all of them");
    }
    let passes = if quick { 1 } else { 20 };
    absolute(measure, "ns/message", LIMIT_NS, if quick { 1 } else { 11 }, || {
        let (began, mut found) = (Instant::now(), 0);
        for _ in 0..passes {
            for name in &names {
                // As the path does it, and then whoever pushes.
                if subscriptions.matches(black_box(TOPIC), black_box(name)) > 0 {
                    found += subscriptions.subscribers_of(TOPIC, name).map_or(0, |subscribers| subscribers.len());
                }
            }
        }
        let elapsed = began.elapsed();
        assert_eq!(found, passes * SUBSCRIBERS);
        elapsed.as_nanos() as f64 / (passes * names.len()) as f64
    })
}
