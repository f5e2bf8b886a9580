//! What an operator does to an archive that no node has open: look it over, count, make it compact, take it elsewhere, fill it from
//! another node's.

mod compact;
mod export;
mod import;
mod nwaku;
mod stats;
mod verify;

pub use compact::{CompactReport, compact};
pub use export::export;
pub use import::{ImportReport, import_nwaku};
pub(crate) use nwaku::is_nwaku;
pub use stats::{ArchiveStats, TopicStats, stats};
pub use verify::{VerifyReport, verify};

use std::path::{Path, PathBuf};

use crate::ArchiveError;
use crate::lock::canonical;

/// How far a long task is, in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Messages that are done.
    pub done: u64,
    /// Messages that there are.
    pub total: u64,
}

/// Messages, and bytes, that are handled in one go.
const BATCH_MESSAGES_MAX: usize = 256;
const BATCH_BYTES_MAX: usize = 16 << 20;

/// The path of an archive that is there already.
fn existing(path: &Path) -> Result<PathBuf, ArchiveError> {
    let path = canonical(path)?;
    if path.is_dir() {
        return Err(ArchiveError::PathIsFolder { path: path.display().to_string() });
    }
    if path.exists() { Ok(path) } else { Err(ArchiveError::NotFound { path: path.display().to_string() }) }
}
