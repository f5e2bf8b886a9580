//! What every archive must do, written once against the traits and run for each backend by one line below.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod oracle;
mod paging;
mod sample;
mod storing;

use levada_archive::{Archive, DatabaseUrl, open};
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

    fn in_folder() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = DatabaseUrl::Sqlite(folder.path().join("levada.sqlite3"));
        Self { archive: open(&url).unwrap(), _folder: Some(folder) }
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
                hashes_and_filters, topics_apart, duplicates_in_filters, without_data, limits,
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
conformance!(sqlite_file, Fixture::in_folder());
