//! Taking over the archive of nwaku.

use std::fs;
use std::path::{Path, PathBuf};

use levada_archive::upkeep::{ImportReport, import_nwaku};
use levada_archive::{
    Archive, ArchiveError, ArchiveMessage, Direction, Query, SegmentArchive, SegmentOptions, StoredMessage,
};
use rusqlite::Connection;

use crate::sample::Place;

/// A file with nwaku's schema of version 10: 40 messages, one whose hash is not its own, one whose topic is no text, one whose hash is
/// too short.
fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/segments/fixtures/nwaku.sqlite3")
}

/// The forged message of the fixture.
fn is_genuine(message: &ArchiveMessage<'_>) -> bool {
    message.hash != [1; 32]
}

fn import(from: &Path, place: &Place) -> Result<ImportReport, ArchiveError> {
    import_nwaku(from, &place.index(), &SegmentOptions::default(), &is_genuine, &mut |_| ())
}

fn all(place: &Place) -> Vec<StoredMessage> {
    let archive = SegmentArchive::open(&place.index(), &SegmentOptions::default()).unwrap();
    let query = Query { include_data: true, direction: Direction::Forward, page_size: Some(100), ..Query::default() };
    archive.reader().unwrap().query(&query).unwrap().messages
}

#[test]
fn an_archive_of_nwaku_is_refused_by_name_and_left_as_it_is() {
    let place = Place::new();
    let file = place.folder().join("store.sqlite3");
    fs::copy(fixture(), &file).unwrap();
    let error = SegmentArchive::open(&file, &SegmentOptions::default()).map(|_| ()).unwrap_err();
    assert!(matches!(error, ArchiveError::NwakuArchive { .. }), "{error}");
    assert!(error.to_string().contains("levada archive import --from="), "{error}");
    assert!(fs::read(&file).unwrap() == fs::read(fixture()).unwrap());
}

#[test]
fn every_message_arrives_with_all_its_fields() {
    let place = Place::new();
    let report = import(&fixture(), &place).unwrap();
    assert_eq!(report, ImportReport { messages: 40, duplicates: 0, invalid: 3, resumed: 0 });
    let messages = all(&place);
    assert_eq!(messages.len(), 40);
    for message in messages {
        let body = message.body.unwrap();
        let number = body.payload.first().copied().unwrap_or(0);
        assert_eq!(body.payload, vec![number; usize::from(number) * 7]);
        assert_eq!((body.version, body.pubsub_topic.as_str()), (u32::from(number) % 3, "/waku/2/rs/0/0"));
        assert_eq!(body.content_topic, "/my-app/2/chatroom-1/proto");
        assert_eq!(body.meta, if number % 2 == 0 { vec![number; 4] } else { Vec::new() });
        assert_eq!(body.timestamp, 1_700_000_000_000_000_000 + i64::from(number / 3) * 1_000_000_000);
    }
    assert_eq!(import(&fixture(), &place).unwrap().duplicates, 40, "what is here is not stored twice");
    assert!(!place.folder().join("levada.index.importing").exists());
}

/// A source of 1 000 messages that is damaged behind the 700th: what came before is in, and the next import goes on there.
#[test]
fn an_interrupted_import_goes_on() {
    let place = Place::new();
    let source = place.folder().join("store.sqlite3");
    fs::copy(fixture(), &source).unwrap();
    let conn = Connection::open(&source).unwrap();
    conn.execute_batch("DELETE FROM Message").unwrap();
    let insert = "INSERT INTO Message VALUES ('/waku/2/rs/0/0', '/a/1/b/proto', x'00', 0, ?1, ?2, NULL)";
    for number in 0..1_000_u32 {
        let mut hash = [9; 32];
        hash[..4].copy_from_slice(&number.to_be_bytes());
        conn.execute(insert, (i64::from(number), hash)).unwrap();
    }
    drop(conn);
    let interrupted = std::panic::catch_unwind(|| {
        let stop = |message: &ArchiveMessage<'_>| {
            assert!(message.timestamp < 700, "the interruption of this test");
            true
        };
        import_nwaku(&source, &place.index(), &SegmentOptions::default(), &stop, &mut |_| ())
    });
    assert!(interrupted.is_err());
    let report = import(&source, &place).unwrap();
    assert_eq!((report.resumed, report.messages, report.duplicates), (512, 488, 0));
    // The mark of another source is none.
    fs::write(place.folder().join("levada.index.importing"), format!("5 {}\n/elsewhere", "00".repeat(32))).unwrap();
    let report = import(&source, &place).unwrap();
    assert_eq!((report.resumed, report.messages, report.duplicates), (0, 0, 1_000));
}

#[test]
fn what_is_no_archive_of_nwaku_is_refused() {
    let place = Place::new();
    let file = place.folder().join("source");
    assert!(matches!(import(&file, &place), Err(ArchiveError::NotFound { .. })));
    fs::write(&file, [b'x'; 5_000]).unwrap();
    assert!(matches!(import(&file, &place), Err(ArchiveError::NotADatabase { .. })));
    fs::remove_file(&file).unwrap();
    let conn = Connection::open(&file).unwrap();
    conn.execute_batch(
        "CREATE TABLE Message (id BLOB, pubsubTopic BLOB, contentTopic BLOB, payload BLOB, storedAt INTEGER)",
    )
    .unwrap();
    let error = import(&file, &place).unwrap_err();
    assert!(error.to_string().contains("messageHash"), "{error}");
    assert!(!place.index().exists(), "nothing was created for it");
    drop(conn);
    let opened = SegmentArchive::open(&file, &SegmentOptions::default()).map(|_| ());
    assert!(matches!(opened, Err(ArchiveError::NwakuArchive { .. })));
}
