//! Counting what an archive holds; also while a node has it open.

use std::path::Path;

use super::existing;
use crate::ArchiveError;
use crate::segments::upkeep::Opened;

/// What an archive holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchiveStats {
    /// Messages.
    pub messages: u64,
    /// Segments.
    pub segments: u64,
    /// Bytes of the segments' files.
    pub segment_bytes: u64,
    /// Bytes of the records that the index has; what the segments have beyond is padding, or was dropped.
    pub record_bytes: u64,
    /// Bytes of the index, its write-ahead log included.
    pub index_bytes: u64,
    /// The oldest and the newest timestamp, nanoseconds since the Unix epoch.
    pub timestamps: Option<(i64, i64)>,
    /// By pubsub topic, in the order of their names.
    pub topics: Vec<TopicStats>,
}

/// What an archive holds of one pubsub topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicStats {
    /// The pubsub topic.
    pub pubsub_topic: String,
    /// Messages.
    pub messages: u64,
}

/// Counts what the archive whose index is at `path` holds.
///
/// # Errors
/// [`ArchiveError::NotFound`], and any other [`ArchiveError`] about the files.
pub fn stats(path: &Path) -> Result<ArchiveStats, ArchiveError> {
    Opened::open(&existing(path)?)?.stats()
}
