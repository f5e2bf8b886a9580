//! Reading every record of an archive, and comparing it with the index.

use std::collections::HashMap;
use std::path::Path;

use super::{Progress, existing};
use crate::lock::FileLock;
use crate::segments::upkeep::{Opened, RowPlace};
use crate::{ArchiveError, Hash};

/// Faults that are named; all are counted.
const NAMED_MAX: usize = 100;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Messages that the index has.
    pub messages: u64,
    /// Segments that the index has.
    pub segments: u64,
    /// Messages of the index whose record is damaged or gone.
    pub messages_lost: u64,
    /// Segments of the index whose file is gone, or has no readable header.
    pub segments_lost: u64,
    /// Whole records behind the end of the index, which the next start of a node enters there.
    pub messages_unindexed: u64,
    /// What is wrong with the index, if SQLite finds a fault, or rows and hashes do not agree.
    pub index_fault: Option<String>,
    /// The first hundred faults, a line each.
    pub faults: Vec<String>,
}

impl VerifyReport {
    /// Whether every message can be served.
    pub fn is_whole(&self) -> bool {
        self.messages_lost == 0 && self.segments_lost == 0 && self.index_fault.is_none()
    }

    fn name(&mut self, fault: String) {
        if self.faults.len() < NAMED_MAX {
            self.faults.push(fault);
        }
    }
}

/// Reads all of the archive whose index is at `path`, and changes nothing. No node may have it open.
///
/// # Errors
/// [`ArchiveError::NotFound`], [`ArchiveError::Locked`], and any other [`ArchiveError`] about the files. What is damaged is no error, but
/// in the report.
pub fn verify(path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<VerifyReport, ArchiveError> {
    let path = existing(path)?;
    let _lock = FileLock::take(&path, ".lock")?;
    let opened = Opened::open(&path)?;
    let mut report =
        VerifyReport { messages: opened.count()?, index_fault: opened.index_fault()?, ..Default::default() };
    let mut done = 0;
    for entry in opened.entries()? {
        report.segments += 1;
        let mut records = HashMap::new();
        let scanned = opened.scan(entry.id, |offset, hash, bytes| {
            records.insert(offset, (hash, bytes));
            report.messages_unindexed += u64::from(offset >= entry.bytes);
        })?;
        if !scanned {
            report.segments_lost += 1;
            report.name(format!("segment {} cannot be read: {}", entry.id, opened.segment_path(entry.id)));
        }
        opened.rows(entry.id, |row| {
            compare(&mut report, &records, &row, entry.id);
            done += 1;
            if done % 1_024 == 0 {
                progress(Progress { done, total: report.messages });
            }
        })?;
    }
    progress(Progress { done, total: report.messages });
    Ok(report)
}

fn compare(report: &mut VerifyReport, records: &HashMap<u64, (Hash, u64)>, row: &RowPlace, segment: u32) {
    if records.get(&row.offset) != Some(&(row.hash, row.bytes)) {
        report.messages_lost += 1;
        let hash: String = row.hash.iter().map(|byte| format!("{byte:02x}")).collect();
        report
            .name(format!("message {hash} is damaged: segment {segment}, offset {}, {} bytes", row.offset, row.bytes));
    }
}
