//! Pages of 20 messages from anywhere in a large archive, in the page cache or not.

use std::fs::File;
use std::path::Path;
use std::time::Instant;

use levada_archive::{Archive, ArchiveReader, Direction, Query, SegmentArchive};
use rustix::fs::{Advice, fadvise};

use super::Effort;
use super::workload::{BATCH, Payloads, folder, insert, open};
use crate::row::{Row, absolute};

/// An archive to be asked: sizes of its messages, and how many there are.
pub type Filled = (&'static [usize], u64);

/// 50 kB.
pub const MEDIUM: Filled = (&[50_000], 100_000);
/// 1 kB.
pub const SMALL: Filled = (&[1_000], 1_000_000);

const PAGE_MESSAGES: u64 = 20;
/// Pages per round; the row is the median of all.
const PAGES: usize = 40;

/// Milliseconds per page.
pub fn row(measure: &'static str, (sizes, messages): Filled, cold: bool, ms_max: f64, effort: Effort) -> Row {
    let (payloads, messages) = (Payloads::new(sizes), (messages / effort.less).next_multiple_of(BATCH));
    let folder = folder();
    let (mut archive, path) = open(&folder, "auto");
    (0..messages).step_by(BATCH as usize).for_each(|first| insert(&mut archive, &payloads, first));
    let mut reader = reader(&archive);
    let mut place = 0_u64;
    absolute(measure, "ms", ms_max, effort.rounds * PAGES, || {
        // Anywhere, but what is still in memory.
        place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let start = (place >> 33) % (messages / 2);
        if cold {
            forget(&path);
            reader = self::reader(&archive);
        } else {
            ask(&mut *reader, start);
        }
        ask(&mut *reader, start)
    })
}

fn reader(archive: &SegmentArchive) -> Box<dyn ArchiveReader> {
    archive.reader().expect("a reader")
}

fn ask(reader: &mut dyn ArchiveReader, start: u64) -> f64 {
    let query = Query {
        include_data: true,
        time_start: Some(start as i64),
        direction: Direction::Forward,
        page_size: Some(PAGE_MESSAGES),
        ..Query::default()
    };
    let started = Instant::now();
    let page = reader.query(&query).expect("a page");
    let elapsed = started.elapsed().as_secs_f64() * 1e3;
    assert_eq!(page.messages.len() as u64, PAGE_MESSAGES);
    elapsed
}

/// Drops the archive from the page cache, its index included.
fn forget(index: &Path) {
    let segments = std::fs::read_dir(index.with_extension("index.segments")).expect("the folder of the segments");
    let files =
        segments.flatten().map(|segment| segment.path()).chain([index.to_owned(), index.with_extension("index-wal")]);
    for file in files.filter_map(|path| File::open(path).ok()) {
        // What is not on the disk yet cannot be dropped.
        let _ = file.sync_data();
        let _ = fadvise(&file, 0, None, Advice::DontNeed);
    }
}
