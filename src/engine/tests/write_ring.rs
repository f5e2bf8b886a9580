//! Writes by io_uring, where the system has it.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{File, OpenOptions, read};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use levada_engine::io::WriteRing;

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
        for (piece, offset) in pieces.iter().zip(&ends).rev() {
            ring.write(&file, piece.clone(), *offset).unwrap();
        }
        ring.write(&file, Bytes::new(), 7).unwrap();
        ring.finish().unwrap();
        assert!(read(&path).unwrap() == pieces.concat());
        // What is done is let go of.
        assert!(pieces.iter().all(Bytes::is_unique));
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_ring_that_is_dropped_has_written_everything() {
    let Some(mut ring) = ring(8) else { return };
    let (file, path) = file("dropped");
    let piece = Bytes::from(vec![9; 1 << 20]);
    for number in 0..8 {
        ring.write(&file, piece.clone(), number << 20).unwrap();
    }
    drop(ring);
    assert!(piece.is_unique() && read(&path).unwrap() == vec![9; 8 << 20]);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn an_error_is_told_once_and_the_ring_goes_on() {
    let Some(mut ring) = ring(4) else { return };
    let (file, path) = file("error");
    let unwritable = Arc::new(OpenOptions::new().read(true).open(&path).unwrap());
    ring.write(&unwritable, Bytes::from_static(b"lost"), 0).unwrap();
    let error = ring.finish().unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EBADF), "{error}");
    ring.finish().unwrap();
    ring.write(&file, Bytes::from_static(b"kept"), 0).unwrap();
    ring.finish().unwrap();
    assert_eq!(read(&path).unwrap(), b"kept");
    std::fs::remove_file(path).unwrap();
}

/// The device that is always full.
#[test]
fn a_full_disk_is_told_by_its_error() {
    let Some(mut ring) = ring(2) else { return };
    let full = Arc::new(OpenOptions::new().write(true).open("/dev/full").unwrap());
    ring.write(&full, Bytes::from_static(b"x"), 0).unwrap();
    assert_eq!(ring.finish().unwrap_err().kind(), std::io::ErrorKind::StorageFull);
}
