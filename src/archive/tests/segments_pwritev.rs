//! The tests of `segments`, written by `StoreIo::Pwritev`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "segments/damage.rs"]
mod damage;
#[path = "segments/fixtures.rs"]
mod fixtures;
#[path = "segments/full_disk.rs"]
mod full_disk;
#[path = "segments/import.rs"]
mod import;
#[path = "segments/killed.rs"]
mod killed;
#[path = "segments/migration.rs"]
mod migration;
#[path = "segments/model.rs"]
mod model;
#[path = "segments/recovery.rs"]
mod recovery;
#[path = "segments/refusals.rs"]
mod refusals;
#[path = "segments/retention.rs"]
mod retention;
#[path = "segments/sample.rs"]
mod sample;
#[path = "segments/tools.rs"]
mod tools;

/// The way this program writes.
const WAY: levada_archive::StoreIo = levada_archive::StoreIo::Pwritev;
