//! What every archive must do, written once against the traits and run for each backend by one line below.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod oracle;
mod paging;
mod sample;
mod storing;

use std::path::PathBuf;

use levada_archive::{Archive, DatabaseUrl, SegmentArchive, SegmentOptions, SqliteArchive, StoreIo, open};
use tempfile::TempDir;

/// An empty archive, and the folder that holds it if it lies in one.
struct Fixture {
    archive: Box<dyn Archive>,
    _folder: Option<TempDir>,
}

impl Fixture {
    fn new(url: &str) -> Self {
        Self { archive: open(&url.parse().unwrap()).unwrap(), _folder: None }
    }

    fn in_folder(open: impl FnOnce(PathBuf) -> Box<dyn Archive>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { archive: open(folder.path().join("levada.sqlite3")), _folder: Some(folder) }
    }

    /// The first format.
    fn in_database() -> Self {
        Self::in_folder(|path| Box::new(SqliteArchive::open(&path).unwrap()))
    }

    fn in_default_segments() -> Self {
        Self::in_folder(|path| open(&DatabaseUrl::Sqlite(path)).unwrap())
    }

    /// Segments so small that every test fills many of them.
    fn in_segments(io: StoreIo) -> Self {
        let options = SegmentOptions { segment_bytes: 12 << 10, io, ..SegmentOptions::default() };
        Self::in_folder(|path| Box::new(SegmentArchive::open(&path, &options).unwrap()))
    }
}

macro_rules! conformance {
    ($backend:ident, $fixture:expr) => {
        conformance!(@tests $backend, $fixture,
            storing: [
                fields_come_back, duplicates_are_ignored, empty_batch, payload_of_one_mebibyte, clear_empties,
                reader_sees_whole_batches, reader_outlives_archive, oversized_payload_is_dropped, counters_count,
            ],
            paging: [
                ascending_with_ties_by_hash, pages_forward_and_backward, page_sizes, cursors, times_are_inclusive,
                hashes_and_filters, topics_apart, duplicates_in_filters, without_data, limits, keys_of_a_topic,
            ],
            oracle: [random_queries_agree]);
    };
    (@tests $backend:ident, $fixture:expr, $($module:ident: [$($test:ident),* $(,)?]),*) => {
        mod $backend {
            use super::Fixture;
            $($(#[test] fn $test() { super::$module::$test($fixture.archive) })*)*
        }
    };
}

conformance!(memory, Fixture::new("memory"));
conformance!(sqlite_memory, Fixture::new("sqlite://:memory:"));
conformance!(sqlite_file, Fixture::in_database());
conformance!(segments, Fixture::in_default_segments());
conformance!(small_segments, Fixture::in_segments(super::StoreIo::Auto));
conformance!(pwritev_segments, Fixture::in_segments(super::StoreIo::Pwritev));
conformance!(buffered_segments, Fixture::in_segments(super::StoreIo::Buffered));
