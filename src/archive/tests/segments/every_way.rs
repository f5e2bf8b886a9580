//! All tests of this program in the other ways to write, each in a process of its own.

use std::process::Command;

use levada_archive::StoreIo;

use crate::sample::{STORE_IO, way};

#[test]
fn everything_holds_by_pwritev() {
    run(StoreIo::Pwritev);
}

#[test]
fn everything_holds_through_the_page_cache() {
    run(StoreIo::Buffered);
}

fn run(other: StoreIo) {
    // In a process that was started for one way, there is nothing more to start.
    if way() != StoreIo::Auto {
        return;
    }
    let child = Command::new(std::env::current_exe().unwrap()).env(STORE_IO, other.to_string()).output().unwrap();
    assert!(child.status.success(), "by {other}: {}", String::from_utf8_lossy(&child.stdout));
}
