//! Moving an archive of the first format, which holds its payloads in the database, into segments.
//!
//! The new index grows beside the old file, as `P.migrating`, and takes its place when every message has moved: until then the old file
//! is whole, and behind that the new one is. A move that was interrupted goes on behind the last message that reached the segments.
//! While it lasts, the disk holds both.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};

use super::files::SegmentFiles;
use super::{Failure, Log, Settings, index, with_suffix};
use crate::counters::InsertTally;
use crate::lock::folder_of;
use crate::sqlite::export::Exported;
use crate::sqlite::{SqliteArchive, is_archive, translate};
use crate::{Archive, ArchiveError, Hash};

const BATCH_MESSAGES_MAX: u32 = 256;
const BATCH_BYTES_MAX: usize = 16 << 20;
/// Time between two log lines about the progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Moves the archive at `path` if it is one of the first format. The caller holds the lock of segments; the old one is taken here, so that
/// a node of an older build keeps away.
pub(super) fn migrate_if_needed(path: &Path, settings: &Settings) -> Result<(), ArchiveError> {
    if !is_archive(path)? {
        return Ok(());
    }
    let name = path.display().to_string();
    let first = SqliteArchive::open(path)?;
    let new_index = with_suffix(path, ".migrating");
    let files = SegmentFiles::new(with_suffix(path, ".segments"));
    let mut log = Log::open(&new_index, files, settings)?;
    move_messages(&first, &mut log, &name)?;
    let failed = |error| translate(&name, error);
    log.write_index().map_err(failed)?;
    drop(log);
    Box::new(first).close()?;
    replace(path, &new_index).map_err(|error| Failure::from(error).translate(&name))?;
    tracing::info!(archive = name, "the archive has moved into segments");
    Ok(())
}

fn move_messages(first: &SqliteArchive, log: &mut Log, name: &str) -> Result<(), ArchiveError> {
    let total = first.message_count()?;
    let failed = |error| translate(name, error);
    let mut last = match last_hash(&log.conn).map_err(failed)? {
        Some(hash) => first.export_place(&hash)?.unwrap_or(0),
        None => 0,
    };
    let mut done = index::count(&log.conn).map_err(failed)?;
    tracing::info!(archive = name, done, total, "moving the archive into segments");
    let mut reported = Instant::now();
    let mut dropped = 0;
    loop {
        let rows = first.export_after(last, BATCH_MESSAGES_MAX, BATCH_BYTES_MAX)?;
        let Some(newest) = rows.last() else { break };
        last = newest.id;
        done += rows.len() as u64;
        // Not published: these messages were counted when they came.
        let mut tally = InsertTally::default();
        let written = log.insert_batch(&mut rows.iter().map(Exported::message), &mut tally);
        written.map_err(|failure| failure.translate(name))?;
        dropped += tally.outcome.dropped;
        if reported.elapsed() >= PROGRESS_INTERVAL {
            reported = Instant::now();
            tracing::info!(archive = name, done, total, "moving the archive into segments");
        }
    }
    let moved = index::count(&log.conn).map_err(failed)?;
    if moved + dropped < total {
        let source = format!("only {moved} of {total} messages reached the segments; the old file was left as it is");
        return Err(ArchiveError::Io { path: name.to_owned(), source: source.into() });
    }
    Ok(())
}

/// The hash of the newest record that the index knows.
fn last_hash(conn: &Connection) -> rusqlite::Result<Option<Hash>> {
    conn.query_row("SELECT hash FROM message ORDER BY id DESC LIMIT 1", [], |row| row.get(0)).optional()
}

/// Puts the new index in the place of the old file, which ends it.
pub(super) fn replace(path: &Path, new_index: &Path) -> Result<(), Error> {
    // A log that another program keeps from being written back would be taken for that of the new index.
    let old_log = with_suffix(path, "-wal");
    match fs::metadata(&old_log) {
        Ok(log) if log.len() > 0 => {
            return Err(Error::new(ErrorKind::ResourceBusy, "another program has the old file open"));
        }
        Ok(_) => fs::remove_file(&old_log)?,
        Err(_) => {}
    }
    fs::rename(new_index, path)?;
    fs::File::open(folder_of(path))?.sync_all()
}
