//! Filling an archive from that of another node.

use std::fs;
use std::path::{Path, PathBuf};

use super::Progress;
use super::nwaku::{NwakuArchive, Read};
use crate::{Archive, ArchiveError, ArchiveMessage, Hash, Key, SegmentArchive, SegmentOptions, StoredBody};

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Messages that are new here.
    pub messages: u64,
    /// Messages that were here already.
    pub duplicates: u64,
    /// Rows that hold no message, or one whose hash is not its own, or one too large; they were left out.
    pub invalid: u64,
    /// Rows that an import which was interrupted had done before.
    pub resumed: u64,
}

/// Copies every message of the nwaku archive `from` into the archive whose index is `to`, which is created if need be. `is_genuine` tells
/// whether the hash of a message is its own. An import that was interrupted goes on where it was; neither archive may be in use.
///
/// # Errors
/// Any [`ArchiveError`] about either of them.
pub fn import_nwaku(
    from: &Path,
    to: &Path,
    options: &SegmentOptions,
    is_genuine: &dyn Fn(&ArchiveMessage<'_>) -> bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<ImportReport, ArchiveError> {
    let source = NwakuArchive::open(from)?;
    let mut archive = SegmentArchive::open(to, options)?;
    let bookmark = Bookmark::beside(to, from);
    let (total, mut last) = (source.count()?, bookmark.read());
    let resumed = last.map_or(Ok(0), |key| source.count_up_to(&key))?;
    let mut report = ImportReport { resumed, ..ImportReport::default() };
    let mut done = report.resumed;
    loop {
        let rows = source.read_after(last.as_ref())?;
        let Some((newest, _)) = rows.last() else { break };
        last = Some(*newest);
        done += rows.len() as u64;
        insert(&mut archive, &rows, is_genuine, &mut report)?;
        bookmark.write(newest);
        progress(Progress { done, total });
    }
    // Rows without a readable key were never met.
    report.invalid += total.saturating_sub(done);
    bookmark.remove();
    Box::new(archive).close()?;
    Ok(report)
}

fn insert(
    archive: &mut SegmentArchive,
    rows: &[Read],
    is_genuine: &dyn Fn(&ArchiveMessage<'_>) -> bool,
    report: &mut ImportReport,
) -> Result<(), ArchiveError> {
    let messages = rows.iter().filter_map(|((_, hash), body)| Some(message_of(hash, body.as_ref()?)));
    let mut genuine = messages.filter(|message| is_genuine(message));
    let outcome = archive.insert_batch(&mut genuine)?;
    report.messages += outcome.stored;
    report.duplicates += outcome.duplicates;
    report.invalid += rows.len() as u64 - outcome.stored - outcome.duplicates;
    Ok(())
}

fn message_of<'a>(hash: &Hash, body: &'a StoredBody) -> ArchiveMessage<'a> {
    ArchiveMessage {
        hash: *hash,
        pubsub_topic: &body.pubsub_topic,
        content_topic: &body.content_topic,
        payload: &body.payload,
        version: body.version,
        timestamp: body.timestamp,
        meta: &body.meta,
    }
}

/// Where an import goes on: a file beside the index, with the path of the source and the key of the last message that is in. Without it
/// all is read again, and found to be here.
struct Bookmark {
    path: PathBuf,
    source: String,
}

impl Bookmark {
    fn beside(index: &Path, source: &Path) -> Self {
        let mut path = index.as_os_str().to_owned();
        path.push(".importing");
        let source = source.canonicalize().unwrap_or_else(|_| source.to_owned());
        Self { path: path.into(), source: source.display().to_string() }
    }

    fn read(&self) -> Option<Key> {
        let text = fs::read_to_string(&self.path).ok()?;
        let (key, source) = text.split_once('\n')?;
        let (timestamp, hash) = key.split_once(' ')?;
        let digit = |at: usize| u8::from_str_radix(hash.get(2 * at..2 * at + 2)?, 16).ok();
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = digit(at)?;
        }
        (source == self.source && hash.len() == 64).then_some((timestamp.parse().ok()?, bytes))
    }

    fn write(&self, key: &Key) {
        let hash: String = key.1.iter().map(|byte| format!("{byte:02x}")).collect();
        let unfinished = self.path.with_extension("importing.new");
        let text = format!("{} {hash}\n{}", key.0, self.source);
        let written = fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, &self.path));
        if let Err(error) = written {
            tracing::warn!(path = %self.path.display(), %error, "an interrupted import will begin anew");
        }
    }

    fn remove(&self) {
        if self.path.exists()
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "a file of the finished import stays behind");
        }
    }
}
