//! `filter` beside a scan of a list, by the number of subscriptions; the one that matches is the last.

use std::sync::Arc;
use std::time::Instant;

use criterion::Criterion;
use levada_benches::workload::{CONTENT_TOPIC, PUBSUB_TOPIC};
use levada_stages::filter::{Filter, HASHES_MAX, Limits, Subscriptions};
use levada_stages::seen::{SeenSet, WINDOW};
use levada_wire::waku::WakuRecord;
use levada_wire::waku::filter::{FilterSubscribeRequest, FilterSubscribeType};

use crate::comparison::Comparison;
use crate::repeat::repeat;
use crate::through::{SMALL, Slots, Through, as_it_is, ticket};

/// Subscriptions, each by a subscriber of its own.
const SUBSCRIPTIONS: [u64; 3] = [1, 100, 10_000];

fn content_topic(number: u64, count: u64) -> String {
    if number + 1 == count { CONTENT_TOPIC.to_owned() } else { format!("/levada/1/bench-{number:05}/proto") }
}

fn subscribed(content_topics: &[String]) -> Subscriptions {
    let subscriptions = Subscriptions::new(Limits { subscribers_max: content_topics.len(), ..Limits::default() });
    for content_topic in content_topics {
        let request = FilterSubscribeRequest {
            request_id: "1",
            kind: FilterSubscribeType::Subscribe,
            pubsub_topic: Some(PUBSUB_TOPIC),
            content_topics: vec![content_topic],
        };
        let granted = subscriptions.request(content_topic.as_bytes(), &request, Instant::now());
        granted.expect("the criteria are within the bounds");
    }
    subscriptions
}

pub fn filter(criterion: &mut Criterion) {
    for count in SUBSCRIPTIONS {
        let mut comparison = Comparison::new(criterion, &format!("stage_filter_{count}"), SMALL.len() as u64);
        let slots = Slots::new(&SMALL);
        let plain = slots.plain();
        let topic = plain[0].record.topic;
        let wanted: Vec<String> = (0..count).map(|number| content_topic(number, count)).collect();
        let pushed = Arc::new(SeenSet::new(HASHES_MAX, WINDOW));
        let stage = Filter::new(Arc::new(subscribed(&wanted)), slots.topics.clone(), pushed);
        let mut stage = Through::new(slots, stage);
        // A message that was pushed before is not wanted again: every one is a new one in each pass.
        let mut passes = 0_u64;
        comparison.bench("stage", move |iterations| {
            repeat(iterations, || {
                passes += 1;
                let renew = |record: &mut WakuRecord| record.hash[24..].copy_from_slice(&passes.to_le_bytes());
                stage.pass(renew, ticket)
            })
        });
        let mut empty = Through::empty(Slots::new(&SMALL));
        // What goes out twice counts twice.
        comparison.bench("empty_stage", move |iterations| repeat(iterations, || 2 * empty.pass(as_it_is, ticket)));
        let list: Vec<(u32, String)> = wanted.into_iter().map(|content_topic| (topic, content_topic)).collect();
        comparison.bench("scan_of_a_list", move |iterations| {
            repeat(iterations, || {
                let mut work = 0;
                for message in &plain {
                    let wanted = message.record.content_topic.of(&message.data);
                    let matches = |(topic, content_topic): &&(u32, String)| {
                        *topic == message.record.topic && content_topic.as_bytes() == wanted
                    };
                    work += message.record.ticket * (1 + list.iter().filter(matches).count() as u64);
                }
                work
            })
        });
        comparison.finish();
    }
}
