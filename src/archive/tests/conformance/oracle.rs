//! Random queries against the plainest possible archive: a sorted list that is filtered and cut.

use std::cell::RefCell;

use levada_archive::{Archive, Direction, Page, Query};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::sample::{Sample, ask, hash_of, insert, samples, sorted};

const COUNT: u64 = 90;
const QUERIES: u32 = 2_000;

pub fn random_queries_agree(mut archive: Box<dyn Archive>) {
    insert(&mut *archive, &samples(COUNT));
    let expected = sorted(samples(COUNT));
    let reader = RefCell::new(archive.reader().unwrap());
    let mut runner = TestRunner::new(Config { cases: QUERIES, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&queries(), |query| {
        prop_assert_eq!(ask(&mut **reader.borrow_mut(), &query), answer(&expected, &query));
        Ok(())
    });
    outcome.unwrap();
}

/// What a query must be answered with.
fn answer(sorted: &[Sample], query: &Query) -> Page {
    let mut walk: Vec<&Sample> = sorted.iter().collect();
    if query.direction == Direction::Backward {
        walk.reverse();
    }
    if let Some(cursor) = query.cursor {
        let position = walk.iter().position(|sample| sample.hash == cursor).unwrap();
        walk.drain(..=position);
    }
    walk.retain(|sample| {
        let body = &sample.body;
        query.pubsub_topic.as_ref().is_none_or(|topic| *topic == body.pubsub_topic)
            && (query.content_topics.is_empty() || query.content_topics.contains(&body.content_topic))
            && query.time_start.is_none_or(|start| body.timestamp >= start)
            && query.time_end.is_none_or(|end| body.timestamp <= end)
            && (query.hashes.is_empty() || query.hashes.contains(&sample.hash))
    });
    let limit = match query.page_size {
        None | Some(0) => 20,
        Some(size) => size.min(100) as usize,
    };
    let more = walk.len() > limit;
    walk.truncate(limit);
    let cursor = if more { walk.last().map(|sample| sample.hash) } else { None };
    if query.direction == Direction::Backward {
        walk.reverse();
    }
    Page { messages: walk.into_iter().map(|sample| sample.stored(query.include_data)).collect(), cursor }
}

fn queries() -> impl Strategy<Value = Query> {
    let time = || proptest::option::weighted(0.4, prop_oneof![4 => 998_i64..1_033, 1 => any::<i64>()]);
    let pubsub_topic = proptest::option::weighted(0.4, (0..4).prop_map(|number| format!("/waku/2/rs/0/{number}")));
    let content_topic = (0..6).prop_map(|number| format!("/test/1/topic-{number}/proto"));
    let content_topics = prop_oneof![2 => Just(Vec::new()), 1 => proptest::collection::vec(content_topic, 1..6)];
    // A few of the hashes are stored nowhere.
    let hashes = proptest::collection::vec((0..COUNT + 5).prop_map(hash_of), 1..60);
    let hashes = prop_oneof![3 => Just(Vec::new()), 1 => hashes];
    let cursor = proptest::option::of((0..COUNT).prop_map(hash_of));
    let direction = prop_oneof![Just(Direction::Forward), Just(Direction::Backward)];
    let page_size = proptest::option::of(prop_oneof![8 => 0_u64..30, 1 => any::<u64>()]);
    let filters = (pubsub_topic, content_topics, time(), time(), hashes);
    (any::<bool>(), filters, cursor, direction, page_size).prop_map(
        |(include_data, (pubsub_topic, content_topics, time_start, time_end, hashes), cursor, direction, page_size)| {
            Query {
                include_data,
                pubsub_topic,
                content_topics,
                time_start,
                time_end,
                hashes,
                cursor,
                direction,
                page_size,
            }
        },
    )
}
