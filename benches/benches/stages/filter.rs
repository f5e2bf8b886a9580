//! `filter` beside a scan of a list, by the number of subscriptions; the one that matches is the last.

use std::sync::Arc;

use criterion::Criterion;
use levada_benches::workload::CONTENT_TOPIC;
use levada_stages::filter::{Filter, Subscriptions};

use crate::comparison::Comparison;
use crate::repeat::repeat;
use crate::through::{SMALL, Slots, Through, as_it_is, ticket};

/// Subscriptions, each by a subscriber of its own.
const SUBSCRIPTIONS: [u64; 3] = [1, 100, 10_000];

fn content_topic(number: u64, count: u64) -> String {
    if number + 1 == count { CONTENT_TOPIC.to_owned() } else { format!("/levada/1/bench-{number:05}/proto") }
}

pub fn filter(criterion: &mut Criterion) {
    for count in SUBSCRIPTIONS {
        let mut comparison = Comparison::new(criterion, &format!("stage_filter_{count}"), SMALL.len() as u64);
        let slots = Slots::new(&SMALL);
        let plain = slots.plain();
        let topic = plain[0].record.topic;
        let list: Vec<(u64, u32, String)> =
            (0..count).map(|number| (number, topic, content_topic(number, count))).collect();
        let subscriptions = Arc::new(Subscriptions::default());
        for (subscriber, topic, content_topic) in &list {
            subscriptions.subscribe(*subscriber, *topic, content_topic).expect("the criteria are within the bounds");
        }
        let mut stage = Through::new(slots, Filter::new(subscriptions.clone()));
        comparison.bench("stage", move |iterations| repeat(iterations, || stage.pass(as_it_is, ticket)));
        let mut empty = Through::empty(Slots::new(&SMALL));
        comparison.bench("empty_stage", move |iterations| repeat(iterations, || empty.pass(as_it_is, ticket)));
        comparison.bench("scan_of_a_list", move |iterations| {
            repeat(iterations, || {
                let mut work = 0;
                for message in &plain {
                    let wanted = message.record.content_topic.of(&message.data);
                    let matches = |(_, topic, content_topic): &&(u64, u32, String)| {
                        *topic == message.record.topic && content_topic.as_bytes() == wanted
                    };
                    work += message.record.ticket * list.iter().filter(matches).count() as u64;
                }
                work
            })
        });
        comparison.finish();
    }
}
