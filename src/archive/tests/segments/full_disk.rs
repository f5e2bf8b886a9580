//! A file system that is really full: a small one of its own, mounted for one child process.

use std::path::Path;
use std::process::Command;

use levada_archive::{Archive, ArchiveError};

use crate::sample::{contents, insert, keep, message, open, payload_of};

const FOLDER: &str = "LEVADA_SEGMENTS_FULL_DISK";

/// Runs itself in a mount namespace with 4 MiB of disk, where the system allows one to be made; a unit test beside the writer
/// injects the same error everywhere.
#[test]
fn a_full_file_system_costs_the_batch_and_nothing_else() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return fill(Path::new(&folder));
    }
    let unshare = Command::new("unshare").args(["-rm", "true"]).output();
    if !unshare.is_ok_and(|output| output.status.success()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let test = "full_disk::a_full_file_system_costs_the_batch_and_nothing_else";
    let script = "mount -t tmpfs -o size=4m none \"$0\" && exec \"$@\"";
    let child = Command::new("unshare")
        .args(["-rm", "sh", "-c", script])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    assert!(String::from_utf8_lossy(&child.stdout).contains("1 passed"));
}

fn fill(folder: &Path) {
    let index = folder.join("levada.index");
    let mut archive = open(&index, crate::WAY);
    let mut stored = 0;
    let error = loop {
        let payloads: Vec<(u64, Vec<u8>)> = (stored..stored + 10).map(|number| (number, payload_of(number))).collect();
        let mut batch = payloads.iter().map(|(number, payload)| message(*number, payload));
        match archive.insert_batch(&mut batch) {
            Ok(outcome) => stored += outcome.stored,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, ArchiveError::DiskFull { .. }), "{error}");
    assert!(stored >= 100, "{stored}");
    assert!(contents(&archive).into_iter().eq(0..stored));
    // Another start on the full disk still serves everything.
    drop(archive);
    let mut archive = open(&index, crate::WAY);
    assert!(contents(&archive).into_iter().eq(0..stored));
    let dropped = keep(&mut archive, 30).messages;
    assert!(dropped > 0);
    assert_eq!(insert(&mut archive, stored..stored + 10).stored, 10);
    assert!(contents(&archive).into_iter().eq(dropped..stored + 10));
}
