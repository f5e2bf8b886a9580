//! Reading: keys from the index, bodies from the segments, each checked before it is handed out.

use std::collections::HashMap;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Instant;

use rusqlite::Connection;

use super::LockedPath;
use super::files::SegmentFiles;
use super::format::{Location, RECORD_BYTES_MAX, RecordHeader};
use super::hashes::Waiting;
use super::index;
use crate::counters::{DAMAGED_RECORDS, DISK_READ_BYTES, DISK_READS, MEMORY_READS, count_query};
use crate::range::Key;
use crate::sqlite::{query, translate};
use crate::{ArchiveError, ArchiveReader, Hash, Page, Query, StoredBody};

/// A reader of a [`super::SegmentArchive`].
#[derive(Debug)]
pub struct SegmentReader {
    pub(super) conn: Connection,
    pub(super) files: Arc<SegmentFiles>,
    pub(super) waiting: Arc<Waiting>,
    pub(super) locked: Arc<LockedPath>,
}

impl ArchiveReader for SegmentReader {
    /// A message whose record is damaged or gone is left out, counted, and named in the log.
    fn query(&mut self, query: &Query) -> Result<Page, ArchiveError> {
        let began = Instant::now();
        let page = query.check().and_then(|()| {
            let waiting = self.waiting.ids_of(query.hashes.iter().chain(&query.cursor).copied());
            let source = Segments { files: &self.files, waiting };
            query::query(&self.conn, query, &source).map_err(|failure| match failure {
                query::Failure::Sqlite(error) => translate(&self.locked.path, error),
                query::Failure::Query(error) => error,
            })
        });
        count_query(began, &page);
        page
    }

    fn keys_after(&mut self, pubsub_topic: &str, after: Key, keys_max: usize) -> Result<Vec<Key>, ArchiveError> {
        let keys = query::keys_after(&self.conn, pubsub_topic, &after, keys_max);
        keys.map_err(|error| translate(&self.locked.path, error))
    }
}

/// What rows of the index say where to find.
struct Segments<'a> {
    files: &'a SegmentFiles,
    /// Those of the hashes asked for that had not entered the index before it was asked.
    waiting: HashMap<Hash, i64>,
}

impl query::Source for Segments<'_> {
    fn ids_of(&self, conn: &Connection, hash: &Hash) -> rusqlite::Result<Vec<i64>> {
        self.waiting.get(hash).map_or_else(|| index::ids_of(conn, hash), |id| Ok(vec![*id]))
    }

    fn body_of(&self, conn: &Connection, id: i64) -> rusqlite::Result<Option<StoredBody>> {
        let (bytes, hash) = index::record_at(conn, id)?;
        Ok(body_at(self.files, id, bytes, &hash))
    }
}

/// The message whose row has `id`; nothing if its record is damaged or gone.
pub(super) fn body_at(files: &SegmentFiles, id: i64, bytes: u64, hash: &Hash) -> Option<StoredBody> {
    let place = Location::of_id(id);
    match read(files, place, bytes, hash) {
        Ok(body) => Some(body),
        Err(_) if files.is_dropped(place.segment) => None,
        Err(reason) => {
            DAMAGED_RECORDS.add(1);
            if files.names(id) {
                let segment = files.path_of(place.segment).display().to_string();
                tracing::error!(
                    segment,
                    offset = place.offset,
                    bytes,
                    reason,
                    "a damaged record is left out of an answer"
                );
            }
            None
        }
    }
}

/// Reads the record of `bytes` at `place`, from memory if it is one of the newest, else from the disk in one go, and nothing besides.
fn read(files: &SegmentFiles, place: Location, bytes: u64, hash: &Hash) -> Result<StoredBody, String> {
    if bytes > RECORD_BYTES_MAX {
        return Err("its length in the index is impossible".to_owned());
    }
    let segment = files.get(place.segment).map_err(|error| error.to_string())?;
    let mut record = vec![0; bytes as usize];
    if files.recent.read(place, &mut record) {
        MEMORY_READS.add(1);
    } else {
        segment.file.read_exact_at(&mut record, place.offset).map_err(|error| error.to_string())?;
        DISK_READS.add(1);
        DISK_READ_BYTES.add(bytes);
    }
    let header = RecordHeader::decode(&record, segment.header).filter(|header| header.hash == *hash);
    let header = header.ok_or("its header is not what was written")?;
    let parts = header.parts(&record, segment.header).ok_or("its checksum does not hold")?;
    let text = |part: &[u8]| String::from_utf8(part.to_vec()).map_err(|error| error.to_string());
    let (pubsub_topic, content_topic, meta) = (text(parts[0])?, text(parts[1])?, parts[2].to_vec());
    let payload = header.payload_range();
    record.truncate(payload.end);
    record.drain(..payload.start);
    let (version, timestamp) = (header.version, header.timestamp);
    Ok(StoredBody { pubsub_topic, content_topic, payload: record, version, timestamp, meta })
}
