//! Storing while the oldest are dropped, and dropping half of an archive at once.

use std::time::Instant;

use levada_archive::{Archive, Retention, SegmentArchive};

use super::Effort;
use super::ingest::MIX;
use super::inline::Inline;
use super::workload::{BATCH, Payloads, folder, insert, message, open};
use crate::pair::Sample;
use crate::row::{Contest, Row, absolute};

/// Messages that are kept while others come.
const KEPT: u64 = 4_096;
/// Messages of the archive whose older half is dropped.
const DROPPED_FROM: u64 = 8_192;
/// Milliseconds that may take.
const DROP_MS_MAX: f64 = 100.0;

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

/// Milliseconds to drop the older half, the room on the disk included.
pub fn drop_half(measure: &'static str, effort: Effort) -> Row {
    let payloads = Payloads::new(MIX);
    let messages = DROPPED_FROM / effort.less;
    absolute(measure, "ms", DROP_MS_MAX, effort.rounds, || {
        let folder = folder();
        let (mut archive, path) = open(&folder, "auto");
        (0..messages).step_by(BATCH as usize).for_each(|first| insert(&mut archive, &payloads, first));
        let segments = path.with_extension("index.segments");
        let before = disk_bytes(&segments);
        let elapsed = drop_all(&mut archive, &keeping(messages / 2));
        let after = disk_bytes(&segments);
        // A segment that holds the border stays, and so does the one being written.
        let left = payloads.total(messages) / 2 + 2 * levada_archive::SEGMENT_BYTES_DEFAULT;
        assert!(after <= left && (after < before || effort.less > 1), "{before} bytes, then {after}");
        elapsed
    })
}

fn drop_all(archive: &mut SegmentArchive, retention: &Retention) -> f64 {
    let started = Instant::now();
    while archive.retain(retention).expect("the disk takes it").unfinished {}
    started.elapsed().as_secs_f64() * 1e3
}

/// Bytes that the files of a folder take on the disk.
fn disk_bytes(folder: &std::path::Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let files = std::fs::read_dir(folder).expect("the folder of the segments").flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.blocks() * 512).sum()
}
