//! A local log for messages that a database does not take now: files in a folder, written one after the other and read in that order.
//!
//! A file holds the records of some batches, each record with its length and its XXH3-64. A batch is synced before the call that brought it
//! returns. Files are never written again after a start, so that a torn end costs what was not acknowledged and nothing else. What was read
//! and stored elsewhere goes file by file; a process that is killed in between stores the rest of a file twice, which the
//! database notices.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_64;

use crate::lock::{FileLock, canonical};
use crate::{ArchiveError, ArchiveMessage};

/// A file takes no further batch once it holds this many bytes.
const FILE_BYTES: u64 = 16 << 20;
/// Length and checksum of a record.
const HEADER_BYTES: usize = 12;
/// Hash, timestamp, version, and the lengths of topics and meta.
const FIXED_BYTES: usize = 32 + 8 + 4 + 3 * 4;
const SUFFIX: &str = "backlog";

/// Why a batch was not taken.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The log would exceed its bound.
    Full,
    /// The disk failed; nothing of the batch is in the log.
    Io(io::Error),
}

/// The log, locked against other processes.
#[derive(Debug)]
pub(crate) struct Spill {
    folder: PathBuf,
    bytes_max: u64,
    bytes: u64,
    /// Numbers and lengths, the oldest first.
    files: VecDeque<(u64, u64)>,
    /// The last of them, while it takes batches.
    open: Option<File>,
    next: u64,
    _lock: FileLock,
}

impl Spill {
    /// Opens the log in `folder`, which is made if it is missing, and finds what an earlier process left. It grows to `bytes_max`.
    pub(crate) fn open(folder: &Path, bytes_max: u64) -> Result<Self, ArchiveError> {
        let folder = canonical(folder)?;
        let lock = FileLock::take(&folder, ".lock")?;
        let io = |error| ArchiveError::Io { path: folder.display().to_string(), source: Box::new(error) };
        fs::create_dir(&folder).or_else(|error| if folder.is_dir() { Ok(()) } else { Err(io(error)) })?;
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder).map_err(io)? {
            let entry = entry.map_err(io)?;
            if let Some(number) = number_of(&entry.path()) {
                files.push((number, entry.metadata().map_err(io)?.len()));
            }
        }
        files.sort_unstable();
        let (bytes, next) = (files.iter().map(|file| file.1).sum(), files.last().map_or(0, |file| file.0 + 1));
        Ok(Self { folder, bytes_max, bytes, files: files.into(), open: None, next, _lock: lock })
    }

    /// Bytes waiting.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Most bytes that may wait.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Takes a batch, all of it or nothing, and returns when the disk has it.
    pub(crate) fn append<'a, 'b: 'a>(
        &mut self,
        messages: impl Iterator<Item = &'a ArchiveMessage<'b>>,
    ) -> Result<(), Refused> {
        let mut records = Vec::new();
        for message in messages {
            if self.bytes + records.len() as u64 + record_bytes(message) as u64 > self.bytes_max {
                return Err(Refused::Full);
            }
            encode(message, &mut records);
        }
        self.write(&records).map_err(Refused::Io)
    }

    /// The number and the path of the oldest file; it takes no further batch.
    pub(crate) fn oldest(&mut self) -> Option<(u64, PathBuf)> {
        let number = self.files.front()?.0;
        if self.files.len() == 1 {
            self.open = None;
        }
        Some((number, self.path(number)))
    }

    /// Removes a file whose messages are stored elsewhere.
    pub(crate) fn remove(&mut self, number: u64) -> io::Result<()> {
        self.leave(number);
        fs::remove_file(self.path(number))
    }

    /// Leaves a file where it is, for a person to look at, and knows it no more.
    pub(crate) fn leave(&mut self, number: u64) {
        if let Some(place) = self.files.iter().position(|file| file.0 == number)
            && let Some((_, bytes)) = self.files.remove(place)
        {
            self.bytes -= bytes;
        }
    }

    /// Removes everything.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        while let Some((number, _)) = self.oldest() {
            self.remove(number)?;
        }
        Ok(())
    }

    fn write(&mut self, records: &[u8]) -> io::Result<()> {
        if self.files.back().is_some_and(|last| last.1 >= FILE_BYTES) {
            self.open = None;
        }
        let number = self.next;
        let file = match &mut self.open {
            Some(file) => file,
            none => {
                let path = self.folder.join(format!("{number:010}.{SUFFIX}"));
                let file = OpenOptions::new().append(true).create_new(true).open(path)?;
                File::open(&self.folder)?.sync_all()?;
                self.files.push_back((number, 0));
                self.next += 1;
                none.insert(file)
            }
        };
        if let Err(error) = file.write_all(records).and_then(|()| file.sync_data()) {
            // What was written of it would be read as records later, and the next batch must not stand behind a torn one.
            let _ = file.set_len(self.files.back().map_or(0, |last| last.1));
            self.open = None;
            return Err(error);
        }
        if let Some(last) = self.files.back_mut() {
            last.1 += records.len() as u64;
        }
        self.bytes += records.len() as u64;
        Ok(())
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:010}.{SUFFIX}"))
    }
}

fn number_of(path: &Path) -> Option<u64> {
    let number = path.file_stem()?.to_str()?.parse().ok()?;
    (path.extension()? == SUFFIX).then_some(number)
}

fn record_bytes(message: &ArchiveMessage<'_>) -> usize {
    let topics = message.pubsub_topic.len() + message.content_topic.len();
    HEADER_BYTES + FIXED_BYTES + topics + message.meta.len() + message.payload.len()
}

fn encode(message: &ArchiveMessage<'_>, records: &mut Vec<u8>) {
    let body_bytes = record_bytes(message) - HEADER_BYTES;
    let start = records.len();
    // A payload is bounded, and everything else by the message that it came in.
    let length = |bytes: usize| u32::try_from(bytes).expect("less than 4 GiB").to_le_bytes();
    records.extend_from_slice(&length(body_bytes));
    records.extend_from_slice(&[0; 8]);
    records.extend_from_slice(&message.hash);
    records.extend_from_slice(&message.timestamp.to_le_bytes());
    records.extend_from_slice(&message.version.to_le_bytes());
    let fields = [message.pubsub_topic.as_bytes(), message.content_topic.as_bytes(), message.meta];
    fields.iter().for_each(|field| records.extend_from_slice(&length(field.len())));
    fields.iter().for_each(|field| records.extend_from_slice(field));
    records.extend_from_slice(message.payload);
    let checksum = XxHash3_64::oneshot(&records[start + HEADER_BYTES..]);
    records[start + 4..start + HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

/// Reads a file of the log from the disk.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
}

/// The messages of a file, up to the first record that is not whole, and the bytes from there on.
pub(crate) fn decode(mut file: &[u8]) -> (Vec<ArchiveMessage<'_>>, usize) {
    let mut messages = Vec::new();
    while let Some((message, rest)) = record(file) {
        messages.push(message);
        file = rest;
    }
    (messages, file.len())
}

fn record(file: &[u8]) -> Option<(ArchiveMessage<'_>, &[u8])> {
    let (length, rest) = file.split_first_chunk()?;
    let (checksum, rest) = rest.split_first_chunk()?;
    let (body, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    if XxHash3_64::oneshot(body) != u64::from_le_bytes(*checksum) {
        return None;
    }
    let (hash, body) = body.split_first_chunk::<32>()?;
    let (timestamp, body) = body.split_first_chunk()?;
    let (version, body) = body.split_first_chunk()?;
    let (pubsub_topic, body) = body.split_first_chunk()?;
    let (content_topic, body) = body.split_first_chunk()?;
    let (meta, body) = body.split_first_chunk()?;
    let (pubsub_topic, body) = body.split_at_checked(u32::from_le_bytes(*pubsub_topic) as usize)?;
    let (content_topic, body) = body.split_at_checked(u32::from_le_bytes(*content_topic) as usize)?;
    let (meta, payload) = body.split_at_checked(u32::from_le_bytes(*meta) as usize)?;
    let message = ArchiveMessage {
        hash: *hash,
        pubsub_topic: std::str::from_utf8(pubsub_topic).ok()?,
        content_topic: std::str::from_utf8(content_topic).ok()?,
        payload,
        version: u32::from_le_bytes(*version),
        timestamp: i64::from_le_bytes(*timestamp),
        meta,
    };
    Some((message, rest))
}

/// Whether an error says that the disk has no room.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests;
