//! What the segment log must survive: crashes, damage, full disks and other processes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod damage;
mod fixtures;
mod full_disk;
mod killed;
mod migration;
mod model;
mod recovery;
mod refusals;
mod retention;
mod sample;
