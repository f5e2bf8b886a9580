//! What the index knows of the segments, at hand without asking it.

use std::collections::VecDeque;

use rusqlite::Connection;

use super::index::{self, Entry};
use super::tail::Extent;
use crate::Retention;

/// The segments that have rows, in the order of the log.
#[derive(Debug)]
pub(super) struct Known {
    entries: VecDeque<Entry>,
    messages: u64,
    bytes: u64,
    /// The oldest timestamp in the newest segment, if this run of the process writes it.
    newest_timestamp_min: i64,
}

impl Known {
    pub(super) fn load(conn: &Connection) -> rusqlite::Result<Self> {
        let mut known = Self { entries: VecDeque::new(), messages: 0, bytes: 0, newest_timestamp_min: i64::MAX };
        for entry in index::segments(conn)?.into_iter().filter(|entry| !entry.dropped) {
            known.messages += entry.messages;
            known.bytes += entry.bytes;
            known.entries.push_back(entry);
        }
        Ok(known)
    }

    /// Messages in all segments.
    pub(super) fn messages(&self) -> u64 {
        self.messages
    }

    /// Bytes of all segments.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn oldest(&self) -> Option<&Entry> {
        self.entries.front()
    }

    /// Takes note of what a batch added.
    pub(super) fn add(&mut self, extent: &Extent) {
        let (added, (timestamp_min, timestamp_max)) = (u64::from(extent.added), extent.timestamps);
        self.messages += added;
        match self.entries.back_mut().filter(|entry| entry.id == extent.id) {
            Some(entry) => {
                self.bytes += extent.bytes - entry.bytes;
                entry.bytes = extent.bytes;
                entry.records = extent.records;
                entry.messages += added;
                entry.timestamp_max = entry.timestamp_max.max(timestamp_max);
                self.newest_timestamp_min = self.newest_timestamp_min.min(timestamp_min);
            }
            None => {
                let Extent { id, bytes, records, .. } = *extent;
                self.bytes += bytes;
                self.entries.push_back(Entry { id, bytes, records, messages: added, timestamp_max, dropped: false });
                self.newest_timestamp_min = timestamp_min;
            }
        }
    }

    /// Whether segment `active`, the newest, holds so much that it is to take no more.
    pub(super) fn is_full(&self, active: u32, retention: &Retention) -> bool {
        let newest = self.entries.back().filter(|entry| entry.id == active);
        newest.is_some_and(|entry| retention.ends_segment(entry.messages, entry.bytes, self.newest_timestamp_min))
    }

    /// So many messages are left of the oldest segment.
    pub(super) fn set_left(&mut self, left: u64) {
        if let Some(oldest) = self.entries.front_mut() {
            self.messages = self.messages.saturating_sub(oldest.messages) + left;
            oldest.messages = left;
        }
    }

    /// The oldest segment is gone.
    pub(super) fn remove_oldest(&mut self) {
        if let Some(oldest) = self.entries.pop_front() {
            self.messages -= oldest.messages;
            self.bytes -= oldest.bytes;
        }
    }

    pub(super) fn clear(&mut self) {
        (self.messages, self.bytes) = (0, 0);
        self.entries.clear();
    }
}
