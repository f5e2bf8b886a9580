//! Writing an archive anew, without the room that small batches, damage and dropped messages have left in it.
//!
//! The messages are copied into new segments of the same folder, under a new index `P.compacting`, which then takes the place of `P`.
//! Until then the old index is whole, and whoever opens it finds only copies in the new segments, and removes them; behind that the new
//! one is, and the old segments are removed as soon as it is in place. While it lasts, the disk holds both.

use std::path::Path;

use super::{BATCH_BYTES_MAX, BATCH_MESSAGES_MAX, Progress, existing, stats};
use crate::segments::upkeep::{Compaction, Opened};
use crate::{ArchiveError, SegmentOptions, StoredMessage};

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactReport {
    /// Messages that were copied.
    pub messages: u64,
    /// Messages that were damaged, and so left behind.
    pub messages_lost: u64,
    /// Bytes of segments and index before.
    pub bytes_before: u64,
    /// Bytes of segments and index now.
    pub bytes_after: u64,
}

/// Makes the archive whose index is at `path` compact; no node may have it open.
///
/// # Errors
/// [`ArchiveError::NotFound`], [`ArchiveError::Locked`], and any other [`ArchiveError`] about the files; the archive is as it was then.
pub fn compact(
    path: &Path,
    options: &SegmentOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<CompactReport, ArchiveError> {
    let path = existing(path)?;
    let mut report = CompactReport::default();
    let mut compaction = Compaction::begin(&path, options)?;
    let bytes = |stats: &super::ArchiveStats| stats.segment_bytes + stats.index_bytes;
    report.bytes_before = bytes(&stats(&path)?);
    let opened = Opened::open(&path)?;
    let total = opened.count()?;
    let mut batch: Vec<StoredMessage> = Vec::new();
    let mut batch_bytes = 0;
    opened.messages(|message| {
        let Some(message) = message else {
            report.messages_lost += 1;
            return Ok(());
        };
        batch_bytes += message.body.as_ref().map_or(0, |body| body.payload.len());
        batch.push(message);
        if batch.len() == BATCH_MESSAGES_MAX || batch_bytes >= BATCH_BYTES_MAX {
            report.messages += compaction.copy(&batch)?;
            batch.clear();
            batch_bytes = 0;
            progress(Progress { done: report.messages + report.messages_lost, total });
        }
        Ok(())
    })?;
    report.messages += compaction.copy(&batch)?;
    drop(opened);
    compaction.finish()?;
    progress(Progress { done: total, total });
    report.bytes_after = bytes(&stats(&path)?);
    Ok(report)
}
