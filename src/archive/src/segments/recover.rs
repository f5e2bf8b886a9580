//! What is done at opening, so that index and segments agree again after a crash, a power failure or damage.
//!
//! Each segment is taken by itself: what the index has of it is trusted up to the high-water mark, what lies behind is scanned and
//! inserted, and what follows the last whole record is cut off. A segment that the index does not know is scanned from its beginning, so
//! a lost index is nothing more than many of these. Whatever is missing or damaged is named in the log.

use std::fs::{self, OpenOptions};
use std::io;

use rusqlite::Connection;

use super::Failure;
use super::files::SegmentFiles;
use super::format::{ALIGNMENT, Location, SEGMENT_HEADER_BYTES};
use super::index::{self, Entry, Row, Rows};
use super::scan::{End, Met, Scan};
use super::tail::Extent;
use crate::counters::DAMAGED_RECORDS;

/// Makes index and segments agree; returns the number of the next segment.
pub(super) fn recover(conn: &Connection, files: &SegmentFiles) -> Result<u32, Failure> {
    let present = files.list()?;
    let (entries, entered) = (index::segments(conn)?, index::entered(conn)?);
    for entry in &entries {
        if entry.dropped {
            files.remove(entry.id)?;
            index::forget(conn, entry.id)?;
        } else if !present.contains(&entry.id) {
            forget_missing(conn, files, entry)?;
        }
    }
    for id in &present {
        match entries.iter().find(|entry| entry.id == *id) {
            Some(entry) if entry.dropped => {}
            entry => recover_segment(conn, files, *id, entry, entered)?,
        }
    }
    let last = present.last().copied().max(entries.last().map(|entry| entry.id));
    // Behind the rows whose hashes have entered, too: where all segments are gone, new rows are not to be taken for such.
    let last = last.max((entered >= 0).then(|| Location::of_id(entered).segment));
    Ok(last.map_or(0, |id| id + 1))
}

/// The file of a segment is gone: so are its messages.
fn forget_missing(conn: &Connection, files: &SegmentFiles, entry: &Entry) -> Result<(), Failure> {
    let transaction = index::begin(conn)?;
    let messages = index::delete_rows(conn, entry.id, 0)?;
    index::forget(conn, entry.id)?;
    transaction.commit()?;
    DAMAGED_RECORDS.add(messages);
    let segment = files.path_of(entry.id).display().to_string();
    tracing::error!(segment, messages, "a segment of the archive is missing, and its messages with it");
    Ok(())
}

/// The hashes of new rows up to `entered` enter at once: they do not wait, as those behind it do.
fn recover_segment(
    conn: &Connection,
    files: &SegmentFiles,
    id: u32,
    entry: Option<&Entry>,
    entered: i64,
) -> Result<(), Failure> {
    let path = files.path_of(id);
    let file_bytes = fs::metadata(&path)?.len();
    match entry {
        Some(entry) if file_bytes == entry.bytes => return Ok(()),
        Some(entry) if file_bytes < entry.bytes => return forget_behind(conn, files, entry, file_bytes),
        _ => {}
    }
    let segment = match files.get(id) {
        Ok(segment) => segment,
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) => {
            return Ok(set_aside(files, id, file_bytes)?);
        }
        Err(error) => return Err(error.into()),
    };
    let known = End {
        offset: entry.map_or(SEGMENT_HEADER_BYTES, |entry| entry.bytes),
        sequence: entry.map_or(0, |entry| entry.records),
    };
    let transaction = index::begin(conn)?;
    let mut rows = Rows::new(conn)?;
    let mut extent = Extent::new(id);
    let end = Scan::new(&segment, known)?.run(|met| match met {
        Met::Record { offset, header, pubsub_topic, content_topic } => {
            let place = Location { segment: id, offset };
            let (hash, timestamp, bytes) = (&header.hash, header.timestamp, header.record_bytes());
            let row = Row { place, hash, timestamp, pubsub_topic, content_topic, bytes };
            // A batch that was offered twice may have a record in two segments.
            if rows.insert(&row)? {
                extent.add(timestamp);
                if place.id() <= entered {
                    index::enter_one(conn, hash, place.id())?;
                }
            }
            Ok::<_, Failure>(())
        }
        Met::Damage { offset, bytes, records } => {
            DAMAGED_RECORDS.add(u64::from(records));
            let segment = path.display().to_string();
            tracing::error!(segment, offset, bytes, records, "damaged records of the archive are passed by");
            Ok(())
        }
    })?;
    drop(rows);
    extent.records = end.sequence;
    extent.bytes = end.offset.next_multiple_of(ALIGNMENT as u64).min(file_bytes);
    if entry.is_some() || extent.added > 0 {
        index::mark(conn, &extent)?;
        cut(files, id, &extent, file_bytes)?;
        transaction.commit()?;
        if extent.added > 0 {
            let segment = path.display().to_string();
            tracing::info!(segment, messages = extent.added, "messages found behind the end of the index");
        }
    } else {
        drop(transaction);
        files.remove(id)?;
    }
    Ok(())
}

/// The file is shorter than what the index has of it.
fn forget_behind(conn: &Connection, files: &SegmentFiles, entry: &Entry, file_bytes: u64) -> Result<(), Failure> {
    let transaction = index::begin(conn)?;
    let messages = index::delete_rows(conn, entry.id, file_bytes)?;
    index::cut(conn, entry.id, file_bytes, messages)?;
    transaction.commit()?;
    DAMAGED_RECORDS.add(messages);
    let segment = files.path_of(entry.id).display().to_string();
    tracing::error!(segment, file_bytes, index_bytes = entry.bytes, messages, "a segment of the archive was cut short");
    Ok(())
}

/// A file without a readable header: a crash while it was created, or damage that is left for the operator to look at.
fn set_aside(files: &SegmentFiles, id: u32, file_bytes: u64) -> io::Result<()> {
    if file_bytes <= SEGMENT_HEADER_BYTES {
        return files.remove(id);
    }
    let segment = files.path_of(id).display().to_string();
    tracing::error!(segment, file_bytes, "a segment of the archive has no readable header and is left alone");
    Ok(())
}

/// Cuts off what follows the last whole record.
fn cut(files: &SegmentFiles, id: u32, extent: &Extent, file_bytes: u64) -> io::Result<()> {
    if extent.bytes == file_bytes {
        return Ok(());
    }
    let path = files.path_of(id);
    let file = OpenOptions::new().write(true).open(&path)?;
    file.set_len(extent.bytes)?;
    file.sync_all()?;
    let bytes = file_bytes - extent.bytes;
    tracing::warn!(segment = %path.display(), offset = extent.bytes, bytes, "the torn end of a segment is cut off");
    Ok(())
}
