//! The records that are handed out.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use levada_wire::waku::peer_exchange::RECORD_BYTES_MAX;

/// Records that are kept at most; the oldest goes first. Each has at most 300 bytes.
pub const RECORDS_MAX: usize = 1_024;

/// Verified records of nodes of this cluster, each under the name of its node.
#[derive(Debug, Default)]
pub struct RecordBook {
    records: Mutex<Vec<(Box<[u8]>, Bytes)>>,
}

impl RecordBook {
    /// Keeps a record under the name of its node (a node id or a peer id, in whatever form), and so replaces the one before. `false` if
    /// it is longer than a record may be.
    pub fn put(&self, node: &[u8], record: Bytes) -> bool {
        if record.len() > RECORD_BYTES_MAX {
            return false;
        }
        let mut records = self.records();
        records.retain(|(known, _)| **known != *node);
        if records.len() >= RECORDS_MAX {
            records.remove(0);
        }
        records.push((node.into(), record));
        true
    }

    /// Forgets the record of a node.
    pub fn remove(&self, node: &[u8]) {
        self.records().retain(|(known, _)| **known != *node);
    }

    /// Records kept.
    pub fn len(&self) -> usize {
        self.records().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.records().is_empty()
    }

    /// At most `count` records, drawn by lot, so that peers do not all learn of the same nodes.
    pub fn sample(&self, count: usize) -> Vec<Bytes> {
        let mut records: Vec<Bytes> = self.records().iter().map(|(_, record)| record.clone()).collect();
        // Keyed anew each time, which is as good as dice.
        let dice = RandomState::new();
        records.sort_by_cached_key(|record| dice.hash_one(record));
        records.truncate(count);
        records
    }

    fn records(&self) -> MutexGuard<'_, Vec<(Box<[u8]>, Bytes)>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{RECORD_BYTES_MAX, RECORDS_MAX, RecordBook};

    #[test]
    fn one_record_per_node_and_the_oldest_goes() {
        let book = RecordBook::default();
        for number in 0..=RECORDS_MAX {
            assert!(book.put(&number.to_be_bytes(), number.to_be_bytes().to_vec().into()));
        }
        assert_eq!(book.len(), RECORDS_MAX);
        assert!(!book.sample(RECORDS_MAX).iter().any(|record| **record == 0_usize.to_be_bytes()));
        assert!(book.put(&1_usize.to_be_bytes(), b"newer".as_slice().into()));
        assert_eq!(book.len(), RECORDS_MAX, "replaced");
        assert!(book.sample(RECORDS_MAX).iter().any(|record| record == "newer"));
        book.remove(&1_usize.to_be_bytes());
        assert_eq!(book.len(), RECORDS_MAX - 1);
        assert!(!book.put(b"n", vec![0; RECORD_BYTES_MAX + 1].into()));
        assert!(book.put(b"n", vec![0; RECORD_BYTES_MAX].into()));
    }

    #[test]
    fn samples_differ_and_hold_no_record_twice() {
        let book = RecordBook::default();
        assert!(book.is_empty() && book.sample(60).is_empty());
        for number in 0..60_u8 {
            book.put(&[number], vec![number].into());
        }
        let samples: Vec<_> = (0..8).map(|_| book.sample(10)).collect();
        assert!(samples.iter().any(|sample| *sample != samples[0]), "one in 10^100 that all are alike");
        for mut sample in samples {
            sample.sort();
            sample.dedup();
            assert_eq!(sample.len(), 10);
        }
    }
}
