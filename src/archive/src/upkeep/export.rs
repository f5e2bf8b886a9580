//! Handing out every message of an archive.

use std::path::Path;

use super::{Progress, existing};
use crate::lock::FileLock;
use crate::segments::upkeep::Opened;
use crate::{ArchiveError, StoredMessage};

/// Hands every message of the archive whose index is at `path` to `take`, in the order in which they came; returns how many there were,
/// and how many are damaged and so were left out. No node may have it open.
///
/// # Errors
/// [`ArchiveError::NotFound`], [`ArchiveError::Locked`], any other [`ArchiveError`] about the files, and that of `take`, as
/// [`ArchiveError::Io`].
pub fn export(
    path: &Path,
    take: &mut dyn FnMut(StoredMessage) -> std::io::Result<()>,
    progress: &mut dyn FnMut(Progress),
) -> Result<(u64, u64), ArchiveError> {
    let path = existing(path)?;
    let _lock = FileLock::take(&path, ".lock")?;
    let opened = Opened::open(&path)?;
    let (total, name) = (opened.count()?, path.display().to_string());
    let (mut taken, mut damaged) = (0, 0);
    opened.messages(|message| {
        match message {
            Some(message) => {
                take(message).map_err(|error| ArchiveError::Io { path: name.clone(), source: Box::new(error) })?;
                taken += 1;
            }
            None => damaged += 1,
        }
        if (taken + damaged) % 256 == 0 {
            progress(Progress { done: taken + damaged, total });
        }
        Ok(())
    })?;
    progress(Progress { done: taken + damaged, total });
    Ok((taken, damaged))
}
