//! What cannot be opened is told apart, by a sentence, and left as it is.

use std::fs;
use std::path::Path;

use levada_archive::{Archive, ArchiveError, SegmentArchive, SegmentOptions, SqliteArchive};

use crate::sample::{Place, contents, insert};

fn refused(path: &Path) -> ArchiveError {
    match SegmentArchive::open(path, &SegmentOptions::default()) {
        Ok(archive) => panic!("{} was opened", archive.location()),
        Err(error) => error,
    }
}

#[test]
fn a_second_node_is_refused_by_name() {
    let place = Place::new();
    let mut archive = place.open();
    insert(&mut archive, 0..3);
    let error = refused(&place.index());
    assert!(matches!(error, ArchiveError::Locked { .. }), "{error}");
    let (path, process) = (place.index().display().to_string(), format!("process {}", std::process::id()));
    assert!(error.to_string().contains(&path) && error.to_string().contains(&process), "{error}");
    // The lock lasts as long as the last reader.
    let reader = archive.reader().unwrap();
    drop(archive);
    assert!(matches!(refused(&place.index()), ArchiveError::Locked { .. }));
    drop(reader);
    assert_eq!(contents(&place.open()).len(), 3);
}

#[test]
fn an_index_is_no_sqlite_archive() {
    let place = Place::new();
    drop(place.open());
    let error = SqliteArchive::open(&place.index()).unwrap_err();
    assert!(matches!(error, ArchiveError::NotAnArchive { .. }), "{error}");
}

#[test]
fn files_and_folders_that_will_not_do() {
    let place = Place::new();
    fs::write(place.index(), [b'x'; 5_000]).unwrap();
    assert!(matches!(refused(&place.index()), ArchiveError::NotADatabase { .. }));
    assert!(fs::read(place.index()).unwrap() == [b'x'; 5_000]);
    assert!(matches!(refused(place.folder()), ArchiveError::PathIsFolder { .. }));
    assert!(matches!(refused(&place.folder().join("missing/levada.index")), ArchiveError::FolderMissing { .. }));
}

/// The kernel's own file systems refuse new files to everybody, as a read-only folder does to all but the superuser.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_takes_no_files() {
    let error = refused(Path::new("/sys/kernel/levada.index"));
    assert!(matches!(error, ArchiveError::FolderNotWritable { .. }), "{error}");
}
