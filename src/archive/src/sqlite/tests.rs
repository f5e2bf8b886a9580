//! What only SQLite can do wrong, and the plans of its statements.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ffi};
use tempfile::TempDir;

use super::{IN_MEMORY, SqliteArchive, lock_connection, query, schema, translate};
use crate::{Archive, ArchiveError, ArchiveMessage, Hash, InsertOutcome, Query};

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive.sqlite3");
    (folder, path)
}

fn hash_of(number: u64) -> Hash {
    let mut hash = [0xa5; 32];
    // Scattered, as real hashes are.
    hash[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    hash
}

fn insert(
    archive: &mut SqliteArchive,
    numbers: std::ops::Range<u64>,
    payload: &[u8],
) -> Result<InsertOutcome, ArchiveError> {
    let (pubsub_topic, content_topic) = ("/waku/2/rs/0/0", "/test/1/sqlite/proto");
    archive.insert_batch(&mut numbers.map(|number| ArchiveMessage {
        hash: hash_of(number),
        pubsub_topic,
        content_topic,
        payload,
        version: 0,
        timestamp: number as i64,
        meta: &[],
    }))
}

#[test]
fn plans_search_one_index_and_sort_nothing() {
    let (_folder, path) = folder();
    let mut archive = SqliteArchive::open(&path).unwrap();
    insert(&mut archive, 0..300, &[1; 100]).unwrap();
    let conn = lock_connection(&archive.conn);
    for sql in query::statements() {
        let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = statement.raw_query();
        let mut steps = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            steps.push(row.get::<_, String>(3).unwrap());
        }
        let [step] = steps.as_slice() else { panic!("{sql}: {steps:?}") };
        assert!(step.starts_with("SEARCH message USING "), "{sql}: {step}");
        if sql.contains("ORDER BY timestamp") {
            assert!(
                step.contains("COVERING INDEX") && step.contains("(timestamp,hash)>(?,?) AND (timestamp,hash)<(?,?)"),
                "{sql}: {step}"
            );
        }
    }
}

#[test]
fn settings_are_in_force() {
    let (_folder, path) = folder();
    let archive = SqliteArchive::open(&path).unwrap();
    let conn = lock_connection(&archive.conn);
    let number = |name: &str| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(number("synchronous"), 2, "FULL");
    assert_eq!(number("page_size"), schema::PAGE_BYTES);
    assert_eq!(number("application_id"), schema::APPLICATION_ID);
    assert_eq!(number("user_version"), schema::SCHEMA_VERSION);
    let mode: String = conn.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn second_node_is_refused_by_every_name_and_a_shell_is_not() {
    let (folder, path) = folder();
    let mut archive = SqliteArchive::open(&path).unwrap();
    insert(&mut archive, 0..3, &[1; 100]).unwrap();
    let mut names = vec![path.clone(), folder.path().join(".").join("archive.sqlite3")];
    #[cfg(unix)]
    {
        let link = folder.path().join("link.sqlite3");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        names.push(link);
    }
    for name in names {
        let error = SqliteArchive::open(&name).unwrap_err();
        let sentence = error.to_string();
        assert!(matches!(error, ArchiveError::Locked { .. }), "{sentence}");
        assert!(sentence.contains(&format!("process {}", std::process::id())), "{sentence}");
    }
    let shell = Connection::open(&path).unwrap();
    assert_eq!(shell.query_row("SELECT count(*) FROM message", [], |row| row.get::<_, i64>(0)).unwrap(), 3);
    drop(archive);
    SqliteArchive::open(&path).unwrap();
}

#[test]
fn reader_keeps_the_file_locked() {
    let (_folder, path) = folder();
    let archive = SqliteArchive::open(&path).unwrap();
    let mut reader = archive.reader().unwrap();
    Box::new(archive).close().unwrap();
    assert!(matches!(SqliteArchive::open(&path), Err(ArchiveError::Locked { .. })));
    assert!(reader.query(&Query::default()).unwrap().messages.is_empty());
    drop(reader);
    SqliteArchive::open(&path).unwrap();
}

#[test]
fn other_programs_transaction_is_an_error_and_then_no_more() {
    let (_folder, path) = folder();
    let mut archive = SqliteArchive::open(&path).unwrap();
    lock_connection(&archive.conn).busy_timeout(Duration::ZERO).unwrap();
    let shell = Connection::open(&path).unwrap();
    shell.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = insert(&mut archive, 0..3, &[1; 100]).unwrap_err();
    assert!(matches!(error, ArchiveError::Busy { .. }), "{error}");
    shell.execute_batch("ROLLBACK").unwrap();
    assert_eq!(insert(&mut archive, 0..3, &[1; 100]).unwrap().stored, 3);
}

#[test]
fn full_disk_stores_nothing_of_the_batch_and_loses_nothing() {
    let (_folder, path) = folder();
    let mut archive = SqliteArchive::open(&path).unwrap();
    insert(&mut archive, 0..10, &[1; 50_000]).unwrap();
    let pages: i64 = lock_connection(&archive.conn).query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    let limit = |archive: &SqliteArchive, pages: i64| {
        lock_connection(&archive.conn).query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
    };
    limit(&archive, pages + 20);
    let failures = crate::counters::INSERT_FAILURES_DISK_FULL.value();
    let error = insert(&mut archive, 10..20, &[2; 50_000]).unwrap_err();
    assert!(matches!(error, ArchiveError::DiskFull { .. }), "{error}");
    assert!(crate::counters::INSERT_FAILURES_DISK_FULL.value() > failures);
    assert_eq!(archive.message_count().unwrap(), 10);
    limit(&archive, 1_000_000);
    assert_eq!(
        insert(&mut archive, 5..20, &[2; 50_000]).unwrap(),
        InsertOutcome { stored: 10, duplicates: 5, dropped: 0 }
    );
}

#[test]
fn files_that_are_no_archives_are_named_and_left_alone() {
    let (folder, path) = folder();
    fs::write(
        &path,
        b"This is a shopping list, and long enough to be read as a header of one hundred bytes, which it is not. Milk.",
    )
    .unwrap();
    let before = fs::read(&path).unwrap();
    let error = SqliteArchive::open(&path).unwrap_err();
    assert!(matches!(error, ArchiveError::NotADatabase { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);

    let foreign = folder.path().join("foreign.sqlite3");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE Message (id INTEGER)").unwrap();
    let before = fs::read(&foreign).unwrap();
    let error = SqliteArchive::open(&foreign).unwrap_err();
    assert!(matches!(error, ArchiveError::NotAnArchive { .. }), "{error}");
    assert_eq!(fs::read(&foreign).unwrap(), before);

    let error = SqliteArchive::open(folder.path()).unwrap_err();
    assert!(matches!(error, ArchiveError::PathIsFolder { .. }), "{error}");
    let error = SqliteArchive::open(&folder.path().join("missing/archive.sqlite3")).unwrap_err();
    assert!(matches!(error, ArchiveError::FolderMissing { .. }), "{error}");
    assert!(error.to_string().contains("missing"), "{error}");
}

#[test]
fn archive_with_another_schema_is_refused() {
    let (_folder, path) = folder();
    drop(SqliteArchive::open(&path).unwrap());
    let shell = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    shell("PRAGMA user_version = 7");
    let error = SqliteArchive::open(&path).unwrap_err();
    assert!(matches!(error, ArchiveError::NewerSchema { found: 7, supported: 1, .. }), "{error}");
    shell("PRAGMA user_version = 1; DROP INDEX message_by_time");
    let error = SqliteArchive::open(&path).unwrap_err();
    assert!(matches!(error, ArchiveError::NotAnArchive { .. }), "{error}");
    assert!(error.to_string().contains("message_by_time"), "{error}");
}

#[test]
fn damaged_file_is_an_error_of_the_query() {
    let (_folder, path) = folder();
    let mut archive = SqliteArchive::open(&path).unwrap();
    insert(&mut archive, 0..50, &[1; 20_000]).unwrap();
    Box::new(archive).close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let header = 2 * schema::PAGE_BYTES as usize;
    bytes[header..].fill(0x5a);
    fs::write(&path, bytes).unwrap();
    let error = match SqliteArchive::open(&path) {
        Ok(archive) => archive.reader().unwrap().query(&Query::default()).unwrap_err(),
        Err(error) => error,
    };
    assert!(matches!(error, ArchiveError::Corrupt { .. }), "{error}");
}

/// The superuser may write to a read-only file; there, only the translation of SQLite's codes can be shown.
#[test]
fn read_only_file_and_folder() {
    let (folder, path) = folder();
    drop(SqliteArchive::open(&path).unwrap());
    set_read_only(&path, true);
    if fs::OpenOptions::new().write(true).open(&path).is_err() {
        let error = SqliteArchive::open(&path).unwrap_err();
        assert!(matches!(error, ArchiveError::FileReadOnly { .. }), "{error}");
        set_read_only(&path, false);
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        set_read_only(&inner, true);
        let error = SqliteArchive::open(&inner.join("archive.sqlite3")).unwrap_err();
        assert!(matches!(error, ArchiveError::FolderNotWritable { .. }), "{error}");
        set_read_only(&inner, false);
    }
}

/// The kernel's own file systems refuse new files to everybody.
#[cfg(target_os = "linux")]
#[test]
fn folder_that_takes_no_files() {
    let error = SqliteArchive::open(Path::new("/sys/kernel/archive.sqlite3")).unwrap_err();
    assert!(matches!(error, ArchiveError::FolderNotWritable { .. }), "{error}");
}

#[test]
fn codes_translate_to_distinct_errors() {
    let translated = |code| translate(IN_MEMORY, rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
    assert!(matches!(translated(ffi::SQLITE_READONLY), ArchiveError::FileReadOnly { .. }));
    assert!(matches!(translated(ffi::SQLITE_FULL), ArchiveError::DiskFull { .. }));
    assert!(matches!(translated(ffi::SQLITE_IOERR_WRITE), ArchiveError::Io { .. }));
    assert!(matches!(translated(ffi::SQLITE_CANTOPEN), ArchiveError::Io { .. }));
    assert!(matches!(translated(ffi::SQLITE_CORRUPT_INDEX), ArchiveError::Corrupt { .. }));
    assert!(matches!(translated(ffi::SQLITE_MISUSE), ArchiveError::Sqlite { .. }));
}

#[test]
fn panic_of_the_batch_rolls_back() {
    let mut archive = SqliteArchive::in_memory().unwrap();
    insert(&mut archive, 0..3, &[1; 100]).unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut count = 0;
        archive.insert_batch(&mut std::iter::from_fn(|| {
            count += 1;
            assert!(count < 3, "the panic of this test");
            let (pubsub_topic, content_topic, payload) = ("/waku/2/rs/0/0", "/test/1/sqlite/proto", &[1_u8; 5_000][..]);
            let hash = hash_of(100 + count);
            Some(ArchiveMessage { hash, pubsub_topic, content_topic, payload, version: 0, timestamp: 1, meta: &[] })
        }))
    }));
    assert!(panicked.is_err());
    assert_eq!(archive.message_count().unwrap(), 3);
    assert_eq!(insert(&mut archive, 2..5, &[1; 100]).unwrap().stored, 2);
}

fn set_read_only(path: &Path, read_only: bool) {
    let mut permissions = fs::metadata(path).unwrap().permissions();
    permissions.set_readonly(read_only);
    fs::set_permissions(path, permissions).unwrap();
}
