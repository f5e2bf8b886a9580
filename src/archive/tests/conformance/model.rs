//! Random inserts, queries, steps of retention and starts, with an ordered map as the oracle; for every backend alike.
//!
//! Backends drop different messages: whole segments or partitions, or the oldest one by one. What is asked of all is that nothing is
//! dropped which a limit keeps, that everything else stays as it was, and that messages are dropped at all.

use std::collections::BTreeMap;

use levada_archive::{Direction, Hash, Key, Query, Retention};

use crate::Fixture;
use crate::sample::{Sample, ask, insert};

/// Times run from 0 to this; the messages of each time have hashes that are scattered.
const TIMES: u64 = 400;
const OPERATIONS: u64 = 120;

/// 4 runs, 60 with `LEVADA_DEEP=1`.
pub fn random_operations_agree(fixture: Fixture) {
    let seeds = if std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1") { 60 } else { 4 };
    let mut fixture = fixture;
    let mut dropped = 0;
    for seed in 0..seeds {
        fixture.archive.clear().unwrap();
        let mut run = Run { fixture, model: BTreeMap::new(), random: seed, seed, dropped: 0 };
        for _ in 0..OPERATIONS {
            run.operate();
        }
        run.agree();
        dropped += run.dropped;
        fixture = run.fixture;
    }
    assert!(dropped > 0, "retention dropped nothing in any run");
}

struct Run {
    fixture: Fixture,
    model: BTreeMap<Key, Sample>,
    random: u64,
    seed: u64,
    dropped: u64,
}

impl Run {
    /// The next number below `bound` (SplitMix64, Steele et al., 2014).
    fn below(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn operate(&mut self) {
        match self.below(12) {
            0..6 => self.insert(),
            6..9 => self.query(),
            9..11 => self.retain(),
            _ => self.fixture.reopen(),
        }
        assert_eq!(self.fixture.archive.message_count().unwrap(), self.model.len() as u64, "seed {}", self.seed);
    }

    /// Numbers from a small range, so that duplicates are met, within the batch and from before.
    fn insert(&mut self) {
        let count = self.below(40);
        let samples: Vec<Sample> = (0..count).map(|_| self.below(TIMES)).map(sample).collect();
        let outcome = insert(&mut *self.fixture.archive, &samples);
        let mut stored = 0;
        for sample in samples {
            stored += u64::from(self.model.insert(key(&sample), sample).is_none());
        }
        assert_eq!(
            (outcome.stored, outcome.duplicates, outcome.dropped),
            (stored, count - stored, 0),
            "seed {}",
            self.seed
        );
    }

    fn query(&mut self) {
        let (from, to, limit) = (self.below(TIMES) as i64, self.below(TIMES) as i64, 1 + self.below(30));
        let direction = if self.below(2) == 0 { Direction::Forward } else { Direction::Backward };
        let query = Query {
            include_data: true,
            time_start: Some(from.min(to)),
            time_end: Some(from.max(to)),
            direction,
            page_size: Some(limit),
            ..Query::default()
        };
        let page = ask(&mut *self.fixture.archive.reader().unwrap(), &query);
        let within =
            self.model.values().filter(|sample| (from.min(to)..=from.max(to)).contains(&sample.body.timestamp));
        let mut expected: Vec<&Sample> = within.collect();
        if direction == Direction::Backward {
            expected.reverse();
        }
        let more = expected.len() > limit as usize;
        expected.truncate(limit as usize);
        assert_eq!(
            page.cursor,
            if more { expected.last().map(|sample| sample.hash) } else { None },
            "seed {}",
            self.seed
        );
        if direction == Direction::Backward {
            expected.reverse();
        }
        let expected: Vec<_> = expected.into_iter().map(|sample| sample.stored(true)).collect();
        assert!(page.messages == expected, "seed {}", self.seed);
    }

    /// As many steps as it takes, or one.
    fn retain(&mut self) {
        let messages_max = self.below(2 * self.model.len() as u64 + 1);
        let retention = match self.below(2) {
            0 => Retention { messages_max: Some(messages_max), ..Retention::default() },
            _ => {
                let time = self.below(TIMES) as i64;
                let (timestamp_min_ns, segment_timestamp_min_ns) = (Some(time), Some(time.midpoint(TIMES as i64)));
                Retention { timestamp_min_ns, segment_timestamp_min_ns, ..Retention::default() }
            }
        };
        let mut dropped = 0;
        loop {
            let step = self.fixture.archive.retain(&retention).unwrap();
            dropped += step.messages;
            if !step.unfinished || self.below(4) == 0 {
                break;
            }
        }
        let left = self.contents();
        assert_eq!(self.model.len() as u64 - left.len() as u64, dropped, "seed {}", self.seed);
        let kept = |key: &&Key| retention.timestamp_min_ns.is_some_and(|min| key.0 >= min);
        assert!(self.model.keys().filter(kept).all(|key| left.contains_key(key)), "seed {}: too much", self.seed);
        let least = retention.messages_max.map_or(0, |max| max.min(self.model.len() as u64));
        assert!(left.len() as u64 >= least, "seed {}: {} of {least} are left", self.seed, left.len());
        self.dropped += dropped;
        self.model = left;
    }

    /// What the archive holds, all of it known to the model and unchanged.
    fn contents(&self) -> BTreeMap<Key, Sample> {
        let mut reader = self.fixture.archive.reader().unwrap();
        let mut query =
            Query { include_data: true, direction: Direction::Forward, page_size: Some(100), ..Query::default() };
        let mut contents = BTreeMap::new();
        loop {
            let page = ask(&mut *reader, &query);
            for message in page.messages {
                let key = (message.body.as_ref().unwrap().timestamp, message.hash);
                let sample = self.model.get(&key).unwrap_or_else(|| panic!("seed {}: {key:?} came back", self.seed));
                assert!(message == sample.stored(true), "seed {}: {key:?} has changed", self.seed);
                assert!(contents.insert(key, sample.clone()).is_none(), "seed {}: {key:?} is there twice", self.seed);
            }
            query.cursor = page.cursor;
            if query.cursor.is_none() {
                return contents;
            }
        }
    }

    fn agree(&self) {
        assert!(self.contents().keys().eq(self.model.keys()), "seed {}", self.seed);
    }
}

/// Three messages share a time.
fn sample(number: u64) -> Sample {
    Sample::new(number, (number / 3 * 3) as i64)
}

fn key(sample: &Sample) -> (i64, Hash) {
    (sample.body.timestamp, sample.hash)
}
