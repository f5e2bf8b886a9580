//! One file per chunk: `chunks/<last two digits of the address>/<address>`, written beside it and renamed when it is synced.
//!
//! A chunk never changes, so that a file is either whole or not there. What a crash leaves half written lies in `tmp` and is
//! removed when the folder is opened.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use levada_engine::Counter;
use levada_wire::autonomi::{Address, CHUNK_BYTES_MAX};

use super::chunk_hash::{CHUNK_HASHES, address_of};

/// Files that no longer held the chunk they were named after.
pub static DAMAGED: Counter = Counter::new();

/// A folder of chunks.
#[derive(Debug)]
pub struct ChunkFiles {
    chunks: PathBuf,
    temporary: PathBuf,
    bytes: AtomicU64,
    bytes_max: u64,
    next: AtomicU64,
}

/// A folder that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use {} as a folder of chunks: {source}; name one that this user may write", path.display())]
pub struct OpenError {
    /// The folder or what lies in it.
    pub path: PathBuf,
    /// The system's reason.
    pub source: io::Error,
}

impl ChunkFiles {
    /// Opens `folder`, which is made if it does not exist, for at most `bytes_max` of chunks.
    ///
    /// # Errors
    /// [`OpenError`] names the path.
    pub fn open(folder: &Path, bytes_max: u64) -> Result<Self, OpenError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| OpenError { path, source }
        };
        let (chunks, temporary) = (folder.join("chunks"), folder.join("tmp"));
        if temporary.exists() {
            fs::remove_dir_all(&temporary).map_err(failed(&temporary))?;
        }
        for path in [&chunks, &temporary] {
            fs::create_dir_all(path).map_err(failed(path))?;
        }
        for last in 0..=u8::MAX {
            let path = chunks.join(hex::encode([last]));
            fs::create_dir_all(&path).map_err(failed(&path))?;
        }
        let bytes = AtomicU64::new(bytes_in(&chunks).map_err(failed(&chunks))?);
        Ok(Self { chunks, temporary, bytes, bytes_max, next: AtomicU64::new(0) })
    }

    /// Bytes of all chunks.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// The chunk is here and whole, which its file's hash tells.
    pub fn holds(&self, address: &Address) -> bool {
        let Ok(mut file) = File::open(self.path(address)) else { return false };
        let mut hasher = blake3::Hasher::new();
        CHUNK_HASHES.add(1);
        let is_whole = hasher.update_reader(&mut file).is_ok() && hasher.finalize().as_bytes() == address;
        if !is_whole {
            self.give_up(address);
        }
        is_whole
    }

    /// Stores a chunk; it is on the disk when this returns.
    ///
    /// # Errors
    /// What the system says, and [`io::ErrorKind::StorageFull`] beyond the folder's limit.
    pub fn store(&self, address: &Address, content: &[u8]) -> io::Result<()> {
        let bytes = content.len() as u64;
        if self.bytes.fetch_add(bytes, Relaxed) + bytes > self.bytes_max {
            self.bytes.fetch_sub(bytes, Relaxed);
            return Err(io::ErrorKind::StorageFull.into());
        }
        let outcome = self.write(address, content);
        if outcome.is_err() {
            self.bytes.fetch_sub(bytes, Relaxed);
        }
        outcome
    }

    fn write(&self, address: &Address, content: &[u8]) -> io::Result<()> {
        let temporary = self.temporary.join(self.next.fetch_add(1, Relaxed).to_string());
        let path = self.path(address);
        let written = File::create(&temporary).and_then(|mut file| {
            file.write_all(content)?;
            file.sync_data()
        });
        let renamed = written.and_then(|()| fs::rename(&temporary, &path));
        if renamed.is_err() {
            // It goes at the next start if it does not go now.
            let _ = fs::remove_file(&temporary);
        }
        renamed?;
        // A name is on the disk when its folder is.
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }

    /// Bytes of a chunk, if it is here.
    ///
    /// # Errors
    /// What the system says.
    pub fn bytes_of(&self, address: &Address) -> io::Result<Option<usize>> {
        match fs::metadata(self.path(address)) {
            Ok(metadata) => Ok(usize::try_from(metadata.len()).ok().filter(|bytes| *bytes <= CHUNK_BYTES_MAX)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a chunk into the front of `out`, which is as long as it; false if it is not, or no longer, the chunk of that
    /// address. A damaged file is set aside.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&self, address: &Address, out: &mut [u8]) -> io::Result<bool> {
        let read = File::open(self.path(address)).and_then(|mut file| file.read_exact(out));
        match read {
            Ok(()) if address_of(out) == *address => Ok(true),
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => Err(error),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            _ => {
                self.give_up(address);
                Ok(false)
            }
        }
    }

    /// Sets aside a file that is not what its name says, for the operator to look at.
    fn give_up(&self, address: &Address) {
        let path = self.path(address);
        let aside = path.with_extension("damaged");
        let bytes = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        if fs::rename(&path, &aside).is_ok() {
            DAMAGED.add(1);
            self.bytes.fetch_sub(bytes, Relaxed);
            tracing::warn!(path = %aside.display(), "a chunk's file does not hold the chunk; it is set aside under this name");
        }
    }

    fn path(&self, address: &Address) -> PathBuf {
        let [.., last] = address;
        self.chunks.join(hex::encode([*last])).join(hex::encode(address))
    }
}

/// Bytes of all chunks below `chunks`; files set aside are none.
fn bytes_in(chunks: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for folder in fs::read_dir(chunks)? {
        for file in fs::read_dir(folder?.path())? {
            let file = file?;
            if file.path().extension().is_none() {
                bytes += file.metadata()?.len();
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_there_after_a_reopen_and_counts() {
        let folder = tempfile::tempdir().unwrap();
        let address = address_of(b"content");
        let files = ChunkFiles::open(folder.path(), 10).unwrap();
        assert!(!files.holds(&address));
        files.store(&address, b"content").unwrap();
        fs::write(folder.path().join("tmp/9"), b"half").unwrap();
        let files = ChunkFiles::open(folder.path(), 10).unwrap();
        assert!(files.holds(&address) && !folder.path().join("tmp/9").exists());
        assert_eq!((files.bytes(), files.bytes_of(&address).unwrap()), (7, Some(7)));
        let mut out = [0; 7];
        assert!(files.read(&address, &mut out).unwrap());
        assert_eq!(&out, b"content");
    }

    #[test]
    fn the_limit_holds_and_frees_nothing_it_did_not_take() {
        let folder = tempfile::tempdir().unwrap();
        let files = ChunkFiles::open(folder.path(), 10).unwrap();
        files.store(&address_of(b"12345678"), b"12345678").unwrap();
        let refused = files.store(&address_of(b"abc"), b"abc").unwrap_err();
        assert_eq!((refused.kind(), files.bytes()), (io::ErrorKind::StorageFull, 8));
        files.store(&address_of(b"ab"), b"ab").unwrap();
    }

    #[test]
    fn a_damaged_file_is_set_aside_and_can_be_stored_again() {
        let folder = tempfile::tempdir().unwrap();
        let files = ChunkFiles::open(folder.path(), 100).unwrap();
        let address = address_of(b"content");
        for damage in [&b"conTent"[..], b"con"] {
            files.store(&address, b"content").unwrap();
            fs::write(files.path(&address), damage).unwrap();
            let mut out = [0; 7];
            assert!(!files.read(&address, &mut out).unwrap());
            assert!(!files.holds(&address) && files.bytes_of(&address).unwrap().is_none());
        }
        files.store(&address, b"content").unwrap();
        assert!(files.holds(&address));
    }
}
