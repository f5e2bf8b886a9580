//! The lock that keeps a second node off an archive.
//!
//! It is an advisory lock on a file of its own, beside the database, that holds the process id of its owner. Not on the database itself:
//! SQLite keeps POSIX locks there, which a process loses when it closes any other handle of that file. Other programs, such as
//! the `sqlite3` shell, do not know this lock and may read, which is wanted. The kernel frees the lock of a process that dies; the file
//! stays, because removing it would let two nodes lock two files of one name.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::ArchiveError;

/// The lock, held until dropped.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes the lock of the database at `path`, whose folder exists: the file of that name with `suffix` behind it.
    pub(crate) fn take(path: &Path, suffix: &str) -> Result<Self, ArchiveError> {
        let io = |error| ArchiveError::Io { path: path.display().to_string(), source: Box::new(error) };
        let mut lock_path = path.as_os_str().to_owned();
        lock_path.push(suffix);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&lock_path);
        let mut file = opened.map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                ArchiveError::FolderNotWritable { folder: folder_of(path).display().to_string() }
            }
            // A folder that is there and refuses new names, as /proc does.
            ErrorKind::NotFound if folder_of(path).is_dir() => {
                ArchiveError::FolderNotWritable { folder: folder_of(path).display().to_string() }
            }
            ErrorKind::NotADirectory | ErrorKind::NotFound => {
                ArchiveError::FolderMissing { folder: folder_of(path).display().to_string() }
            }
            _ => io(error),
        })?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(locked(path, &mut file)),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(io)?;
        write!(file, "{}", std::process::id()).map_err(io)?;
        Ok(Self { _file: file })
    }
}

/// The path through all symbolic links, so that every way to name a file leads to one lock. The file itself need not exist.
pub(crate) fn canonical(path: &Path) -> Result<PathBuf, ArchiveError> {
    let canonical = path.canonicalize().or_else(|_| {
        let folder = folder_of(path).canonicalize()?;
        Ok::<_, std::io::Error>(folder.join(path.file_name().unwrap_or_default()))
    });
    canonical.map_err(|_| ArchiveError::FolderMissing { folder: folder_of(path).display().to_string() })
}

/// The folder of a file, also of one that is named alone.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn locked(path: &Path, file: &mut File) -> ArchiveError {
    let mut holder = String::new();
    // A process id has at most ten digits; if the owner has not written it yet, the sentence goes without.
    let known = file.take(10).read_to_string(&mut holder).is_ok() && holder.parse::<u32>().is_ok();
    let holder = if known { format!(" (process {holder})") } else { String::new() };
    ArchiveError::Locked { path: path.display().to_string(), holder }
}
