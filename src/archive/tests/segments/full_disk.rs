//! A file system that is really full: a small one of its own, mounted for one child process.

use std::path::Path;
use std::process::Command;

use levada_archive::{Archive, ArchiveError};

use crate::sample::{contents, insert, keep, message, open, payload_of};

const FOLDER: &str = "LEVADA_SEGMENTS_FULL_DISK";
/// Messages in a batch, of 13 kB on average.
const BATCH: u64 = 100;

/// Runs itself in a mount namespace with a file system of 64 MiB, where the system allows one to be made, as it does to the superuser; a
/// unit test beside the writer injects the same error everywhere.
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
    let script = "mount -t tmpfs -o size=64m none \"$0\" && exec \"$@\"";
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
    let mut archive = open(&index, crate::sample::way());
    let mut stored = 0;
    let error = loop {
        let payloads: Vec<(u64, Vec<u8>)> =
            (stored..stored + BATCH).map(|number| (number, payload_of(number))).collect();
        let mut batch = payloads.iter().map(|(number, payload)| message(*number, payload));
        match archive.insert_batch(&mut batch) {
            Ok(outcome) => stored += outcome.stored,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, ArchiveError::DiskFull { .. }), "{error}");
    assert!(stored >= 3_000, "{stored}");
    // Another start on the full disk still serves everything.
    drop(archive);
    let mut archive = open(&index, crate::sample::way());
    assert!(contents(&archive).into_iter().eq(0..stored));
    let dropped = keep(&mut archive, 300).messages;
    assert!(dropped > 0);
    assert_eq!(insert(&mut archive, stored..stored + BATCH).stored, BATCH);
    assert!(contents(&archive).into_iter().eq(dropped..stored + BATCH));
}
