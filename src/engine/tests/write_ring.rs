//! Writes by io_uring, where the system has it.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{File, OpenOptions, read};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use levada_engine::io::{Piece, WriteRing};

/// A new file in the folder of this crate's build.
fn file(name: &str) -> (Arc<File>, PathBuf) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    (Arc::new(File::create(&path).unwrap()), path)
}

/// Containers forbid it as they like; there is nothing to be tested then.
fn ring(writes_max: usize) -> Option<WriteRing> {
    WriteRing::new(writes_max).ok()
}

#[test]
fn what_is_written_is_there_whatever_the_order() {
    for writes_max in [1, 3, 64] {
        let Some(mut ring) = ring(writes_max) else { return };
        let (file, path) = file(&format!("order-{writes_max}"));
        let pieces: Vec<Bytes> =
            (0..200_u32).map(|number| vec![number as u8; 1 + number as usize * 37].into()).collect();
        let mut ends = Vec::new();
        let mut offset = 0;
        for piece in &pieces {
            ends.push(offset);
            offset += piece.len() as u64;
        }
        ring.scope(|writes| {
            for (piece, offset) in pieces.iter().zip(&ends).rev() {
                writes.write(&file, [Piece::Kept(piece.clone())], *offset).unwrap();
            }
            writes.write(&file, [Piece::Lent(&[])], 7).unwrap();
            writes.finish().unwrap();
        });
        assert!(read(&path).unwrap() == pieces.concat());
        // What is done is let go of.
        assert!(pieces.iter().all(Bytes::is_unique));
        std::fs::remove_file(path).unwrap();
    }
}

/// What is lent may be written from many places at once, and is the lender's again behind the scope.
#[test]
fn a_scope_ends_when_everything_is_written() {
    let Some(mut ring) = ring(8) else { return };
    let (file, path) = file("scope");
    let kept = Bytes::from(vec![9; 1 << 20]);
    let mut lent = vec![7; 3 << 20];
    for round in 0..3_u8 {
        lent.fill(round);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            ring.scope(|writes| {
                for number in 0..8 {
                    let pieces = lent.chunks(100_003).map(Piece::Lent).chain([Piece::Kept(kept.clone())]);
                    writes.write(&file, pieces, number << 22).unwrap();
                }
                assert!(round != 1, "the panic of this test");
            });
        }));
        assert_eq!(panicked.is_err(), round == 1);
        let expected = [lent.as_slice(), &kept].concat().repeat(8);
        assert!(kept.is_unique() && read(&path).unwrap() == expected, "round {round}");
    }
    let many = || std::iter::repeat_n(Piece::Lent(b"x"), 1_025);
    let error = ring.scope(|writes| writes.write(&file, many(), 0)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn an_error_is_told_once_and_the_ring_goes_on() {
    let Some(mut ring) = ring(4) else { return };
    let (file, path) = file("error");
    let unwritable = Arc::new(OpenOptions::new().read(true).open(&path).unwrap());
    ring.scope(|writes| {
        writes.write(&unwritable, [Piece::Lent(b"lost")], 0).unwrap();
        let error = writes.finish().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF), "{error}");
        writes.finish().unwrap();
        // Nobody asks for this one.
        writes.write(&unwritable, [Piece::Lent(b"lost")], 0).unwrap();
    });
    ring.scope(|writes| {
        writes.write(&file, [Piece::Lent(b"kept")], 0).unwrap();
        writes.finish().unwrap();
    });
    assert_eq!(read(&path).unwrap(), b"kept");
    std::fs::remove_file(path).unwrap();
}

/// The device that is always full.
#[test]
fn a_full_disk_is_told_by_its_error() {
    let Some(mut ring) = ring(2) else { return };
    let full = Arc::new(OpenOptions::new().write(true).open("/dev/full").unwrap());
    let written = ring.scope(|writes| writes.write(&full, [Piece::Lent(b"x")], 0).and_then(|()| writes.finish()));
    assert_eq!(written.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
}
