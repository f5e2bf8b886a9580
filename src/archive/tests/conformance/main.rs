//! What every archive must do, written once against the traits and run for each backend by one line below.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod model;
mod oracle;
mod paging;
mod sample;
#[expect(dead_code, reason = "the suite leaves its server running")]
#[path = "../postgres/server.rs"]
mod server;
mod storing;
mod stretched;

use std::path::{Path, PathBuf};

use levada_archive::{
    Archive, DatabaseUrl, MemoryArchive, PostgresArchive, PostgresOptions, PostgresSchema, SegmentArchive,
    SegmentOptions, SqliteArchive, StoreIo, open,
};
use tempfile::TempDir;

/// Opens the archive of a fixture, in its folder; what lives in memory is there for one opening.
type Open = Box<dyn Fn(&Path) -> Box<dyn Archive>>;

/// An empty archive, and how it is opened again.
struct Fixture {
    archive: Box<dyn Archive>,
    /// The folder and the way to open what lies in it; nothing for an archive in memory.
    stored: Option<(TempDir, Open)>,
}

impl Fixture {
    fn new(url: &str) -> Self {
        Self { archive: open(&url.parse().unwrap()).unwrap(), stored: None }
    }

    fn in_folder(open: impl Fn(&Path) -> Box<dyn Archive> + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { archive: open(&path_in(&folder)), stored: Some((folder, Box::new(open))) }
    }

    /// The first format.
    fn in_database() -> Self {
        Self::in_folder(|path| Box::new(SqliteArchive::open(path).unwrap()))
    }

    fn in_default_segments() -> Self {
        Self::in_folder(|path| open(&DatabaseUrl::Sqlite(path.to_owned())).unwrap())
    }

    /// Segments so small that every test fills many of them.
    fn in_segments(io: StoreIo) -> Self {
        let options = SegmentOptions { segment_bytes: 12 << 10, io, waiting_hashes: 10, ..SegmentOptions::default() };
        Self::in_folder(move |path| Box::new(SegmentArchive::open(path, &options).unwrap()))
    }

    /// A database of its own, with partitions so narrow that every test fills many of them.
    fn in_postgres() -> Self {
        let database = server::shared().create_database();
        Self::in_folder(move |path| Box::new(PostgresArchive::open(&database, &server::options(path, 16)).unwrap()))
    }

    /// A database with nwaku's tables, and messages so far apart that every test fills many of its hours.
    fn in_nwaku_tables() -> Self {
        let database = server::shared().create_database();
        Self::in_folder(move |path| {
            let options = PostgresOptions { schema: PostgresSchema::Nwaku, ..server::options(path, 1) };
            Box::new(stretched::Stretched(Box::new(PostgresArchive::open(&database, &options).unwrap())))
        })
    }

    /// Closes the archive and opens it again, unless it would be empty then.
    fn reopen(&mut self) {
        if let Some((folder, open)) = &self.stored {
            let nothing: Box<dyn Archive> = Box::new(MemoryArchive::new(0));
            drop(std::mem::replace(&mut self.archive, nothing));
            self.archive = open(&path_in(folder));
        }
    }
}

fn path_in(folder: &TempDir) -> PathBuf {
    folder.path().join("levada.sqlite3")
}

macro_rules! conformance {
    ($backend:ident, $fixture:expr $(, #[$attribute:meta])?) => {
        conformance!($backend, $fixture, fields_come_back $(, #[$attribute])?);
    };
    ($backend:ident, $fixture:expr, $fields:ident $(, #[$attribute:meta])?) => {
        conformance!(@tests $backend, $fixture, [$(#[$attribute])?],
            storing: [
                $fields, duplicates_are_ignored, empty_batch, payload_of_one_mebibyte, clear_empties,
                reader_sees_whole_batches, reader_outlives_archive, oversized_payload_is_dropped, counters_count,
            ],
            paging: [
                ascending_with_ties_by_hash, pages_forward_and_backward, page_sizes, cursors, times_are_inclusive,
                hashes_and_filters, topics_apart, duplicates_in_filters, without_data, limits, keys_of_a_topic,
            ],
            oracle: [random_queries_agree]);
    };
    (@tests $backend:ident, $fixture:expr, $attributes:tt, $($module:ident: $tests:tt),*) => {
        mod $backend {
            use super::Fixture;
            $(conformance!(@module $fixture, $attributes, $module, $tests);)*
            conformance!(@test $attributes, random_operations_agree, super::model::random_operations_agree($fixture));
        }
    };
    (@module $fixture:expr, $attributes:tt, $module:ident, [$($test:ident),* $(,)?]) => {
        $(conformance!(@test $attributes, $test, super::$module::$test($fixture.archive));)*
    };
    (@test [$(#[$attribute:meta])?], $test:ident, $run:expr) => {
        #[test]
        $(#[$attribute])?
        fn $test() {
            $run
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
conformance!(postgres, Fixture::in_postgres(), #[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]);
conformance!(
    postgres_nwaku,
    Fixture::in_nwaku_tables(),
    plain_fields_come_back,
    #[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
);
