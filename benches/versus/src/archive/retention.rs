//! Storing while the oldest are dropped, and dropping half of an archive at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use levada_archive::{Archive, Retention, SegmentArchive};
use tempfile::TempDir;

use super::Effort;
use super::ingest::MIX;
use super::inline::Inline;
use super::workload::{BATCH, Payloads, folder, insert, message, open};
use crate::pair::Sample;
use crate::row::{Contest, Row, absolute};

/// Messages that are kept while others come.
const KEPT: u64 = 4_096;
/// Messages of the archive whose older half is dropped.
const DROPPED_FROM: u64 = 16_384;
/// Milliseconds that dropping so many messages may take.
const DROP_MS_MAX: f64 = 100.0;
const DROP_MESSAGES: f64 = 8_000.0;
/// The time of the bare removal over ours, which deletes rows and closes the archive as well.
const FREED_BAR: f64 = 0.7;

fn keeping(messages_max: u64) -> Retention {
    Retention { messages_max: Some(messages_max), ..Retention::default() }
}

/// Microseconds per message once the archive is full.
pub fn rate(measure: &'static str, effort: Effort) -> Row {
    let payloads = Payloads::new(MIX);
    let kept = KEPT / effort.less;
    let ours = || {
        let folder = folder();
        let (mut archive, _) = open(&folder, "auto");
        timed(kept, |first| {
            insert(&mut archive, &payloads, first);
            // One step between two batches, as the node does.
            archive.retain(&keeping(kept)).expect("the disk takes it");
        })
    };
    let rival = || {
        let folder = folder();
        let inline = Inline::open(&folder.path().join("inline.sqlite3"));
        timed(kept, |first| {
            inline.insert((first..first + BATCH).map(|number| message(number, payloads.of(number))), kept);
        })
    };
    let contest = Contest::new(measure, "us/message", 8.0).tolerate_switches();
    contest.with("segments", ours).with("SQLite inline", rival).run(effort.rounds)
}

/// Time per message of as many as are kept, behind twice as many.
fn timed(kept: u64, mut batch: impl FnMut(u64)) -> Sample {
    let (filled, end) = (kept.next_multiple_of(BATCH) * 2, kept.next_multiple_of(BATCH) * 3);
    (0..filled).step_by(BATCH as usize).for_each(&mut batch);
    let started = Instant::now();
    (filled..end).step_by(BATCH as usize).for_each(batch);
    Sample { value: started.elapsed().as_secs_f64() * 1e6 / (end - filled) as f64, switches: 0 }
}

/// Milliseconds to drop the older half, for 8 000 messages. Its files are gone then; when the disk has their room is another row.
pub fn drop_half(measure: &'static str, effort: Effort) -> Row {
    let payloads = Payloads::new(MIX);
    let messages = DROPPED_FROM / effort.less;
    absolute(measure, "ms/8000", DROP_MS_MAX, effort.rounds, || {
        let folder = folder();
        let (mut archive, path) = filled(&folder, &payloads, messages);
        let before = disk_bytes(&path);
        let started = Instant::now();
        let dropped = drop_all(&mut archive, &keeping(messages / 2));
        let elapsed = started.elapsed().as_secs_f64() * 1e3;
        let after = disk_bytes(&path);
        // A segment that holds the border stays, and so does the one being written.
        let left = payloads.total(messages) / 2 + 2 * levada_archive::SEGMENT_BYTES_DEFAULT;
        assert!(after <= left && (after < before || effort.less > 1), "{before} bytes, then {after}");
        elapsed * DROP_MESSAGES / dropped.max(1) as f64
    })
}

/// Milliseconds until an archive is closed whose older half was dropped, and the disk has its room, beside the bare removal of such files.
pub fn freed(measure: &'static str, effort: Effort) -> Row {
    let payloads = Payloads::new(MIX);
    let messages = DROPPED_FROM / effort.less;
    let ours = || {
        let folder = folder();
        let (mut archive, _) = filled(&folder, &payloads, messages);
        time_ms(|| {
            let _ = drop_all(&mut archive, &keeping(messages / 2));
            Box::new(archive).close().expect("the disk takes it");
        })
    };
    let rival = || {
        let folder = folder();
        let (archive, path) = filled(&folder, &payloads, messages);
        Box::new(archive).close().expect("the disk takes it");
        let mut files = segments(&path);
        files.sort_unstable();
        let half = &files[..files.len() / 2];
        time_ms(|| half.iter().for_each(|file| fs::remove_file(file).expect("it is there")))
    };
    let contest = Contest::new(measure, "ms", FREED_BAR).tolerate_switches();
    contest.with("segments", ours).with("bare removal", rival).run(effort.rounds)
}

fn filled(folder: &TempDir, payloads: &Payloads, messages: u64) -> (SegmentArchive, PathBuf) {
    let (mut archive, path) = open(folder, "auto");
    (0..messages).step_by(BATCH as usize).for_each(|first| insert(&mut archive, payloads, first));
    (archive, path)
}

fn time_ms(work: impl FnOnce()) -> Sample {
    let started = Instant::now();
    work();
    Sample { value: started.elapsed().as_secs_f64() * 1e3, switches: 0 }
}

/// Takes every step of retention; how many messages went.
fn drop_all(archive: &mut SegmentArchive, retention: &Retention) -> u64 {
    let mut messages = 0;
    loop {
        let step = archive.retain(retention).expect("the disk takes it");
        messages += step.messages;
        if !step.unfinished {
            return messages;
        }
    }
}

/// The segments of an archive.
fn segments(index: &Path) -> Vec<PathBuf> {
    let folder = fs::read_dir(index.with_extension("index.segments")).expect("the folder of the segments");
    folder.flatten().map(|file| file.path()).collect()
}

/// Bytes that the segments of an archive take on the disk.
fn disk_bytes(index: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    segments(index).iter().filter_map(|file| file.metadata().ok()).map(|metadata| metadata.blocks() * 512).sum()
}
