//! Order, pages, cursors and filters (13/WAKU2-STORE).

use levada_archive::{
    Archive, ArchiveError, ArchiveReader, Direction, Hash, Key, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX,
    QUERY_CONTENT_TOPICS_MAX, QUERY_HASHES_MAX, QUERY_TOPIC_BYTES_MAX, Query,
};

use crate::sample::{Sample, ask, hash_of, hashes, insert, samples, sorted};

const COUNT: u64 = 45;

/// Stores the samples; returns a reader and the samples in order.
fn filled(archive: &mut dyn Archive) -> (Box<dyn ArchiveReader>, Vec<Sample>) {
    insert(archive, &samples(COUNT));
    (archive.reader().unwrap(), sorted(samples(COUNT)))
}

fn forward() -> Query {
    Query { direction: Direction::Forward, page_size: Some(PAGE_SIZE_MAX), ..Query::default() }
}

fn backward() -> Query {
    Query { direction: Direction::Backward, ..forward() }
}

fn hashes_of(samples: &[Sample]) -> Vec<Hash> {
    samples.iter().map(|sample| sample.hash).collect()
}

pub fn ascending_with_ties_by_hash(mut archive: Box<dyn Archive>) {
    let (mut reader, expected) = filled(&mut *archive);
    assert!(expected.windows(2).any(|pair| pair[0].body.timestamp == pair[1].body.timestamp), "there are ties");
    for query in [forward(), backward()] {
        let page = ask(&mut *reader, &query);
        assert_eq!(hashes(&page), hashes_of(&expected));
        assert_eq!(page.cursor, None);
    }
}

pub fn pages_forward_and_backward(mut archive: Box<dyn Archive>) {
    let (mut reader, expected) = filled(&mut *archive);
    for direction in [Direction::Forward, Direction::Backward] {
        let mut query = Query { direction, page_size: Some(7), ..Query::default() };
        let mut collected = Vec::new();
        let mut lengths = Vec::new();
        loop {
            let page = ask(&mut *reader, &query);
            let found = hashes(&page);
            lengths.push(found.len());
            if direction == Direction::Forward {
                assert!(page.cursor.is_none() || page.cursor == found.last().copied());
                collected.extend(found);
            } else {
                assert!(page.cursor.is_none() || page.cursor == found.first().copied());
                collected.splice(..0, found);
            }
            query.cursor = page.cursor;
            if query.cursor.is_none() {
                break;
            }
        }
        assert_eq!(collected, hashes_of(&expected), "{direction:?}");
        assert_eq!(lengths, [7, 7, 7, 7, 7, 7, 3], "{direction:?}");
    }
}

pub fn page_sizes(mut archive: Box<dyn Archive>) {
    insert(&mut *archive, &samples(120));
    let mut reader = archive.reader().unwrap();
    let mut length = |page_size| {
        let page = ask(&mut *reader, &Query { page_size, ..forward() });
        assert_eq!(page.cursor.is_some(), page.messages.len() < 120);
        page.messages.len() as u64
    };
    assert_eq!(length(None), PAGE_SIZE_DEFAULT);
    assert_eq!(length(Some(0)), PAGE_SIZE_DEFAULT);
    assert_eq!(length(Some(1)), 1);
    assert_eq!(length(Some(PAGE_SIZE_MAX)), PAGE_SIZE_MAX);
    assert_eq!(length(Some(PAGE_SIZE_MAX + 1)), PAGE_SIZE_MAX);
    assert_eq!(length(Some(u64::MAX)), PAGE_SIZE_MAX);
    // A page that holds exactly what there is has no next one.
    let exact = Query { page_size: Some(60), time_start: Some(1_020), ..forward() };
    let page = ask(&mut *reader, &exact);
    assert_eq!((page.messages.len(), page.cursor), (60, None));
}

pub fn cursors(mut archive: Box<dyn Archive>) {
    let (mut reader, expected) = filled(&mut *archive);
    for cursor in [[0; 32], hash_of(1_000)] {
        for query in [forward(), backward()] {
            let error = reader.query(&Query { cursor: Some(cursor), ..query }).unwrap_err();
            assert!(matches!(error, ArchiveError::CursorNotFound), "{error}");
        }
    }
    let mut behind = |query: Query, cursor: &Sample| ask(&mut *reader, &Query { cursor: Some(cursor.hash), ..query });
    let (oldest, newest) = (&expected[0], &expected[expected.len() - 1]);
    let end = behind(forward(), newest);
    assert_eq!((end.messages.len(), end.cursor), (0, None));
    let end = behind(backward(), oldest);
    assert_eq!((end.messages.len(), end.cursor), (0, None));
    assert_eq!(hashes(&behind(forward(), oldest)), hashes_of(&expected[1..]));
    assert_eq!(hashes(&behind(backward(), newest)), hashes_of(&expected[..expected.len() - 1]));
    for (index, cursor) in expected.iter().enumerate() {
        assert_eq!(hashes(&behind(forward(), cursor)), hashes_of(&expected[index + 1..]));
        assert_eq!(hashes(&behind(backward(), cursor)), hashes_of(&expected[..index]));
    }
    // A cursor outside the time range: behind the range nothing, before it everything.
    let range = |query: Query| Query { time_start: Some(1_005), time_end: Some(1_006), ..query };
    assert_eq!(behind(range(forward()), oldest).messages.len(), 6);
    assert_eq!(behind(range(forward()), newest).messages.len(), 0);
    assert_eq!(behind(range(backward()), newest).messages.len(), 6);
    assert_eq!(behind(range(backward()), oldest).messages.len(), 0);
}

pub fn times_are_inclusive(mut archive: Box<dyn Archive>) {
    let (mut reader, expected) = filled(&mut *archive);
    let mut between = |time_start, time_end| {
        let page = ask(&mut *reader, &Query { time_start, time_end, ..forward() });
        assert_eq!(ask(&mut *reader, &Query { time_start, time_end, ..backward() }).messages, page.messages);
        hashes(&page)
    };
    assert_eq!(between(Some(1_005), Some(1_005)), hashes_of(&expected[15..18]));
    assert_eq!(between(Some(1_014), None), hashes_of(&expected[42..]));
    assert_eq!(between(None, Some(1_000)), hashes_of(&expected[..3]));
    assert_eq!(between(Some(1_006), Some(1_005)), [[0; 32]; 0]);
    assert_eq!(between(Some(i64::MIN), Some(i64::MAX)), hashes_of(&expected));
    assert_eq!(between(Some(i64::MAX), Some(i64::MIN)), [[0; 32]; 0]);
}

pub fn hashes_and_filters(mut archive: Box<dyn Archive>) {
    let (mut reader, expected) = filled(&mut *archive);
    let wanted = vec![expected[30].hash, hash_of(5_000), expected[3].hash, expected[3].hash, [0; 32], expected[4].hash];
    let query = Query { hashes: wanted, ..forward() };
    let mut found = |query: Query| hashes(&ask(&mut *reader, &query));
    assert_eq!(found(query.clone()), [expected[3].hash, expected[4].hash, expected[30].hash]);
    assert_eq!(found(Query { time_end: Some(1_009), ..query.clone() }), [expected[3].hash, expected[4].hash]);
    let content_topics = vec![expected[4].body.content_topic.clone()];
    let both = Query { content_topics, pubsub_topic: Some(expected[4].body.pubsub_topic.clone()), ..query.clone() };
    assert_eq!(found(both), [expected[4].hash]);
    assert_eq!(found(Query { cursor: Some(expected[3].hash), ..query.clone() }), [expected[4].hash, expected[30].hash]);
    let page = ask(&mut *reader, &Query { direction: Direction::Backward, page_size: Some(2), ..query });
    assert_eq!(hashes(&page), [expected[4].hash, expected[30].hash]);
    assert_eq!(page.cursor, Some(expected[4].hash));
}

pub fn topics_apart(mut archive: Box<dyn Archive>) {
    let (mut reader, expected) = filled(&mut *archive);
    let pubsub_topic = Some("/waku/2/rs/0/1".to_owned());
    let content_topics = vec!["/test/1/topic-4/proto".to_owned(), "/test/1/topic-0/proto".to_owned()];
    let matching = |query: &Query| {
        let matches = |sample: &&Sample| {
            query.pubsub_topic.as_ref().is_none_or(|topic| *topic == sample.body.pubsub_topic)
                && (query.content_topics.is_empty() || query.content_topics.contains(&sample.body.content_topic))
        };
        expected.iter().filter(matches).map(|sample| sample.hash).collect::<Vec<_>>()
    };
    let pubsub_only = Query { pubsub_topic: pubsub_topic.clone(), ..forward() };
    let content_only = Query { content_topics: content_topics.clone(), ..forward() };
    let both = Query { pubsub_topic, content_topics, ..forward() };
    for (query, count) in [(pubsub_only, 15), (content_only, 18), (both, 6)] {
        let found = hashes(&ask(&mut *reader, &query));
        assert_eq!(found.len(), count);
        assert_eq!(found, matching(&query));
    }
    // Neither a prefix nor another case is the same topic.
    for topic in ["/waku/2/rs/0", "/waku/2/rs/0/11", "/WAKU/2/rs/0/1", ""] {
        let query = Query { pubsub_topic: Some(topic.to_owned()), ..forward() };
        assert!(ask(&mut *reader, &query).messages.is_empty(), "{topic}");
    }
}

pub fn duplicates_in_filters(mut archive: Box<dyn Archive>) {
    let mut nowhere = Sample::new(1, 1);
    nowhere.body.pubsub_topic.clear();
    insert(&mut *archive, std::slice::from_ref(&nowhere));
    let mut reader = archive.reader().unwrap();
    let topic = nowhere.body.content_topic.clone();
    let query = Query { content_topics: vec![topic.clone(), topic], hashes: Vec::new(), ..forward() };
    assert_eq!(hashes(&ask(&mut *reader, &query)), [nowhere.hash], "once, and under the empty pubsub topic too");
}

pub fn without_data(mut archive: Box<dyn Archive>) {
    let (mut reader, expected) = filled(&mut *archive);
    for include_data in [false, true] {
        let page = ask(&mut *reader, &Query { include_data, ..forward() });
        let expected: Vec<_> = expected.iter().map(|sample| sample.stored(include_data)).collect();
        assert_eq!(page.messages, expected);
    }
}

pub fn limits(mut archive: Box<dyn Archive>) {
    let (mut reader, _) = filled(&mut *archive);
    let hashes = |count| Query { hashes: (0..count as u64).map(hash_of).collect(), ..forward() };
    let topics = |count| Query { content_topics: (0..count).map(|number| number.to_string()).collect(), ..forward() };
    let topic = |bytes| Query { pubsub_topic: Some("x".repeat(bytes)), ..forward() };
    assert_eq!(ask(&mut *reader, &hashes(QUERY_HASHES_MAX)).messages.len(), COUNT as usize);
    assert!(ask(&mut *reader, &topics(QUERY_CONTENT_TOPICS_MAX)).messages.is_empty());
    assert!(ask(&mut *reader, &topic(QUERY_TOPIC_BYTES_MAX)).messages.is_empty());
    let mut refused = |query: &Query| reader.query(query).unwrap_err();
    assert!(matches!(refused(&hashes(QUERY_HASHES_MAX + 1)), ArchiveError::TooManyHashes { count: 101 }));
    assert!(matches!(
        refused(&topics(QUERY_CONTENT_TOPICS_MAX + 1)),
        ArchiveError::TooManyContentTopics { count: 101 }
    ));
    assert!(matches!(refused(&topic(QUERY_TOPIC_BYTES_MAX + 1)), ArchiveError::TopicTooLong { bytes: 4_097 }));
    let content = Query { content_topics: vec!["x".repeat(5_000)], ..forward() };
    assert!(matches!(refused(&content), ArchiveError::TopicTooLong { bytes: 5_000 }));
}

pub fn keys_of_a_topic(mut archive: Box<dyn Archive>) {
    let (mut reader, expected) = filled(&mut *archive);
    for topic in ["/waku/2/rs/0/0", "/waku/2/rs/0/2", "/waku/2/rs/0/9"] {
        let of_topic = expected.iter().filter(|sample| sample.body.pubsub_topic == topic);
        let expected: Vec<Key> = of_topic.map(|sample| (sample.body.timestamp, sample.hash)).collect();
        let (mut collected, mut after) = (Vec::new(), (i64::MIN, [0; 32]));
        loop {
            let keys = reader.keys_after(topic, after, 4).unwrap();
            collected.extend_from_slice(&keys);
            match keys.last() {
                Some(last) if keys.len() == 4 => after = *last,
                _ => break,
            }
        }
        assert_eq!(collected, expected, "{topic}");
    }
    assert!(reader.keys_after("/waku/2/rs/0/0", (i64::MAX, [0xff; 32]), 4).unwrap().is_empty());
}
