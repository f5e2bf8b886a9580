//! Two processes and one archive.

use std::path::Path;
use std::process::Command;

use levada_archive::{ArchiveError, SegmentArchive, SegmentOptions};

use crate::sample::{Place, contents, insert};

const CHILD_PATH: &str = "LEVADA_SEGMENTS_LOCKED";

/// The second process is refused by a sentence that names the file and the first one, and changes nothing.
#[test]
fn a_second_process_is_refused_by_name() {
    if let Some(path) = std::env::var_os(CHILD_PATH) {
        return be_refused(Path::new(&path));
    }
    let place = Place::new();
    let mut archive = place.open();
    insert(&mut archive, 0..3);
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "locked::a_second_process_is_refused_by_name", "--nocapture"])
        .env(CHILD_PATH, place.index())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}");
    let (path, process) = (place.index().display().to_string(), format!("process {}", std::process::id()));
    assert!(said.contains(&path) && said.contains(&process), "{said}");
    insert(&mut archive, 3..5);
    assert!(contents(&archive).into_iter().eq(0..5));
}

#[expect(clippy::print_stdout, reason = "the sentence is for the other process")]
fn be_refused(index: &Path) {
    let error = SegmentArchive::open(index, &SegmentOptions::default()).err().unwrap();
    assert!(matches!(error, ArchiveError::Locked { .. }), "{error}");
    println!("{error}");
}
