//! What the segment log must survive: crashes, damage, full disks and other processes. Written in the way that `LEVADA_STORE_IO` names, as
//! the system allows it by default; `every_way` runs all of this again in the others.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bare;
mod damage;
mod every_way;
mod fixtures;
mod full_disk;
mod import;
mod killed;
mod locked;
mod migration;
mod model;
mod recovery;
mod refusals;
mod retention;
mod sample;
mod tools;
