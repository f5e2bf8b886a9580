//! What the tools for operators need of the log.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::files::SegmentFiles;
use super::format::{Location, SEGMENT_HEADER_BYTES};
use super::index::{self, Entry};
use super::migrate::replace;
use super::reader::body_at;
use super::scan::{End, Met, Scan};
use super::{Failure, Log, SegmentArchive, Settings, with_suffix};
use crate::counters::InsertTally;
use crate::sqlite::translate;
use crate::upkeep::{ArchiveStats, TopicStats};
use crate::{ArchiveError, ArchiveMessage, Hash, SegmentOptions, StoredMessage};

/// An archive that is only read.
pub(crate) struct Opened {
    conn: Connection,
    files: SegmentFiles,
    path: PathBuf,
}

/// Where a row says that its record lies.
pub(crate) struct RowPlace {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) hash: Hash,
}

/// What the index knows of a segment.
pub(crate) struct SegmentRange {
    pub(crate) id: u32,
    pub(crate) bytes: u64,
}

impl Opened {
    pub(crate) fn open(path: &Path) -> Result<Self, ArchiveError> {
        let conn = index::open_existing(path)?;
        let files = SegmentFiles::new(with_suffix(path, ".segments"));
        Ok(Self { conn, files, path: path.to_owned() })
    }

    fn failed<T>(&self, result: Result<T, Failure>) -> Result<T, ArchiveError> {
        result.map_err(|failure| failure.translate(&self.path.display().to_string()))
    }

    pub(crate) fn count(&self) -> Result<u64, ArchiveError> {
        self.failed(index::count(&self.conn).map_err(Failure::from))
    }

    pub(crate) fn entries(&self) -> Result<Vec<SegmentRange>, ArchiveError> {
        let entries = self.failed(index::segments(&self.conn).map_err(Failure::from))?;
        let present = entries.into_iter().filter(|entry| !entry.dropped);
        Ok(present.map(|Entry { id, bytes, .. }| SegmentRange { id, bytes }).collect())
    }

    pub(crate) fn segment_path(&self, id: u32) -> String {
        self.files.path_of(id).display().to_string()
    }

    /// What is wrong with the index, by what SQLite finds, and by its hashes.
    pub(crate) fn index_fault(&self) -> Result<Option<String>, ArchiveError> {
        let said = self.conn.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        let said = self.failed(said.map_err(Failure::from))?;
        if said != "ok" {
            return Ok(Some(said));
        }
        let (lost, stray) = self.failed(index::hash_faults(&self.conn).map_err(Failure::from))?;
        let fault = format!("{lost} messages are not found by their hashes, and {stray} hashes lead to no message");
        Ok((lost + stray > 0).then_some(fault))
    }

    /// Tells `meet` every whole record of a segment: its offset, its hash and its bytes. False if the segment cannot be read.
    pub(crate) fn scan(&self, id: u32, mut meet: impl FnMut(u64, Hash, u64)) -> Result<bool, ArchiveError> {
        let Ok(segment) = self.files.get(id) else { return Ok(false) };
        let start = End { offset: SEGMENT_HEADER_BYTES, sequence: 0 };
        let scanned = Scan::new(&segment, start).map_err(Failure::from).and_then(|scan| {
            scan.run(|met| {
                if let Met::Record { offset, header, .. } = met {
                    meet(offset, header.hash, header.record_bytes());
                }
                Ok::<_, Failure>(())
            })
        });
        self.failed(scanned).map(|_| true)
    }

    /// Tells `meet` every row of a segment.
    pub(crate) fn rows(&self, id: u32, mut meet: impl FnMut(RowPlace)) -> Result<(), ArchiveError> {
        let id_at = |segment| Location { segment, offset: 0 }.id();
        let sql = "SELECT id, bytes, hash FROM message WHERE id >= ?1 AND id < ?2 ORDER BY id";
        let mut read = || {
            let mut statement = self.conn.prepare_cached(sql)?;
            let mut rows = statement.query(params![id_at(id), id_at(id + 1)])?;
            while let Some(row) = rows.next()? {
                let (offset, bytes) = (Location::of_id(row.get(0)?).offset, row.get::<_, i64>(1)?.unsigned_abs());
                meet(RowPlace { offset, bytes, hash: row.get(2)? });
            }
            Ok(())
        };
        self.failed(read().map_err(Failure::Index))
    }

    /// Hands every message to `take`, in the order of the log; nothing for one that is damaged or gone.
    pub(crate) fn messages(
        &self,
        mut take: impl FnMut(Option<StoredMessage>) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let name = self.path.display().to_string();
        let failed = |error| translate(&name, error);
        let sql = "SELECT id, bytes, hash FROM message ORDER BY id";
        let mut statement = self.conn.prepare(sql).map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let cells = || Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs(), row.get(2)?));
            let (id, bytes, hash) = cells().map_err(failed)?;
            let body = body_at(&self.files, id, bytes, &hash);
            take(body.map(|body| StoredMessage { hash, body: Some(body) }))?;
        }
        Ok(())
    }

    pub(crate) fn stats(&self) -> Result<ArchiveStats, ArchiveError> {
        self.failed(self.gather_stats())
    }

    fn gather_stats(&self) -> Result<ArchiveStats, Failure> {
        let sql = "SELECT sum(bytes), min(timestamp), max(timestamp) FROM message";
        let (record_bytes, oldest, newest): (Option<i64>, Option<i64>, Option<i64>) =
            self.conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let sql = "SELECT pubsub_topic, count(*) FROM message GROUP BY pubsub_topic ORDER BY pubsub_topic";
        let topic = |row: &rusqlite::Row<'_>| {
            Ok(TopicStats { pubsub_topic: row.get(0)?, messages: row.get::<_, i64>(1)?.unsigned_abs() })
        };
        let topics = self.conn.prepare(sql)?.query_map([], topic)?.collect::<Result<Vec<_>, _>>()?;
        let size = |path: PathBuf| fs::metadata(path).map_or(0, |metadata| metadata.len());
        let ids = self.files.list()?;
        Ok(ArchiveStats {
            messages: index::count(&self.conn)?,
            segments: ids.len() as u64,
            segment_bytes: ids.iter().map(|id| size(self.files.path_of(*id))).sum(),
            record_bytes: record_bytes.unwrap_or(0).unsigned_abs(),
            index_bytes: size(self.path.clone()) + size(with_suffix(&self.path, "-wal")),
            timestamps: oldest.zip(newest),
            topics,
        })
    }
}

/// Messages on their way into new segments of the same archive.
pub(crate) struct Compaction {
    /// The archive as it is, which holds the lock.
    old: SegmentArchive,
    new: Log,
    path: PathBuf,
    /// Segments that go when all is copied: those below this number.
    first_new: u32,
}

impl Compaction {
    pub(crate) fn begin(path: &Path, options: &SegmentOptions) -> Result<Self, ArchiveError> {
        let old = SegmentArchive::open(path, options)?;
        let new_index = with_suffix(path, ".compacting");
        let failed = |failure: Failure| failure.translate(&path.display().to_string());
        remove_index(&new_index).map_err(|error| failed(error.into()))?;
        let settings = Settings::new(options)?;
        let first_new = {
            let mut log = old.log();
            log.writer.leave();
            log.writer.next_id()
        };
        // Not mended: the segments that are there belong to the old index.
        let files = SegmentFiles::new(with_suffix(path, ".segments"));
        let new = Log::new(index::open(&new_index)?, files, &settings, first_new).map_err(failed)?;
        Ok(Self { old, new, path: path.to_owned(), first_new })
    }

    /// Copies messages that were read whole; returns how many are new, which is all of them.
    pub(crate) fn copy(&mut self, messages: &[StoredMessage]) -> Result<u64, ArchiveError> {
        // Not published: these messages were counted when they came.
        let mut tally = InsertTally::default();
        let mut batch = messages.iter().filter_map(|stored| {
            let body = stored.body.as_ref()?;
            Some(ArchiveMessage {
                hash: stored.hash,
                pubsub_topic: &body.pubsub_topic,
                content_topic: &body.content_topic,
                payload: &body.payload,
                version: body.version,
                timestamp: body.timestamp,
                meta: &body.meta,
            })
        });
        let copied = self.new.insert_batch(&mut batch, &mut tally);
        copied.map_err(|failure| failure.translate(&self.path.display().to_string()))?;
        Ok(tally.outcome.stored)
    }

    /// Puts the new index in the place of the old one, and removes the old segments.
    pub(crate) fn finish(self) -> Result<(), ArchiveError> {
        let name = self.path.display().to_string();
        let failed = |failure: Failure| failure.translate(&name);
        let Self { old, mut new, path, first_new } = self;
        new.write_index().map_err(|error| translate(&name, error))?;
        drop(new);
        // What holds the lock stays until the end.
        let (files, lock) = (Arc::clone(&old.files), Arc::clone(&old.locked));
        Box::new(old).close_files()?;
        replace(&path, &with_suffix(&path, ".compacting")).map_err(|error| failed(error.into()))?;
        let removed = files.list().and_then(|ids| {
            let old: Vec<u32> = ids.into_iter().filter(|id| *id < first_new).collect();
            files.drop_oldest(&old)?;
            files.sync_folder()
        });
        drop(lock);
        removed.map_err(|error| failed(error.into()))
    }
}

fn remove_index(path: &Path) -> std::io::Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        match fs::remove_file(with_suffix(path, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
