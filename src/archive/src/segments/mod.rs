//! The segment log: payloads in append-only files, and SQLite as their index only.
//!
//! # Layout
//! `sqlite://P` means the index `P` (SQLite, see [`index`]), the segments in the folder `P.segments` (see [`mod@format`]), and the lock
//! `P.lock`. A payload is written once: a database that holds it writes it into its log and then into its pages. Dropping old messages
//! removes files.
//!
//! # A batch
//! Its records are written, the segment is synced (and the folder when a segment was created), the rows of the index and the high-water
//! mark of the segment are committed in one transaction, and then the batch is acknowledged. The commit itself is not synced: the segment
//! has what it says, and a rescan from the mark finds it.
//!
//! # Damage
//! Every record has a checksum that is compared on the way out. What is damaged is left out, counted and named, and never served.

mod bare;
mod block;
mod files;
mod format;
mod hashes;
mod index;
mod io;
mod known;
mod migrate;
mod pending;
mod reader;
mod recent;
mod recover;
mod release;
mod retention;
mod scan;
mod tail;
pub(crate) mod upkeep;
mod writer;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use levada_engine::io::{WriteRing, Writes};
use rusqlite::Connection;

use crate::counters::{InsertTally, count_retention};
use crate::lock::{FileLock, canonical, folder_of};
use crate::sqlite::translate;
use crate::{Archive, ArchiveError, ArchiveMessage, ArchiveReader, Dropped, Handle, InsertOutcome, Retention};
pub use bare::{BareWrite, write_bare};
use block::Blocks;
use files::SegmentFiles;
use format::Layout;
use hashes::{Hashes, Waiting};
use index::{Row, Rows};
use io::Way;
pub use io::{StoreIo, StoreIoError};
use known::Known;
use pending::{Lent, Pending};
pub use reader::SegmentReader;
use writer::{Batch, Writer};

/// Bytes at which a segment ends.
pub const SEGMENT_BYTES_DEFAULT: u64 = 64 << 20;
/// Bytes of memory for the newest records.
pub const RECENT_BYTES_DEFAULT: usize = 16 << 20;
/// Bytes of slots that are held for the newest payloads.
pub const HELD_BYTES_DEFAULT: usize = 16 << 20;
/// Hashes that wait in memory for their place in the index: 2.7 MB of them, and 6 MB while large batches add to those that are entering.
pub const WAITING_HASHES_DEFAULT: usize = 50_000;
/// Places in a segment are 32 bits, in units of 8 bytes.
const SEGMENT_BYTES_MAX: u64 = 16 << 30;

/// How to write an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentOptions {
    /// Bytes at which a segment ends and the next one begins; at most 16 GiB. Retention drops whole segments.
    pub segment_bytes: u64,
    /// The way bytes reach the disk.
    pub io: StoreIo,
    /// Bytes of memory for the newest records, which are served from there; at least 16 MiB.
    pub recent_bytes: usize,
    /// Bytes of slots that may be held for the newest payloads of those that were written from where they lie, see [`Archive::keep`].
    pub held_bytes: usize,
    /// Hashes that wait in memory before they begin to enter the index, in their order; a batch may add to them meanwhile. The more there
    /// are, the fewer pages of the index are rewritten for each.
    pub waiting_hashes: usize,
}

impl Default for SegmentOptions {
    fn default() -> Self {
        Self {
            segment_bytes: SEGMENT_BYTES_DEFAULT,
            io: StoreIo::default(),
            recent_bytes: RECENT_BYTES_DEFAULT,
            held_bytes: HELD_BYTES_DEFAULT,
            waiting_hashes: WAITING_HASHES_DEFAULT,
        }
    }
}

/// The options, once it is known how segments can be written.
struct Settings {
    segment_bytes: u64,
    way: Way,
    recent_bytes: usize,
    held_bytes: usize,
    waiting_hashes: usize,
}

impl Settings {
    fn new(options: &SegmentOptions) -> Result<Self, ArchiveError> {
        let way = Way::new(options.io).map_err(|source| ArchiveError::IoUringRefused { source })?;
        let segment_bytes = options.segment_bytes.min(SEGMENT_BYTES_MAX);
        let SegmentOptions { recent_bytes, held_bytes, waiting_hashes, .. } = *options;
        Ok(Self { segment_bytes, way, recent_bytes, held_bytes, waiting_hashes })
    }
}

/// An archive in segments.
pub struct SegmentArchive {
    /// Behind a lock only because a connection may not be shared: counting reads through it.
    log: Mutex<Log>,
    files: Arc<SegmentFiles>,
    waiting: Arc<Waiting>,
    locked: Arc<LockedPath>,
}

/// The index and the end of the log, which are changed together.
struct Log {
    conn: Connection,
    writer: Writer,
    ring: Option<Arc<Mutex<WriteRing>>>,
    /// What the last batch wrote from where it lay.
    lent: Vec<Lent>,
    known: Known,
    hashes: Hashes,
    /// Segments whose rows retention deleted, and whose files are to be removed.
    emptied: Vec<u32>,
    /// Segments whose files retention removed, and whose marks the index still has.
    removed: Vec<u32>,
    /// The index is giving free pages back.
    shrinking: bool,
}

/// The path of the index and the lock beside it, held until the last reader is gone.
#[derive(Debug)]
struct LockedPath {
    path: String,
    _lock: FileLock,
}

impl SegmentArchive {
    /// Opens the archive whose index is at `path`, or creates it; its folder must exist. What a crash left is mended first, which reads
    /// what the index does not have yet. An index of an older build is brought to the present version, for which the disk must have room.
    /// An archive of the first format ([`crate::SqliteArchive`]) is moved into segments first, which takes as long as reading and writing
    /// all of it.
    ///
    /// # Errors
    /// Any [`ArchiveError`] about the files. A database that is not an index of segments is left as it is.
    pub fn open(path: &Path, options: &SegmentOptions) -> Result<Self, ArchiveError> {
        Self::open_with(path, &Settings::new(options)?)
    }

    fn open_with(path: &Path, settings: &Settings) -> Result<Self, ArchiveError> {
        if path.is_dir() {
            return Err(ArchiveError::PathIsFolder { path: path.display().to_string() });
        }
        let path = canonical(path)?;
        let locked = LockedPath { _lock: FileLock::take(&path, ".lock")?, path: path.display().to_string() };
        migrate::migrate_if_needed(&path, settings)?;
        let log = Log::open(&path, SegmentFiles::new(with_suffix(&path, ".segments")), settings)?;
        let (files, waiting) = (Arc::clone(log.writer.files()), Arc::clone(log.hashes.waiting()));
        Ok(Self { files, waiting, log: Mutex::new(log), locked: Arc::new(locked) })
    }

    /// Leaves the files as a reader wants to find them.
    fn close_files(self) -> Result<(), ArchiveError> {
        // Readers may live on, and slots are for others.
        self.files.recent.release();
        let removed = self.log().remove_emptied(&self.files);
        let forgotten = removed.and_then(|_| self.log().forget_removed(&self.files));
        forgotten.map_err(|failure| failure.translate(&self.locked.path))?;
        let written = self.log().write_index();
        self.files.finish_release();
        written.map_err(|error| translate(&self.locked.path, error))
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        // A panic while it was held has taken its batch back.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    /// Opens the index at `index` and makes it agree with the segments.
    fn open(index: &Path, files: SegmentFiles, settings: &Settings) -> Result<Self, ArchiveError> {
        let conn = index::open(index)?;
        let mended = create_folder(&files).map_err(Failure::from).and_then(|()| recover::recover(&conn, &files));
        let log = mended.and_then(|next_id| Self::new(conn, files, settings, next_id));
        log.map_err(|failure| failure.translate(&index.display().to_string()))
    }

    /// A log whose index and segments agree, and whose next segment is `next_id`.
    fn new(conn: Connection, files: SegmentFiles, settings: &Settings, next_id: u32) -> Result<Self, Failure> {
        let known = Known::load(&conn)?;
        let hashes = Hashes::load(&conn, settings.waiting_hashes)?;
        let blocks = Blocks::new(settings.recent_bytes, Arc::clone(&files.recent));
        files.recent.set_held_bytes_max(settings.held_bytes);
        let Way { create, ring, alignment } = settings.way.clone();
        let writer = Writer::new(Arc::new(files), create, settings.segment_bytes, alignment, next_id, blocks);
        Ok(Self {
            conn,
            writer,
            ring,
            lent: Vec::new(),
            known,
            hashes,
            emptied: Vec::new(),
            removed: Vec::new(),
            shrinking: false,
        })
    }

    fn insert_batch<'a>(
        &mut self,
        batch: &mut dyn Iterator<Item = ArchiveMessage<'a>>,
        tally: &mut InsertTally,
    ) -> Result<(), Failure> {
        let Self { conn, writer, ring, lent, known, hashes, .. } = self;
        // Before the batch: where none can enter, the index takes no rows either, and so few wait.
        hashes.step(conn)?;
        lent.clear();
        let mut work = |writes: Option<&mut Writes<'_, 'a>>| {
            let mut unfinished = Batch { writer, pending: Pending::new(writes) };
            write_batch(conn, &mut unfinished, known, hashes, batch, tally)?;
            *lent = unfinished.pending.take_lent();
            Ok(())
        };
        match ring {
            // Nothing is left half done in a ring: a scope waits for all of its writes.
            Some(ring) => ring.lock().unwrap_or_else(PoisonError::into_inner).scope(|writes| work(Some(writes))),
            None => work(None),
        }
    }

    /// Leaves the index with all hashes, and in one file. On a full disk they wait on, in their rows.
    fn write_index(&mut self) -> rusqlite::Result<()> {
        self.hashes.finish(&self.conn).or_else(|error| if index::is_full(&error) { Ok(()) } else { Err(error) })?;
        index::checkpoint(&self.conn)
    }

    /// Holds what the last batch wrote from where it lay, as far as there is room.
    fn keep(&mut self, handle: &mut dyn FnMut(usize) -> Option<Handle>) {
        let recent = &self.writer.files().recent;
        for Lent { message, part, place } in self.lent.drain(..) {
            if let Some(Handle { payload, slot_bytes }) = handle(message) {
                recent.hold(place, payload.slice(part), slot_bytes);
            }
        }
    }
}

impl Archive for SegmentArchive {
    fn insert_batch<'a>(
        &mut self,
        batch: &mut dyn Iterator<Item = ArchiveMessage<'a>>,
    ) -> Result<InsertOutcome, ArchiveError> {
        let mut tally = InsertTally::default();
        let result = self.log().insert_batch(batch, &mut tally);
        tally.publish(result.map_err(|failure| failure.translate(&self.locked.path)))
    }

    fn takes(&self, message: &ArchiveMessage<'_>) -> bool {
        format::fits(message)
    }

    fn keep(&mut self, handle: &mut dyn FnMut(usize) -> Option<Handle>) {
        self.log().keep(handle);
    }

    fn reader(&self) -> Result<Box<dyn ArchiveReader>, ArchiveError> {
        let conn = index::open_reader(Path::new(&self.locked.path));
        let conn = conn.map_err(|error| translate(&self.locked.path, error))?;
        let (files, waiting) = (Arc::clone(&self.files), Arc::clone(&self.waiting));
        Ok(Box::new(SegmentReader { conn, files, waiting, locked: Arc::clone(&self.locked) }))
    }

    fn clear(&mut self) -> Result<(), ArchiveError> {
        self.log().drop_all(&self.files).map_err(|failure| failure.translate(&self.locked.path))
    }

    fn retain(&mut self, retention: &Retention) -> Result<Dropped, ArchiveError> {
        let dropped = self.log().retain(&self.files, retention);
        count_retention(dropped.map_err(|failure| failure.translate(&self.locked.path)))
    }

    fn message_count(&self) -> Result<u64, ArchiveError> {
        index::count(&self.log().conn).map_err(|error| translate(&self.locked.path, error))
    }

    fn location(&self) -> String {
        format!("sqlite://{}", self.locked.path)
    }

    fn close(self: Box<Self>) -> Result<(), ArchiveError> {
        self.close_files()
    }
}

/// Writes and commits a batch; if it fails, the writer still has to take it back, see [`Batch`].
fn write_batch<'a>(
    conn: &Connection,
    Batch { writer, pending }: &mut Batch<'_, '_, '_, 'a>,
    known: &mut Known,
    hashes: &mut Hashes,
    batch: &mut dyn Iterator<Item = ArchiveMessage<'a>>,
    tally: &mut InsertTally,
) -> Result<(), Failure> {
    hashes.begin();
    let transaction = index::begin(conn)?;
    let mut rows = Rows::new(conn)?;
    for (number, message) in batch.enumerate() {
        if !format::fits(&message) {
            tally.outcome.dropped += 1;
            continue;
        }
        let layout = writer.layout(&message);
        let Layout { place, bytes, .. } = layout;
        let (hash, timestamp) = (&message.hash, message.timestamp);
        let (pubsub_topic, content_topic) = (message.pubsub_topic, message.content_topic);
        // The row goes first, since it tells a duplicate before anything is written.
        if rows.insert(&Row { place, hash, timestamp, pubsub_topic, content_topic, bytes })? {
            pending.begin(number);
            hashes.add(hash, place.id());
            let copied_bytes = writer.append(&message, &layout, pending)?;
            tally.stored_copying(message.payload.len(), copied_bytes);
        } else {
            tally.outcome.duplicates += 1;
        }
    }
    drop(rows);
    if tally.outcome.stored == 0 {
        return Ok(());
    }
    writer.sync(pending)?;
    writer.extents().try_for_each(|extent| index::mark(conn, extent))?;
    hashes.publish(|| transaction.commit())?;
    writer.extents().for_each(|extent| known.add(extent));
    writer.keep();
    Ok(())
}

/// Creates the folder of the segments, durably, if it is not there.
fn create_folder(files: &SegmentFiles) -> std::io::Result<()> {
    match fs::create_dir(files.folder()) {
        Ok(()) => fs::File::open(folder_of(files.folder()))?.sync_all(),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// What went wrong: in the index, or in a segment.
#[derive(Debug)]
enum Failure {
    Index(rusqlite::Error),
    Segment(std::io::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Index(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Segment(error)
    }
}

impl Failure {
    /// The error of the archive at `path` that this stands for.
    fn translate(self, path: &str) -> ArchiveError {
        use std::io::ErrorKind;
        let error = match self {
            Self::Index(error) => return translate(path, error),
            Self::Segment(error) => error,
        };
        let path = path.to_owned();
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ArchiveError::DiskFull { path },
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => ArchiveError::FileReadOnly { path },
            _ => ArchiveError::Io { path, source: Box::new(error) },
        }
    }
}

#[cfg(test)]
mod tests;
