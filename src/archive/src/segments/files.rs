//! The segment files of an archive: their names, and those that are open for reading.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::format::{ALIGNMENT, SegmentHeader};
use super::recent::Recent;
use super::release::Releaser;

/// Most segments kept open for reading.
const OPEN_MAX: usize = 64;
/// Most damaged records that are named in the log, so that queries for them cannot fill it; all are counted.
const NAMED_MAX: usize = 1_000;
const EXTENSION: &str = "segment";

/// The folder of segments, shared by the archive and its readers.
#[derive(Debug)]
pub(super) struct SegmentFiles {
    folder: PathBuf,
    /// Segments below this number were dropped by retention: nobody misses them.
    dropped_below: AtomicU32,
    open: Mutex<Vec<Arc<OpenSegment>>>,
    named: Mutex<HashSet<i64>>,
    releaser: Mutex<Option<Releaser>>,
    /// Whether files were removed since the folder was synced.
    unsynced: AtomicBool,
    /// What was last written, in memory.
    pub(super) recent: Arc<Recent>,
}

/// A segment that is open for reading.
#[derive(Debug)]
pub(super) struct OpenSegment {
    pub(super) header: SegmentHeader,
    pub(super) file: File,
}

impl SegmentFiles {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            dropped_below: AtomicU32::new(0),
            open: Mutex::default(),
            named: Mutex::default(),
            releaser: Mutex::default(),
            unsynced: AtomicBool::new(false),
            recent: Arc::default(),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path_of(&self, id: u32) -> PathBuf {
        self.folder.join(format!("{id:010}.{EXTENSION}"))
    }

    /// The numbers of the segments that are there, ascending. Other files are nobody's business.
    pub(super) fn list(&self) -> io::Result<Vec<u32>> {
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = PathBuf::from(entry?.file_name());
            let id = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
            if let Some(id) = id.filter(|id| self.path_of(*id).file_name() == Some(path.as_os_str())) {
                ids.push(id);
            }
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// The segment `id`, open for reading.
    ///
    /// # Errors
    /// Those of the system, and [`io::ErrorKind::InvalidData`] if neither copy of its header is whole.
    pub(super) fn get(&self, id: u32) -> io::Result<Arc<OpenSegment>> {
        let mut open = lock(&self.open);
        if let Some(position) = open.iter().position(|segment| segment.header.id == id) {
            let segment = open.remove(position);
            open.push(Arc::clone(&segment));
            return Ok(segment);
        }
        drop(open);
        let file = File::open(self.path_of(id))?;
        let mut block = [0; ALIGNMENT];
        file.read_exact_at(&mut block, 0)?;
        let header = SegmentHeader::decode(&block).filter(|header| header.id == id);
        let header = header.ok_or(io::ErrorKind::InvalidData)?;
        let segment = Arc::new(OpenSegment { header, file });
        let mut open = lock(&self.open);
        // A file that stays open keeps its room on the disk, so one that was dropped meanwhile does not.
        if !self.is_dropped(id) {
            open.push(Arc::clone(&segment));
        }
        if open.len() > OPEN_MAX {
            open.remove(0);
        }
        Ok(segment)
    }

    /// Removes the files of the oldest segments, up to the last of `ids`, whose rows are gone. Durable when the folder is synced; the disk
    /// has their room as fast as it takes it, see [`finish_release`](Self::finish_release).
    pub(super) fn drop_oldest(&self, ids: &[u32]) -> io::Result<()> {
        // Pairs with the load in `is_dropped`.
        self.dropped_below.fetch_max(ids.last().map_or(0, |last| last + 1), Ordering::AcqRel);
        lock(&self.open).retain(|segment| !self.is_dropped(segment.header.id));
        ids.iter().try_for_each(|id| {
            let last_handle = File::open(self.path_of(*id));
            self.remove_file(*id)?;
            self.release(last_handle.ok());
            Ok(())
        })
    }

    /// Lets go of a removed file, or of nothing, on a thread for that if the system grants one.
    fn release(&self, file: Option<File>) {
        let mut releaser = lock(&self.releaser);
        if releaser.is_none() {
            *releaser = Releaser::start();
        }
        if let (Some(releaser), Some(file)) = (&*releaser, file) {
            releaser.release(file);
        }
    }

    /// Returns when the disk has the room of all dropped segments again, but for those that somebody reads.
    pub(super) fn finish_release(&self) {
        let releaser = lock(&self.releaser).take();
        if let Some(releaser) = releaser {
            releaser.finish();
        }
    }

    /// Removes a file and syncs the folder.
    pub(super) fn remove(&self, id: u32) -> io::Result<()> {
        self.remove_file(id)?;
        self.sync_folder()
    }

    /// Removes a file; one that is not there is no error.
    fn remove_file(&self, id: u32) -> io::Result<()> {
        // The writer's alone, and of use to nobody else.
        self.unsynced.store(true, Ordering::Relaxed);
        match fs::remove_file(self.path_of(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Makes the names of new files durable, and the absence of removed ones.
    pub(super) fn sync_folder(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()?;
        self.unsynced.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Whether files were removed since the folder was last synced.
    pub(super) fn is_unsynced(&self) -> bool {
        self.unsynced.load(Ordering::Relaxed)
    }

    /// Whether retention dropped the segment, so that a row of it may be left in an older snapshot.
    pub(super) fn is_dropped(&self, id: u32) -> bool {
        // Pairs with the update in `drop_oldest`.
        id < self.dropped_below.load(Ordering::Acquire)
    }

    /// Whether the damage of the record at `id` is to be named: once per record.
    pub(super) fn names(&self, id: i64) -> bool {
        let mut named = lock(&self.named);
        named.len() < NAMED_MAX && named.insert(id)
    }
}

/// Takes the lock; nothing that can panic runs under it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
