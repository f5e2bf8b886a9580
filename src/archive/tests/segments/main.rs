//! What the segment log must survive: crashes, damage, full disks and other processes. Written as the system allows it; the
//! tests `segments_pwritev` and `segments_buffered` are the same with the other ways to write.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod damage;
mod fixtures;
mod full_disk;
mod import;
mod killed;
mod migration;
mod model;
mod recovery;
mod refusals;
mod retention;
mod sample;
mod tools;

/// The way this program writes.
const WAY: levada_archive::StoreIo = levada_archive::StoreIo::Auto;
